"""Error functions and the normal's in many spellings: value and gradient in bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
import pytest
from scipy import special

import gradc
from gradc_ir.meaning.ulp_distance import bits_between

pytestmark = pytest.mark.slow

Array = npt.NDArray[Any]

POINTS = np.array([0.0, 1e-9, -1e-9, 0.3, -0.3, 1.0, -1.0, 2.5, -2.5, 6.0, -6.0, 12.0, -12.0, 20.0])
ROOT = 1.4142135623730951
ROOT_OF_PI = 2.5066282746310002
NAMES: dict[str, Any] = {
    "exp": np.exp,
    "log": np.log,
    "log1p": np.log1p,
    "c": ROOT,
    "k": ROOT_OF_PI,
}
NAMES |= {name: getattr(special, name) for name in ("erf", "erfc", "ndtr")}

# Spellings and the bits that a value and a slope may lose; constants are taken as they are rounded.
SPELLINGS = [
    ("1 - erf(x)", 1.7),
    ("1 + erf(x)", 1.7),
    ("erf(x) - 1", 1.7),
    ("0.5 * (1 + erf(x / c))", 7.0),
    ("0.5 + 0.5 * erf(x / c)", 7.0),
    ("(1 + erf(x / c)) / 2", 7.0),
    ("1 - 0.5 * (1 + erf(x / c))", 7.0),
    ("1 - ndtr(x)", 2.0),
    ("log(erfc(x))", 8.0),
    ("log(1 - erf(x))", 8.0),
    ("log(1 + erf(x))", 8.0),
    ("log1p(erf(x))", 8.0),
    ("log1p(-erf(x))", 8.0),
    ("log(ndtr(x))", 3.0),
    ("log(1 - ndtr(x))", 3.0),
    ("log1p(-ndtr(x))", 3.0),
    ("log(0.5 * erfc(-x / c))", 8.0),
    ("log(0.5 * erfc(x * -0.7071067811865476))", 8.0),
    ("log(0.5 * (1 + erf(x / c)))", 8.0),
    ("exp(-x * x) / erfc(x)", 3.5),
    ("exp(-x**2) / (1 - erf(x))", 3.5),
    ("exp(-x * x / 2) / erfc(x / c)", 3.5),
    ("exp(-0.5 * x**2) / k / ndtr(-x)", 4.5),
    ("exp(-x * x / 2) / k / (1 - ndtr(x))", 4.5),
    ("exp(x * x) * erfc(x)", 3.0),
    ("ndtr(x + 1) - ndtr(x)", 7.0),
    ("log(ndtr(x + 1) - ndtr(x))", 7.0),
    ("exp(-x * x)", 1.7),
    ("exp(-0.5 * x**2)", 1.7),
    ("exp(-0.3 * x)", 1.7),
]


def function_of(body: str, names: dict[str, Any]) -> Callable[[Any], Any]:
    found: Callable[[Any], Any] = eval(f"lambda x: {body}", dict(names))
    return found


def truth(body: str, points: Array) -> tuple[Array, Array]:
    with mpmath.workprec(1500):
        names = {
            "exp": mpmath.exp,
            "log": mpmath.log,
            "log1p": lambda x: mpmath.log(1 + x),
            "erf": mpmath.erf,
            "erfc": mpmath.erfc,
            "ndtr": lambda x: mpmath.erfc(-x / mpmath.sqrt(2)) / 2,
            "c": mpmath.mpf(ROOT),
            "k": mpmath.mpf(ROOT_OF_PI),
        }
        function, found = function_of(body, names), []
        for point in points:
            x = mpmath.mpf(float(point))
            step = mpmath.mpf(2) ** -300
            slope = (function(x + step) - function(x - step)) / (2 * step)
            found.append((float(function(x)), float(slope)))
    return np.array(found).T[0], np.array(found).T[1]


@pytest.mark.parametrize(("body", "bits"), SPELLINGS, ids=[body for body, _ in SPELLINGS])
def test_value_and_gradient(body: str, bits: float) -> None:
    value, slope = truth(body, POINTS)
    function = function_of(body, NAMES)
    found = gradc.compile(function)(POINTS)
    backward = gradc.compile(gradc.grad(lambda x: np.sum(function(x))))(POINTS)
    _, forward = gradc.jvp(function, (POINTS,), (np.ones_like(POINTS),))
    for made, wanted in ((found, value), (backward, slope), (forward, slope)):
        normal = np.abs(wanted) > 1e-300
        errors = bits_between(np.asarray(made), wanted)[normal]
        assert errors.max() <= bits
        assert errors.mean() <= 0.4 * bits + 0.6


def test_far_tails() -> None:
    """Where both sides of a quotient are 0, or their product 0 times infinity."""
    x = np.array([40.0, 1e3, 1e8])
    hazard = gradc.compile(lambda x: np.exp(-x * x / 2) / np.sqrt(2 * np.pi) / special.ndtr(-x))
    np.testing.assert_allclose(hazard(x), x + 1 / x, rtol=1e-5)
    scaled = gradc.compile(lambda x: np.exp(x * x) * special.erfc(x))
    np.testing.assert_allclose(scaled(x), special.erfcx(x), rtol=1e-15)
    logarithm = gradc.compile(gradc.grad(lambda x: np.sum(np.log(special.ndtr(-x)))))
    np.testing.assert_allclose(logarithm(x), -(x + 1 / x), rtol=1e-5)
