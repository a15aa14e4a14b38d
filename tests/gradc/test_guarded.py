"""Guards as people write them: at the points they are for, derivatives are what the branch says.

A table of functions and points, with the value and two derivatives by hand; every function in both
modes, both orders, alone, in rows and in loops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc

Function = Callable[..., Any]
INF, NAN = float("inf"), float("nan")
E = np.exp(-1.0)
LOW = np.log(1e-3)


def guarded_twice(x):
    return np.where(x > 0, np.log(np.where(x > 0, x, 1.0)), 0.0)


def nested(x):
    return np.where(x > 1, np.log(x - 1), np.where(x < -1, np.sqrt(-1 - x), 0.0))


def nested_in_a_branch(x):
    return np.where(x > 0, np.where(x > 1, np.log(x - 1), -1.0), np.where(x < 0, 1 / x, 0.0))


def piecewise(x):
    return np.piecewise(x, [x < 0, x >= 1], [lambda v: np.sqrt(-v), lambda v: np.log(v), 0.0])


def bump(x):
    return np.where(np.abs(x) < 1, np.exp(-1 / (1 - x * x)), 0.0)


def logit(x):
    return np.where((x > 0) & (x < 1), np.log(x) - np.log(1 - x), 0.0)


def linear_below(x):
    return np.where(x > 0.5, np.log(x), np.log(0.5) + (x - 0.5) / 0.5)


def written_where_positive(x):
    y = np.zeros_like(x)
    positive = x > 0
    y[positive] = np.log(x[positive])
    return y


def written_where_negative(x):
    y = np.sqrt(x)
    y[x <= 0] = 0.0
    return y


def added_where_positive(x):
    y = np.zeros(x.shape, x.dtype)
    y[x > 0] += np.log(x)[x > 0]
    return np.pad(y, 1)[1:-1]


def taken_and_put(x):
    places = np.array([0, 1, 2])
    y = np.log(x)
    z = np.zeros_like(x)
    z[places] = np.where(x[places] > 0, y[places], 0.0)
    return z


# x, value, slope, curvature
ZERO = (0.0, 0, 0, 0)
MINUS = (-1.0, 0, 0, 0)
LOG_AT_ONE = (1.0, 0, 1, -1)
Rows = list[tuple[float, float, float, float]]

ELEMENTWISE: dict[str, tuple[Function, Rows]] = {
    "log": (lambda x: np.where(x > 0, np.log(x), 0.0), [ZERO, MINUS, LOG_AT_ONE, (-INF, 0, 0, 0)]),
    "log-of-nan": (lambda x: np.where(x > 0, np.log(x), 0.0), [(NAN, 0, 0, 0)]),
    "log-twice": (guarded_twice, [ZERO, MINUS, LOG_AT_ONE]),
    "quotient": (lambda x: np.where(x == 0, 1.0, np.sin(x) / x), [(0.0, 1, 0, -1 / 3)]),
    "reciprocal": (lambda x: np.where(x != 0, 1 / x, 0.0), [ZERO, (2.0, 0.5, -0.25, 0.25)]),
    "power": (lambda x: np.where(x > 0, x**1.5, 0.0), [ZERO, MINUS, (4.0, 8, 3, 0.375)]),
    "inverse-power": (lambda x: np.where(x > 0, x**-2.5, 0.0), [ZERO, (1.0, 1, -2.5, 8.75)]),
    "power-of-itself": (lambda x: np.where(x > 0, x**x, 1.0), [(0.0, 1, 0, 0), (1.0, 1, 1, 2)]),
    "nested": (nested, [(1.0, 0, 0, 0), MINUS, (2.0, 0, 1, -1), (-2.0, 1, -0.5, -0.25)]),
    "nested-in-a-branch": (nested_in_a_branch, [ZERO, (1.0, -1, 0, 0), (-1.0, -1, -1, -2)]),
    "guard-inside": (lambda x: np.sqrt(np.where(x > 0, x, 4.0)), [(-1.0, 2, 0, 0)]),
    "overflow": (lambda x: np.where(x < 100, np.exp(x), 0.0), [(1e4, 0, 0, 0), (INF, 0, 0, 0)]),
    "arcsin": (
        lambda x: np.where(np.abs(x) < 1, np.arcsin(x), x),
        [(1.0, 1, 1, 0), (0.0, 0, 1, 0)],
    ),
    "arccosh": (lambda x: np.where(x > 1, np.arccosh(x), 0.0), [(1.0, 0, 0, 0), ZERO]),
    "cube-root": (lambda x: np.where(x != 0, np.cbrt(x), 0.0), [ZERO, (8.0, 2, 1 / 12, -1 / 144)]),
    "root-of-abs": (lambda x: np.where(x == 0, 0.0, np.sqrt(np.abs(x))), [ZERO]),
    "angle": (lambda x: np.where(x == 0, 0.0, np.arctan2(x, x)), [ZERO]),
    "hypot": (lambda x: np.where(x == 0, 0.0, np.hypot(x, x)), [ZERO]),
    "unguarded-hypot": (lambda x: np.hypot(x, x), [ZERO]),
    "x-log-x": (lambda x: np.where(x == 0, 0.0, x * np.log(x)), [ZERO, (1.0, 0, 1, 1)]),
    "several-factors": (lambda x: np.where(x > 0, x * np.log(x) * np.sqrt(x), 0.0), [ZERO, MINUS]),
    "isnan": (lambda x: np.where(np.isnan(np.log(x)), 0.0, np.log(x)), [MINUS, LOG_AT_ONE]),
    "isfinite": (lambda x: np.where(np.isfinite(1 / x), 1 / x, 0.0), [ZERO, (1.0, 1, -1, 2)]),
    "nan-to-num": (lambda x: np.nan_to_num(np.log(x)), [MINUS, LOG_AT_ONE]),
    "infinite": (lambda x: np.where(np.isfinite(x), np.logaddexp(x, 0), 0.0), [(INF, 0, 0, 0)]),
    "maximum-inside": (lambda x: np.log(np.maximum(x, 1e-3)), [(0.0, LOW, 0, 0), LOG_AT_ONE]),
    "maximum": (lambda x: np.maximum(np.log(x), -5.0), [(0.0, -5, 0, 0), LOG_AT_ONE]),
    "minimum": (lambda x: np.minimum(1 / x, 5.0), [(0.0, 5, 0, 0), (1.0, 1, -1, 2)]),
    "fmax": (lambda x: np.fmax(np.log(x), -5.0), [(-1.0, -5, 0, 0), LOG_AT_ONE]),
    "clip": (lambda x: np.clip(np.log(x), -5.0, 5.0), [(0.0, -5, 0, 0), LOG_AT_ONE]),
    "clip-inside": (lambda x: np.sqrt(np.clip(x, 1.0, 4.0)), [(0.0, 1, 0, 0), (9.0, 2, 0, 0)]),
    "abs": (np.abs, [ZERO, (-0.0, 0, 0, 0), (-2.0, 2, -1, 0)]),
    "sign": (lambda x: np.sign(x) * x, [ZERO, (-2.0, 2, -1, 0)]),
    "zero-times-root": (lambda x: 0 * np.sqrt(x), [ZERO]),
    "select": (
        lambda x: np.select([x < 0, x > 0], [np.sqrt(-x), np.log(x)], 0.0),
        [ZERO, LOG_AT_ONE, (-4.0, 2, -0.25, -1 / 32)],
    ),
    "heaviside": (lambda x: np.heaviside(x, 0.5) * x, [(0.0, 0, 0.5, 0), (2.0, 2, 1, 0), MINUS]),
    "bump": (bump, [(1.0, 0, 0, 0), MINUS, (0.0, E, 0, -2 * E), (5.0, 0, 0, 0)]),
    "step": (lambda x: np.where(x > 0, np.exp(-1 / x), 0.0), [ZERO, MINUS, (1.0, E, E, -E)]),
    "both-ends": (logit, [ZERO, (1.0, 0, 0, 0), (0.5, 0, 4, 0)]),
    "linear-below": (linear_below, [(0.0, np.log(0.5) - 1, 2, 0), LOG_AT_ONE]),
    "copysign": (lambda x: np.copysign(np.sqrt(np.abs(x)), x), [(-4.0, -2, 0.25, 1 / 32)]),
    "sinc": (lambda x: np.sinc(x), [(0.0, 1, 0, -(np.pi**2) / 3)]),
    "two-guards": (
        lambda x: np.where(x > 0, np.log(x), 0.0) * np.maximum(x, 0.0),
        [MINUS, (1.0, 0, 1, 1)],
    ),
}
ARRAYS: dict[str, tuple[Function, Rows]] = {
    "piecewise": (piecewise, [ZERO, LOG_AT_ONE, (-4.0, 2, -0.25, -1 / 32)]),
    "written-where-positive": (written_where_positive, [ZERO, MINUS, LOG_AT_ONE]),
    "written-where-negative": (written_where_negative, [ZERO, MINUS, (1.0, 1, 0.5, -0.25)]),
    "added-where-positive": (added_where_positive, [ZERO, MINUS, LOG_AT_ONE]),
    "taken-and-put": (taken_and_put, [ZERO, MINUS, LOG_AT_ONE]),
}
each = pytest.mark.parametrize("name", [*ELEMENTWISE, *ARRAYS])


def slope(f: Function) -> Function:
    """Return the derivative of an elementwise function, by forward mode."""
    return lambda x: gradc.jvp(f, (x,), (np.ones_like(x),))[1]


def total(f: Function) -> Function:
    return lambda x: np.sum(f(x))


def row(name: str, dtype: Any = np.float64) -> tuple[Function, Any, Any, Any, Any]:
    """Return a function, the points, and what value and derivatives are there."""
    f, rows = (ELEMENTWISE | ARRAYS)[name]
    x, value, first, second = np.array(rows).T
    return f, x.astype(dtype), value, first, second


def close(found: Any, want: Any, tolerance: float = 1e-12) -> None:
    np.testing.assert_allclose(found, want, rtol=tolerance, atol=tolerance)


@each
def test_values_and_slopes(name: str) -> None:
    f, x, value, first, _ = row(name)
    close(gradc.compile(f)(x), value)
    close(gradc.grad(total(f))(x), first)
    close(slope(f)(x), first)


@each
def test_slopes_in_single_precision(name: str) -> None:
    f, x, _, first, _ = row(name, np.float32)
    found = gradc.value_and_grad(total(f))(x)[1]
    assert found.dtype == np.float32
    close(found, first, 2e-6)


@each
def test_curvatures(name: str) -> None:
    f, x, _, _, second = row(name)
    close(slope(slope(f))(x), second)
    close(slope(gradc.grad(total(f)))(x), second)
    close(gradc.grad(total(gradc.grad(total(f))))(x), second)
    close(gradc.grad(total(slope(f)))(x), second)


@pytest.mark.parametrize("name", list(ELEMENTWISE)[::4])
def test_in_rows_and_in_loops(name: str) -> None:
    f, x, _, first, second = row(name)
    close(gradc.vmap(gradc.grad(f))(x), first)
    close(gradc.vmap(gradc.grad(gradc.grad(f)))(x), second)

    def by_scan(x):
        return gradc.scan(lambda s, t: (s + f(t), f(t)), 0.0, x)

    def by_branch(t):
        return gradc.cond(t > -100, f, lambda s: s * 0, t)

    close(gradc.grad(lambda x: by_scan(x)[0])(x), first)
    close(gradc.jvp(lambda x: by_scan(x)[1], (x,), (np.ones_like(x),))[1], first)
    close(gradc.hessian(lambda x: by_scan(x)[0])(x), np.diag(second))
    x, first, second = x[x > -100], first[x > -100], second[x > -100]
    close([gradc.grad(by_branch)(t) for t in x], first)
    close([gradc.grad(gradc.grad(by_branch))(t) for t in x], second)
