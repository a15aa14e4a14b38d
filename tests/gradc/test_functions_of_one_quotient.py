"""Functions of a quotient or product of two values, times powers of one: slopes by either of them.

A table of functions and points, where terms of the slopes cancel, against many digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import gradc

Function = Callable[[Any, Any, Any], Any]


class _Digits:
    """NumPy's names in many digits."""

    exp, expm1, log, log1p, cosh, sqrt = (
        getattr(mpmath, name) for name in ("exp", "expm1", "log", "log1p", "cosh", "sqrt")
    )
    arcsinh, tanh, arctan, cos = mpmath.asinh, mpmath.tanh, mpmath.atan, mpmath.cos


FUNCTIONS: dict[str, tuple[Function, float, float]] = {
    "effective rate": (lambda m, r, n: (1 + r / n) ** n - 1, 1e-9, 12.0),
    "without expm1": (lambda m, r, n: n * m.log1p(r / n), 1e-9, 12.0),
    "mean of a decay": (lambda m, t, k: (1 - m.exp(-k * t)) / k, 1e-7, 0.5),
    "growth beyond a line": (lambda m, t, k: (m.exp(k * t) - 1 - k * t) / k**2, 1e-5, 3.0),
    "log of cosh": (lambda m, x, k: k * m.log(m.cosh(x / k)), 1e-6, 2.0),
    "log of cosh beyond": (lambda m, x, k: k * m.log(m.cosh(x / k)), 30.0, 2.0),
    "with a root": (lambda m, t, g: m.log(m.cosh(m.sqrt(g) * t)) / g, 1e-4, 9.8),
    "with a root of a product": (
        lambda m, t, k: m.log(m.cosh(m.sqrt(9.8 * k) * t)) / k,
        1e-4,
        0.25,
    ),
    "pseudo huber": (lambda m, r, d: d**2 * (m.sqrt(1 + (r / d) ** 2) - 1), 3e-6, 1.5),
    "cauchy": (lambda m, x, c: c**2 / 2 * m.log(1 + (x / c) ** 2), 1e-6, 3.0),
    "student": (lambda m, x, nu: nu * m.log(1 + x * x / nu), 1e-3, 1e5),
    "inverse hyperbolic": (lambda m, x, k: k * m.arcsinh(x / k), 1e-7, 7.0),
    "saturation": (lambda m, x, k: x - k * m.log(1 + x / k), 1e-7, 7.0),
    "acceleration at the end": (lambda m, t, a: (m.sqrt(1 + (a * t) ** 2) - 1) / a, 1e12, 3.0),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_slopes_by_both(name: str) -> None:
    function, x, y = FUNCTIONS[name]
    slopes = gradc.compile(gradc.grad(lambda x, y: function(np, x, y), (0, 1)))(x, y)
    with mpmath.workdps(80):
        for place, found in enumerate(slopes):
            order = (1, 0) if place == 0 else (0, 1)
            truth = mpmath.diff(lambda x, y: function(_Digits, x, y), (x, y), order)
            np.testing.assert_allclose(found, float(truth), rtol=2e-14, err_msg=str(order))


def test_arrays_and_single_precision() -> None:
    def total(x, k):
        return np.sum(k * np.log1p(x / k))

    x = np.array([1e-4, 2e-3, 0.5], np.float32)
    k = np.array([3.0, 5.0, 7.0], np.float32)
    (found,) = gradc.compile(gradc.grad(total, (1,)))(x, k)
    t = x.astype(np.float64) / k
    truth = np.log1p(t) - t / (1 + t)
    truth[:2] = (t**2 / 2 - 2 * t**3 / 3 + 3 * t**4 / 4)[:2]
    np.testing.assert_allclose(found, truth, rtol=2e-6)


def test_arguments_in_either_order_have_one_series() -> None:
    def entropy(a, b):
        p = np.exp(a) / (np.exp(a) + np.exp(b))
        q = np.exp(b) / (np.exp(a) + np.exp(b))
        return -p * np.log(p) - q * np.log(q)

    found = gradc.compile(gradc.grad(entropy, (0, 1)))(1.0, 1.0 + 2.0**-40)
    np.testing.assert_allclose(found, (2.0**-42, -(2.0**-42)), rtol=1e-14)


@pytest.mark.parametrize("name", ["tanh", "arctan", "sin", "log1p", "expm1", "arcsinh"])
def test_arguments_that_underflow(name: str) -> None:
    function = getattr(np, name)
    found = gradc.compile(lambda x, k: k * function(x / k))(3e-80, 7e280)
    np.testing.assert_allclose(found, 3e-80, rtol=1e-15)
    found = gradc.compile(lambda x, k: 2 * function(x * k) / k)(np.full(3, 3e-180), 7e-180)
    np.testing.assert_allclose(found, 6e-180, rtol=1e-15)
