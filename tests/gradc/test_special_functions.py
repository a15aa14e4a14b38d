"""The special functions and their first two derivatives, against mpmath, compiled and plain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import gradc
from gradc import special
from tests.gradc.special_table import ROWS, Row

EPSILON = np.finfo(np.float64).eps
EACH = pytest.mark.parametrize("row", ROWS, ids=str)


def of(row: Row) -> Callable[[Any], Any]:
    function, before = getattr(special, row.name), row.before
    if row.name == "multigammaln":
        return lambda x: function(x, 2)
    return lambda x: function(*before, x)


def exact(row: Row, order: int) -> np.ndarray:
    """Return a derivative in 40 digits, by differences of numbers with many more, rounded."""
    with mpmath.workdps(40):
        found = [
            mpmath.diff(row.exact, mpmath.mpf(x), order, h=mpmath.mpf(10) ** -12 * (abs(x) or 1))
            if order
            else row.exact(mpmath.mpf(x))
            for x in row.points
        ]
        return np.array([float(mpmath.re(value)) for value in found])


def assert_relative(found: np.ndarray, want: np.ndarray, tolerance: float) -> None:
    np.testing.assert_allclose(found, want, rtol=tolerance, atol=1e-300)


@EACH
def test_value(row: Row) -> None:
    x = np.array(row.points)
    function = of(row)
    compiled = gradc.compile(function)(x)
    assert_relative(compiled, function(x), row.ulps * EPSILON)
    assert_relative(compiled, exact(row, 0), row.ulps * EPSILON)


@EACH
def test_first_derivative_in_both_modes(row: Row) -> None:
    x = np.array(row.points)
    function = gradc.compile(of(row))
    want = exact(row, 1)
    _, pushed = function.jvp((x,), (np.ones_like(x),))
    assert_relative(pushed, want, row.loss)
    pulled = gradc.grad(lambda x: function(x).sum())(x)
    assert_relative(pulled, want, row.loss)


@EACH
def test_second_derivative(row: Row) -> None:
    x = np.array(row.points)
    slope = gradc.grad(lambda x: of(row)(x).sum())
    curvature = gradc.grad(lambda x: slope(x).sum())(x)
    assert_relative(curvature, exact(row, 2), row.again)


@pytest.mark.parametrize("name", sorted({*special.__all__} - {"multigammaln"}))
def test_numbers_give_numbers(name: str) -> None:
    """Outside of a trace: a NumPy number of float64, not an array without axes."""
    count = {"kl_div": 2, "betainc": 3, "betaincc": 3, "betaincinv": 3, "gdtr": 3, "gdtrc": 3}
    for tried in (count.get(name, 1), 2, 3):
        try:
            found = getattr(special, name)(*[2, 1.5, 0.5][:tried])
        except TypeError:
            continue
        for one in found if isinstance(found, tuple) else (found,):
            assert np.ndim(one) == 0
            assert isinstance(one, float)
        return
    pytest.fail(f"{name} takes neither of these")
