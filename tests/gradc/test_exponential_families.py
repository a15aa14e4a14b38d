"""Families of exponentials in many spellings: value and gradient in bits, over all of the doubles.

The truth is computed to 2600 bits, its derivative as a difference there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
import pytest

import gradc
from gradc_ir.meaning.ulp_distance import bits_between

pytestmark = pytest.mark.slow


Array = npt.NDArray[Any]

SIZES = (1e-9, 1e-3, 0.3, 1.0, 2.5, 7.0, 20.0, 36.5, 50.0, 120.0, 400.0, 709.0, 1e4, 1e16, 1e300)
POINTS = np.array([sign * size for size in SIZES for sign in (1, -1)])
SINGLE = np.array([sign * size for size in SIZES[1:12] for sign in (1, -1)], dtype=np.float32)
BITS = 2.5
NUMPY: dict[str, Any] = {
    name: getattr(np, name)
    for name in ("exp", "expm1", "log", "log1p", "sinh", "cosh", "tanh", "abs", "where")
}

BOSE = ["1 / (exp(x) - 1)", "1 / expm1(x)", "exp(-x) / (1 - exp(-x))", "1 / -(1 - exp(x))"]
PLANCK = ["x**3 / (exp(x) - 1)", "x * x * x / expm1(x)", "x**3 * exp(-x) / (1 - exp(-x))"]
EINSTEIN = [
    "x * x * exp(x) / (exp(x) - 1)**2",
    "x**2 * exp(-x) / (1 - exp(-x))**2",
    "(x / (exp(x) - 1))**2 * exp(x)",
    "exp(x) * (x / expm1(x)) * (x / expm1(x))",
]
FERMI = [
    "exp(x) / (1 + exp(x))**2",
    "exp(-x) / (1 + exp(-x))**2",
    "exp(x) / ((1 + exp(x)) * (exp(x) + 1))",
    "1 / (1 + exp(x)) * (1 - 1 / (1 + exp(x)))",
    "1 / (2 + exp(x) + exp(-x))",
]
LOGISTIC = [
    "3 / (1 + 2.5 * exp(-x))",
    "3 * exp(x) / (exp(x) + 2.5)",
    "1 / (0.5 + exp(x))",
    "exp(x) / (3 + exp(x))",
    "2.5 * exp(x) / (1 + 2.5 * exp(x))",
]
SECH = [
    "2 / (exp(x) + exp(-x))",
    "4 / (exp(x) + exp(-x))**2",
    "1 / cosh(x)",
    "1 / cosh(x)**2",
    "1 - tanh(x)**2",
    "(1 - tanh(x)) * (1 + tanh(x))",
]
TANH = [
    "(exp(x) - exp(-x)) / (exp(x) + exp(-x))",
    "(exp(2 * x) - 1) / (exp(2 * x) + 1)",
    "(1 - exp(-2 * x)) / (1 + exp(-2 * x))",
    "2 / (1 + exp(-2 * x)) - 1",
    "1 - 2 / (exp(2 * x) + 1)",
    "sinh(x) / cosh(x)",
    "(exp(x) + exp(-x)) / (exp(x) - exp(-x))",
    "cosh(x) / sinh(x)",
    "1 - tanh(x)",
    "tanh(x) - 1",
]
DOUBLE = ["exp(-exp(x))", "1 - exp(-exp(x))", "exp(-2.5 * exp(-x))", "log(1 - exp(-exp(-x)))"]
LOGARITHMS = [
    "log(cosh(x))",
    "log(2 * cosh(x))",
    "log((exp(x) + exp(-x)) / 2)",
    "log(exp(-x) + exp(x))",
    "log(1 / (3 + exp(x)))",
    "log(abs(sinh(x)))",
]
SPELLINGS = [
    *BOSE, *PLANCK, *EINSTEIN, *FERMI, *LOGISTIC, *SECH, *TANH, *DOUBLE, *LOGARITHMS,
]  # fmt: skip


def function_of(body: str, names: dict[str, Any]) -> Callable[[Any], Any]:
    found: Callable[[Any], Any] = eval(f"lambda x: {body}", dict(names))
    return found


def truth(body: str, points: Array) -> tuple[Array, Array]:
    """Return value and derivative, rounded once to double precision."""
    with mpmath.workprec(2600):
        limit = mpmath.mpf(10) ** 310

        def exp(x: Any) -> Any:
            # the exponential of an exponential has no number
            return mpmath.exp(max(min(x, limit), -limit))

        names = {
            **{name: getattr(mpmath, name) for name in ("log", "log1p", "sinh", "cosh", "tanh")},
            "exp": exp,
            "expm1": lambda x: exp(x) - 1,
        }
        function, found = function_of(body, names), []
        for point in points:
            x = mpmath.mpf(float(point))
            step = abs(x) * mpmath.mpf(2) ** -220
            slope = (function(x + step) - function(x - step)) / (2 * step)
            found.append((float(function(x)), float(slope)))
    return np.array(found).T[0], np.array(found).T[1]


def points_of(body: str, points: Array) -> Array:
    """Return the points where the truth can be computed: one exponential inside another cannot."""
    nested = body in DOUBLE
    return points[np.abs(points) < (100 if nested else 1e301)]


@pytest.mark.parametrize("body", SPELLINGS)
def test_double_precision(body: str) -> None:
    points = points_of(body, POINTS)
    wanted = truth(body, points)
    value, slope = gradc.jvp(function_of(body, NUMPY), (points,), (np.ones_like(points),))
    whole = gradc.compile(gradc.grad(lambda x: np.sum(function_of(body, NUMPY)(x))))
    backward = whole(points)
    # near 0 forward derivatives by x of what is expanded there have a second variable, the tangent
    far = (np.abs(points) > 0.1) | (body not in EINSTEIN)
    for found, expected, there in (
        (value, wanted[0], far | True),
        (slope, wanted[1], far),
        (backward, wanted[1], far | True),
    ):
        errors = bits_between(np.asarray(found), expected)[there & np.isfinite(expected)]
        assert errors.mean() < BITS / 2
    normal = (np.abs(wanted[0]) > 1e-305) & np.isfinite(wanted[0])
    assert bits_between(np.asarray(value), wanted[0])[normal].max() < BITS + 2


@pytest.mark.parametrize("body", SPELLINGS)
def test_single_precision_and_scalars(body: str) -> None:
    points = points_of(body, SINGLE)
    value, slope = truth(body, points)
    kernel = gradc.compile(gradc.value_and_grad(function_of(body, NUMPY)))
    with np.errstate(over="ignore"):
        wanted = value.astype(np.float32), slope.astype(np.float32)
    for i, point in enumerate(points):
        for found, expected in zip(kernel(point), wanted):
            assert np.asarray(found).dtype == np.float32
            if 1e-35 < abs(expected[i]) < 1e35:
                error = abs(float(found) - float(expected[i])) / abs(float(expected[i]))
                assert error < 2e-6, (body, point)
