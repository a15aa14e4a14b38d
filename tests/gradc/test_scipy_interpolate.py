"""Piecewise polynomials of scipy.interpolate in traced code: SciPy's numbers, and derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.interpolate as interpolate

import gradc
from gradc.testing import check_grads
from gradc_ir.errors import TraceError
from tests.comparing import assert_same_bits

X = np.array([0.0, 0.7, 1.5, 2.0, 3.2, 4.0])
Y = np.sin(2 * X)
ROWS = np.random.default_rng(0).normal(size=(6, 3))
INSIDE = np.array([0.1, 0.3, 0.8, 2.2, 3.9])
AROUND = np.array([-0.5, 0.0, 0.7, 2.0, 4.0, 4.5, np.nan])
KINDS = [interpolate.CubicSpline, interpolate.PchipInterpolator, interpolate.Akima1DInterpolator]


def check(function: Callable[..., Any], *args: Any, order: int = 1) -> None:
    assert_same_bits(gradc.compile(function)(*args), function(*args))  # SciPy's
    if order:
        check_grads(function, args, order)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_those_outside_are_called(kind: Any) -> None:
    one, many, across = kind(X, Y), kind(X, ROWS), kind(X, ROWS.T, axis=1)
    check(lambda x: np.concatenate([one(x), one(x, 1), one.derivative()(x)]), INSIDE, order=2)
    check(many, INSIDE[:4])
    check(across, INSIDE[:4].reshape(2, 2))
    check(lambda x: one(x) + one(x, 3) + one(x, 4), AROUND, order=0)
    check(lambda x: one(x, extrapolate=False), AROUND, order=0)
    check(lambda x: one(x, extrapolate="periodic"), AROUND, order=0)


def test_a_slope_outside_is_nan_where_the_value_is() -> None:
    one = interpolate.CubicSpline(X, Y, extrapolate=False)
    assert np.isnan(gradc.grad(lambda x: one(x))(4.5))
    assert np.isfinite(gradc.grad(lambda x: one(x))(4.0))


def test_arrays_of_those_outside_are_read_at_every_call() -> None:
    one = interpolate.CubicSpline(X, Y)
    compiled = gradc.compile(lambda x: one(x))
    assert compiled(1.0) == one(1.0)
    one.c[:] *= 2.0
    assert compiled(1.0) == one(1.0)
    one.extrapolate = False
    assert np.isnan(compiled(5.0))


def test_a_table_in_the_steps_of_a_loop() -> None:
    rate = interpolate.PchipInterpolator(X, np.cos(X))

    def decay(x):
        for _ in range(40):
            x = x - 0.01 * x * rate(x)
        return x

    check(decay, 1.3)


@pytest.mark.parametrize(
    "conditions",
    ["not-a-knot", "natural", "clamped", ((1, 0.3), (2, 0.5)), ((2, 0.1), "not-a-knot")],
    ids=str,
)
def test_splines_through_traced_values(conditions: Any) -> None:
    def spline(x, y, places):
        return interpolate.CubicSpline(x, y, bc_type=conditions)(places)

    check(spline, X, Y, INSIDE)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_splines_through_few_values(count: int) -> None:
    check(lambda y: interpolate.CubicSpline(X[:count], y)(INSIDE[:3]), Y[:count])
    check(lambda y: interpolate.PchipInterpolator(X[:count], y)(INSIDE[:3]), Y[:count])


def test_others_of_traced_values() -> None:
    check(lambda x, y: interpolate.PchipInterpolator(x, y)(INSIDE), X, ROWS)
    check(lambda y, d: interpolate.CubicHermiteSpline(X, y, d)(INSIDE), Y, np.cos(X))
    check(lambda y: interpolate.CubicSpline(X, y, axis=1)(INSIDE), ROWS.T)
    check(lambda c, x: interpolate.PPoly(c, X[:3])(x), ROWS[:4, :2], INSIDE[:3])
    check(lambda x: interpolate.CubicSpline(np.linspace(0, 4, 5), np.ones(5))(x), INSIDE)


def test_what_is_refused() -> None:
    with pytest.raises(TraceError, match="bc_type='periodic' is not supported"):
        gradc.compile(lambda y: interpolate.CubicSpline(X, y, bc_type="periodic")(1.0))(Y)
    one = interpolate.CubicSpline(X, Y)
    with pytest.raises(TraceError, match="a known number from 0 on"):
        gradc.compile(lambda x: one(x, -1))(1.0)
