"""What compiling gradients takes: the graph, LLVM's optimiser, and emitting in two ways.

    python benchmarks/compile_time.py [words of names …]

Emitting is timed with and without loop strength reduction; ``*`` marks the one that is used. The
seconds are those of the CPU, each the median of three.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from gradc.pipeline import derive
from gradc.requests.request import Request
from gradc.runtime.collector import collector_paused
from gradc.tracing import trace
from gradc_codegen.compile_function import Compilation
from gradc_codegen.machine.optimize import effort, optimize, parse
from gradc_codegen.target.target import target
from gradc_ir.text.type_text import parse_type

TURNS = 3


def qr(a: Any) -> Any:
    """Return a function of both factors."""
    q, r = np.linalg.qr(a)
    return np.sum(np.sin(q)) + np.sum(r**2)


def svd(a: Any) -> Any:
    """Return a function of all three factors."""
    u, s, v = np.linalg.svd(a, full_matrices=False)
    return np.sum(np.sin(u)) + np.sum(s**2) + np.sum(np.cos(v))


def eigh(a: Any) -> Any:
    """Return a function of eigenvalues and eigenvectors."""
    values, vectors = np.linalg.eigh(a)
    return np.sum(values**2) + np.sum(np.sin(vectors))


def cholesky(a: Any) -> Any:
    """Return a function of the factor."""
    return np.sum(np.sin(np.linalg.cholesky(a)))


def solve(a: Any, b: Any) -> Any:
    """Return a function of a solution."""
    return np.sum(np.linalg.solve(a, b) ** 2)


def inverse(a: Any) -> Any:
    """Return a function of the inverse."""
    return np.sum(np.linalg.inv(a) ** 2)


def least_squares(a: Any, b: Any) -> Any:
    """Return a function of a least-squares solution."""
    return np.sum(np.linalg.lstsq(a, b, rcond=None)[0] ** 2)


def logistic(w: Any, a: Any, y: Any) -> Any:
    """Return the loss of a logistic regression."""
    z = a @ w
    return np.sum(np.log(1 + np.exp(z)) - y * z) + 0.1 * np.sum(w**2)


def network(w: Any, b: Any, v: Any, x: Any, y: Any) -> Any:
    """Return the loss of a network of two layers."""
    return np.sum((np.tanh(x @ w + b) @ v - y) ** 2)


CASES: list[tuple[Callable[..., Any], str]] = [
    (qr, "f64[8,3]"),
    (qr, "f64[n,3]"),
    (qr, "f64[n,m]"),
    (svd, "f64[5,3]"),
    (svd, "f64[n,3]"),
    (svd, "f64[n,m]"),
    (eigh, "f64[4,4]"),
    (eigh, "f64[n,n]"),
    (cholesky, "f64[4,4]"),
    (cholesky, "f64[n,n]"),
    (solve, "f64[4,4] f64[4]"),
    (solve, "f64[n,n] f64[n]"),
    (inverse, "f64[n,n]"),
    (least_squares, "f64[n,m] f64[n]"),
    (logistic, "f64[5] f64[100,5] f64[100]"),
    (logistic, "f64[m] f64[n,m] f64[n]"),
    (network, "f64[20,32] f64[32] f64[32,5] f64[64,20] f64[64,5]"),
    (network, "f64[k,m] f64[m] f64[m,p] f64[n,k] f64[n,p]"),
]


def milliseconds(function: Callable[..., Any], types: str) -> tuple[list[float], bool]:
    """Return the times of graph, optimiser, emitting with and without; and whether with is used."""
    machine_of = target("native")
    times = []
    start = time.process_time()
    traced = trace(function, tuple(parse_type(text) for text in types.split())).function
    text = Compilation(derive(traced, Request("value_and_grad", (0,)))).llvm
    times.append(time.process_time() - start)
    how = effort([text])
    optimising = []
    for reduce_strength in (True, False):
        chosen = replace(how, reduce_strength=reduce_strength)
        module = parse([text], machine_of, chosen)
        start = time.process_time()
        optimized = optimize(module, machine_of, chosen)
        optimising.append(time.process_time() - start)
        start = time.process_time()
        optimized.object()
        times.append(time.process_time() - start)
    times.insert(1, min(optimising))
    return [1e3 * seconds for seconds in times], how.reduce_strength


def main(words: list[str]) -> None:
    """Print a row for each gradient, in milliseconds."""
    print(f"{'value and gradient, ms':64}{'graph':>8}{'optimise':>10}{'emit':>8}{'without':>9}")
    for function, types in CASES:
        name = f"{function.__name__} {types}"
        if words and not any(word in name for word in words):
            continue
        with collector_paused():
            taken = [milliseconds(function, types) for _ in range(TURNS)]
        middle = [statistics.median(column) for column in zip(*(times for times, _ in taken))]
        graph, optimising, emitting, without = middle
        marks = ("*", " ") if taken[0][1] else (" ", "*")
        print(
            f"{name:64}{graph:8.0f}{optimising:10.0f}"
            f"{emitting:7.0f}{marks[0]}{without:8.0f}{marks[1]}"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
