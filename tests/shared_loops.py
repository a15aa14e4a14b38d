"""Programs whose loops threads share: the rows of the benchmark, and reductions of every kind.

``graphs`` returns the final graphs of one, of known and of symbolic sizes; ``wanted`` what one
thread makes of known sizes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import gradc
from benchmarks.rows import ROWS
from gradc.pipeline import derive
from gradc.requests.request import Request
from gradc.tracing import trace
from gradc_codegen.compile_function import Compilation
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import Size, symbol
from gradc_ir.core.types import Type, dtype_of

# More than three chunks, and not a whole number of groups.
LONG = 12321


class Program(NamedTuple):
    """A function, what is computed of it, its arguments, and the axes of symbolic sizes."""

    name: str
    function: Callable[..., Any]
    request: Request
    arguments: tuple[np.ndarray, ...]
    symbolic: tuple[Type, ...]


# -- the rows of the benchmark ---------------------------------------------------------------------

# Sizes at which loops have several chunks, or rows enough for groups; else those of the tests.
_SIZES: Mapping[str, Mapping[str, int]] = {
    "mlp": {"m": 7, "h": 33, "k": 3, "n": 200},
    "pairwise": {"n": 211, "d": 3},
    "lstm": {"l": 2, "c": 65, "width": 33},
    "rnn": {"width": 70, "steps": 40},
    "stencil": {"n": 131},
    "labels": {"n": 4500, "k": 16, "d": 3},
    "running_product": {"n": 997},
    "last_state": {"n": 100},
    "mixture": {"k": 5, "n": 4500},
}
# What a function needs as a number.
_NUMBERS: Mapping[str, frozenset[str]] = {
    "gmm": frozenset("d"),
    "last_state": frozenset("n"),
    "lstm": frozenset({"l", "c", "width"}),
    "windows": frozenset("n"),  # as many as a window has are needed
}


def _of_rows() -> list[Program]:
    """Return the rows; those of one point have no loops, and are there as a batch."""
    found = []
    for row in ROWS:
        if row.symbolic or row.sizes[-1] == {"points": 1}:
            continue
        longer = {"n": LONG} if "n" in row.tiny else {"points": 999}
        sizes = _SIZES.get(row.name) or {**row.tiny, **longer}
        shapes = {
            name: [x.shape for x in row.data(np.random.default_rng(7), {**sizes, name: size + 1})]
            for name, size in sizes.items()
            if name not in _NUMBERS.get(row.name, ())
        }
        arguments = row.data(np.random.default_rng(7), sizes)
        request = Request("value") if row.wrt is None else Request(row.of, row.wrt)
        types = tuple(
            Type(dtype_of(x.dtype), tuple(_size(shapes, i, *at) for at in enumerate(x.shape)))
            for i, x in enumerate(arguments)
        )
        found.append(Program(row.name, row.function, request, tuple(arguments), types))
    return found


def _size(longer: Mapping[str, Sequence[tuple[int, ...]]], leaf: int, axis: int, size: int) -> Size:
    """Return the symbol of a size with which an axis grows, and which it is as long as."""
    moved = [name for name, shapes in longer.items() if shapes[leaf][axis] == size + 1]
    # arguments of bundle are called as its sizes are
    return symbol(f"size_{moved[0]}") if len(moved) == 1 else size


# -- reductions ------------------------------------------------------------------------------------


def _counted(x):
    positive = x > 0
    return np.sum(positive), np.count_nonzero(x < 1), np.any(x > 9), np.all(x < 9)


def _places(x):
    return np.argmax(x), np.argmin(x), np.argmax(x, axis=0), np.argmin(x, axis=1)


def _whole(x):
    n = (x * 1000).astype(np.int64)
    return np.sum(n), np.max(n), np.min(n), np.sum(n, axis=0), np.prod(n % 3 + 1, axis=1)


def _masked(x):
    good = x > -1
    return np.sum(np.where(good, np.exp(x), 0.0)) / np.sum(x, where=good)


def _log_sum(x):
    top = np.max(x, axis=1, keepdims=True)
    return np.sum(np.log(np.sum(np.exp(x - top), axis=1)) + top[:, 0])


def _triangle(x):
    return np.sum(np.tril(x[:90, None, 0] * np.exp(x[None, :90, 1])))


def _scattered(x):
    total = np.zeros(50)
    np.add.at(total, np.arange(len(x)) % 50, np.exp(x[:, 0]))
    return total


def _paths(x):
    end = gradc.fori_loop(0, 12, lambda i, s: s + 0.1 * np.sin(s * i) * x[:, 0], x[:, 1])
    return np.sum(np.maximum(end, 0.0))


def _states(x):
    def step(state, i):
        state = 0.9 * state + 0.1 * np.tanh(x * i)
        return state, np.sum(state)

    state, sums = gradc.scan(step, np.zeros_like(x), np.arange(5.0))
    return np.sum(state * state) + np.sum(sums)


def _halved(x):
    return np.sum(gradc.while_loop(lambda s: np.max(np.abs(s)) > 0.1, lambda s: 0.5 * s, x))


def _mapped(x):
    return np.sum(gradc.map(lambda r: np.sum(r) * np.exp(-r @ r), x))


def _systems(x):
    a = x[:600, :, None] * x[:600, None, :] + 3 * np.eye(3)
    return np.sum(np.linalg.solve(a, x[:600, :, None]) ** 2)


def _covariance(x):
    centred = x - np.mean(x, axis=0)
    return centred.T @ centred / len(x)


def _convolved(x):
    y = x[:, 0]
    return np.sum((0.25 * y[:-2] + 0.5 * y[1:-1] + 0.25 * y[2:]) ** 2 * np.exp(y[1:-1]))


_VALUES: dict[str, Callable[..., Any]] = {
    "counted": _counted,
    "places": _places,
    "whole numbers": _whole,
    "extrema": lambda x: (np.max(x), np.min(x, axis=0), np.max(x, axis=1), np.ptp(x)),
    "sums of axes": lambda x: (np.sum(x), np.sum(x, axis=0), np.sum(np.exp(x), axis=1)),
    "means of axes": lambda x: (np.mean(x), np.mean(x, axis=0), np.mean(x, axis=1)),
    "running sums": lambda x: (np.cumsum(x, axis=0), np.cumsum(x, axis=1), np.cumsum(x[:, 0])),
    "running products": lambda x: np.cumprod(1 + 1e-4 * x, axis=0),
    "sorted": lambda x: (np.sort(x, axis=1), np.argsort(x, axis=1), np.sort(x[:, 0])),
    "median": lambda x: np.median(x, axis=1),
    "covariance": _covariance,
    "product": lambda x: x[:300] @ x[:200].T,
    "scattered": _scattered,
    "shares": lambda x: np.exp(x) / np.sum(np.exp(x), axis=1, keepdims=True),
    "normalised": lambda x: x / np.sqrt(np.sum(x * x)),
}
_GRADIENTS: dict[str, Callable[..., Any]] = {
    "sum": lambda x: np.sum(np.exp(x)),
    "mean": lambda x: np.mean(np.sin(x) * x),
    "variance": lambda x: np.var(x),
    "deviation": lambda x: np.std(x, axis=0) @ np.arange(1.0, 4.0),
    "sum of a product": lambda x: np.sum(np.prod(x, axis=1)),
    "product of all": lambda x: np.prod(1 + 1e-5 * x),
    "maximum": lambda x: np.max(x) * np.min(x),
    "maxima of rows": lambda x: np.sum(np.max(x, axis=1) ** 2),
    "norm": lambda x: np.linalg.norm(x),
    "norm of one": lambda x: np.linalg.norm(x[:, 0], 1) + np.linalg.norm(x[:, 1], np.inf),
    "logarithms of sums": _log_sum,
    "masked": _masked,
    "dot": lambda x: np.dot(x[:, 0], x[:, 1]) * np.vdot(x[:, 1], x[:, 2]),
    "contraction": lambda x: np.sum(np.einsum("ij,ik->jk", x, np.tanh(x)) ** 2),
    "weighted": lambda x: np.average(x[:, 0], weights=np.exp(x[:, 1])),
    "triangle": _triangle,
    "trapezoid": lambda x: np.trapezoid(np.exp(-(x[:, 0] ** 2)), x[:, 1]),
    "differences": lambda x: np.sum(np.exp(np.diff(x, axis=0)) ** 2),
    "convolved": _convolved,
    "running sum": lambda x: np.sum(np.tanh(np.cumsum(x, axis=0)) ** 2),
    "sorted rows": lambda x: np.sort(x, axis=1)[:, 1] @ np.exp(x[:, 0]),
    "paths": _paths,
    "states": _states,
    "halved": _halved,
    "mapped": _mapped,
    "systems": _systems,
}


def _of_reductions() -> list[Program]:
    x = np.random.default_rng(0).normal(size=(LONG, 3))
    found = []
    for name, function in _VALUES.items():
        found.append(_of_rows_of_three(name, function, Request("value"), x))
    for name, function in _GRADIENTS.items():
        found.append(_of_rows_of_three(name, function, Request("value_and_grad", (0,)), x))
    for name in ("sum", "deviation", "logarithms of sums"):
        request, single = Request("value_and_grad", (0,)), x.astype(np.float32)
        found.append(_of_rows_of_three(f"{name} in f32", _GRADIENTS[name], request, single))
    return found


def _of_rows_of_three(
    name: str, function: Callable[..., Any], request: Request, x: np.ndarray
) -> Program:
    types = (Type(dtype_of(x.dtype), (symbol("n"), 3)),)
    return Program(name, function, request, (x,), types)


PROGRAMS = {program.name: program for program in (*_of_rows(), *_of_reductions())}


# -- graphs, and what one thread makes of them -----------------------------------------------------


@functools.cache
def graphs(name: str) -> dict[str, Function]:
    """Return the final graphs of a program, of known and of symbolic sizes."""
    program = PROGRAMS[name]
    known = tuple(Type(dtype_of(x.dtype), x.shape) for x in program.arguments)
    return {
        sizes: derive(trace(program.function, types).function, program.request)
        for sizes, types in (("known", known), ("symbolic", program.symbolic))
    }


@functools.cache
def wanted(name: str) -> list[np.ndarray]:
    """Return what one thread makes of known sizes."""
    kernel = Compilation(graphs(name)["known"]).kernel()
    return [np.asarray(x) for x in kernel(PROGRAMS[name].arguments)]
