"""Angles beside pi / 4 and pi / 2, as maps and their inverses have them, over all numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import gradc
from gradc_ir.meaning.ulp_distance import bits_between

NAMES = ("tan", "log", "exp", "sqrt", "sin", "cos")
NUMPY: dict[str, Any] = {name: getattr(np, name) for name in NAMES} | {
    "atan": np.arctan, "asin": np.arcsin, "acos": np.arccos, "pi": np.pi,
}  # fmt: skip
SMALL = (1e-300, 1e-160, 1e-30, 1e-9, 1e-3, 0.4)
PROPER = (*SMALL, 0.75, 0.999)
LARGE = (*SMALL, 1.2, 30.0, 1e6, 1e22, 1e150, 1e300)

# a body of x, and sizes of x
SPELLINGS: list[tuple[str, tuple[float, ...]]] = [
    ("log(tan(pi / 4 + x / 2))", PROPER),
    ("log(tan(0.5 * x + 0.25 * pi))", PROPER),
    ("log(tan(0.5 * (pi / 2 + x)))", PROPER),
    ("-log(tan((pi / 2 - x) / 2))", PROPER),
    ("3 * log(1 / tan(pi / 4 - 0.5 * x))", PROPER),
    ("tan(pi / 4 - x)", LARGE),
    ("tan(x + pi / 4)", LARGE),
    ("2 * atan(exp(x)) - pi / 2", LARGE),
    ("2 * (atan(exp(x)) - pi / 4)", LARGE),
    ("pi / 2 - 2 * atan(exp(-x))", LARGE),
    ("pi / 2 - acos(x)", PROPER),
    ("acos(x) - pi / 2", PROPER),
    ("pi / 2 - atan(1 / x)", LARGE),
    ("acos(1 - x)", PROPER[2:]),
    ("asin(1 - x)", PROPER[2:]),
    ("asin(sqrt((1 - x * x) / (1 + x * x)))", PROPER[2:-1]),
    ("acos((1 - x) / (1 + x))", PROPER[2:]),
]


def function_of(body: str, names: dict[str, Any]) -> Callable[[Any], Any]:
    made: Callable[[Any], Any] = eval(f"lambda x: {body}", dict(names))
    return made


def truth(body: str, points: Any) -> tuple[Any, Any]:
    """Return value and derivative, rounded once."""
    with mpmath.workprec(2600):
        names: dict[str, Any] = {name: getattr(mpmath, name) for name in (*NAMES, "atan", "asin")}
        names |= {"acos": mpmath.acos, "pi": mpmath.pi, "exp": _exponential}
        function, found = function_of(body, names), []
        for point in points:
            x = mpmath.mpf(float(point))
            step = min(abs(x), 1) * mpmath.mpf(2) ** -220
            slope = (function(x + step) - function(x - step)) / (2 * step)
            found.append((float(function(x)), float(slope)))
    return np.array(found).T[0], np.array(found).T[1]


def _exponential(x: Any) -> Any:
    limit = mpmath.mpf(10) ** 9
    return mpmath.exp(max(min(x, limit), -limit))


@pytest.mark.parametrize(("body", "sizes"), SPELLINGS)
def test_spellings(body: str, sizes: tuple[float, ...]) -> None:
    signs = (1, -1) if sizes[0] == SMALL[0] else (1,)
    points = np.array([sign * size for size in sizes for sign in signs])
    wanted = truth(body, points)
    function = function_of(body, NUMPY)
    value, slope = gradc.jvp(function, (points,), (np.ones_like(points),))
    backward = gradc.compile(gradc.grad(lambda x: np.sum(function(x))))(points)
    pairs = [(value, wanted[0]), (slope, wanted[1]), (backward, wanted[1])]
    # the arcsine of what is next to 1 has the rounding of that
    for found, expected in pairs[body.startswith("asin") :]:
        errors = bits_between(np.asarray(found), expected)
        assert errors.mean() < 1.5, dict(zip(points, errors))
        assert errors.max() < 6, dict(zip(points, errors))
