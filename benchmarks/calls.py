"""What a call costs: value and gradient of small and large functions, beside NumPy by hand.

Matrix products are timed by themselves too, in NumPy's BLAS and in SciPy's, which kernels call.

Run it pinned: ``taskset -c 0 env OMP_NUM_THREADS=1 python benchmarks/calls.py``. The two
sides run by turns in one process, and each figure is the median of many turns.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import gradc

TURNS = 15
Call = Callable[[], Any]


def few(x: Any) -> Any:
    """Return a function of three numbers."""
    return x[0] * x[1] + np.sin(x[2]) * np.exp(x[0]) + x[1] ** 2


def few_by_hand(x: Any) -> Any:
    """Return value and gradient of :func:`few`."""
    e, s = np.exp(x[0]), np.sin(x[2])
    gradient = np.array([x[1] + s * e, x[0] + 2 * x[1], np.cos(x[2]) * e])
    return x[0] * x[1] + s * e + x[1] ** 2, gradient


def logistic(w: Any, a: Any) -> Any:
    """Return the logistic loss of a matrix of samples."""
    return np.sum(np.log(1 + np.exp(a @ w)))


def logistic_by_hand(w: Any, a: Any) -> Any:
    """Return value and gradient of :func:`logistic`."""
    z = a @ w
    return np.sum(np.logaddexp(0, z)), a.T @ (1 / (1 + np.exp(-z)))


def chain(x: Any) -> Any:
    """Return the sum of an elementwise chain."""
    return np.sum(np.exp(-x * x) * np.sin(x) + np.tanh(x))


def chain_by_hand(x: Any) -> Any:
    """Return value and gradient of :func:`chain`."""
    e, s, t = np.exp(-x * x), np.sin(x), np.tanh(x)
    return np.sum(e * s + t), e * (np.cos(x) - 2 * x * s) + 1 - t * t


def product(a: Any, b: Any) -> Any:
    """Return a product of matrices."""
    return a @ b


def squares(a: Any, b: Any) -> Any:
    """Return the sum of the squares of a product's elements."""
    return np.sum((a @ b) ** 2)


def squares_by_hand(a: Any, b: Any) -> Any:
    """Return value of :func:`squares` and its gradient in the first matrix."""
    c = a @ b
    return np.sum(c**2), 2 * c @ b.T


def median_seconds(calls: list[Call]) -> list[float]:
    """Return the median time of each call, taken by turns."""
    for call in calls:
        call()
    repeats = []
    for call in calls:
        start = time.perf_counter()
        call()
        repeats.append(max(1, int(0.002 / (time.perf_counter() - start + 1e-9))))
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(TURNS):
        for call, repeat, taken in zip(calls, repeats, times):
            start = time.perf_counter()
            for _ in range(repeat):
                call()
            taken.append((time.perf_counter() - start) / repeat)
    return [statistics.median(taken) for taken in times]


def main() -> None:
    """Print a row for each function."""
    random = np.random.default_rng(7)
    cases: list[tuple[str, Any, Any, tuple[Any, ...]]] = [
        ("few numbers", few, few_by_hand, (np.array([0.3, -0.7, 1.1]),)),
        (
            "logistic 1000 x 50",
            logistic,
            logistic_by_hand,
            (random.normal(size=50), random.normal(size=(1000, 50)) * 0.3),
        ),
        (
            "logistic 100000 x 50",
            logistic,
            logistic_by_hand,
            (random.normal(size=50), random.normal(size=(100_000, 50)) * 0.3),
        ),
        ("chain of 1000000", chain, chain_by_hand, (random.normal(size=1_000_000),)),
    ]
    for size in (100, 300, 1000):
        matrices = tuple(random.normal(size=(2, size, size)) / size**0.5)
        cases.append((f"squares of A B, {size}", squares, squares_by_hand, matrices))
    print(f"{'value and gradient':24}{'gradc':>12}{'NumPy':>12}{'ratio':>8}")
    for name, function, by_hand, arguments in cases:
        compiled = gradc.compile(function)
        value, gradient = compiled.value_and_grad(*arguments)
        wanted_value, wanted = by_hand(*arguments)
        assert np.allclose(value, wanted_value, rtol=1e-10)
        assert np.allclose(gradient, wanted, rtol=1e-8, atol=1e-10)
        ours, theirs = median_seconds(
            [
                lambda f=compiled, a=arguments: f.value_and_grad(*a),  # type: ignore[misc]
                lambda f=by_hand, a=arguments: f(*a),  # type: ignore[misc]
            ]
        )
        print_row(name, ours, theirs)
    print("value")
    for size in (100, 300, 1000):
        a, b = random.normal(size=(2, size, size))
        multiply = gradc.compile(product)
        assert np.allclose(multiply(a, b), a @ b)
        ours, theirs = median_seconds(
            [
                lambda f=multiply, a=a, b=b: f(a, b),  # type: ignore[misc]
                lambda a=a, b=b: a @ b,  # type: ignore[misc]
            ]
        )
        print_row(f"A B, {size}", ours, theirs)


def print_row(name: str, ours: float, theirs: float) -> None:
    """Print the seconds of both sides."""
    print(f"{name:24}{ours * 1e6:9.1f} us{theirs * 1e6:9.1f} us{theirs / ours:8.2f}")


if __name__ == "__main__":
    main()
