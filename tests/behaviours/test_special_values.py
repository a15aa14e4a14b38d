"""Special values: what NumPy gives at zeros, infinities, nan and the ends of the range stands.

A function, points, and what is wanted at each: NumPy's number, unless another one stands beside the
point: it is nearer to the real number, or it is the one limit there is. Every row goes through all
doors: compiled for a number and for an array, interpreted, pulled back, in a scan, in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import gradc
from gradc.pipeline import derive
from gradc.requests.request import Request
from gradc.runtime.executable import Executable
from gradc.tracing import trace
from gradc_ir.core.types import Type, dtype_of
from gradc_ir.interpreter.interpret import interpret

INF, NAN = float("inf"), float("nan")
TINY, HUGE = 5e-324, 1e300
Function = Callable[..., Any]
# a point, and what is wanted where it is not what NumPy gives
Point = tuple[float, ...] | tuple[tuple[float, ...], float]


def steps(x):
    w = np.where(x != 0, 1 / x, 1.0)
    return (1 / x - 1 / w) - w


def twice_the_size(q):
    return np.where(q < 0, -q, q) * 2


def largest_less(x, y, z):
    lse = np.logaddexp(z, 0.0)
    return (x - lse) - (y - lse)


CASES: dict[str, tuple[Function, list[Point]]] = {
    "log(1 / x)": (lambda x: np.log(1 / x), [(1.0,), (INF,), (0.0,), (-1.0,), (NAN,)]),
    "log(1 / x**3)": (lambda x: np.log(1 / x**3), [(1.0,), (INF,), (0.0,), (-1.0,), (NAN,)]),
    "log(x**y)": (lambda x, y: np.log(x**y),
        [(1.0, -1.0), (1.0, -0.0), (INF, 0.0), (NAN, 0.0), (0.0, 0.0), (1.0, INF), (1.0, NAN),
         (-1.0, 2.0), (-1.0, 0.5), (0.0, -1.0), (NAN, 1.0)]),
    # poles have the sign of the difference that is written, which is no zero below 0
    "x / (1 - (x + 1)**-y)": (lambda x, y: x / (1 - (x + 1) ** -y),
        [(-2.0, -10.0), (-2.0, 0.0), (-709.0, -0.0), (2.5, 0.0), (-INF, 0.5), (0.5, 3.0)]),
    # beside a pole, where one side is another function, the pole stands
    "max(x / (x * y), y)": (lambda x, y: np.maximum(x / (x * y), y),
        [(1.0, 0.0), (1.0, -0.0), (0.0, 0.0), (0.0, -2.0), (-1.0, 0.0), (2.0, -1e-9), (NAN, 0.0)]),
    "min(1 / x, expm1(x) / x)": (lambda x: np.minimum(1 / x, np.expm1(x) / x),
        [(-0.0,), (1e-9,), (-1e-9,), (NAN,)]),
    "log1mexp of log1mexp": (lambda x: np.log1p(-np.exp(np.log1p(-np.exp(x)))),
        [(1.0,), (NAN,), (INF,), (-1.0,)]),
    "log(exp(x) - exp(y))": (lambda x, y: np.log(np.exp(x) - np.exp(y)),
        [(1.0, 1.0), (0.0, 1.0), (NAN, 0.0), (0.0, -INF), (2.0, -0.0)]),
    "(x - lse) - (y - lse)": (largest_less,
        [(1.0, 1.0, NAN), (1.0, 2.0, INF), (1.0, 1.0, 1.0), (1.0, 2.0, NAN), (NAN, 1.0, 1.0)]),
    "log(a * exp(x) + b * exp(y))": (lambda a, x, b, y: np.log(a * np.exp(x) + b * np.exp(y)),
        [((0.0, 2e3, 1.0, 1.0), 1.0), ((0.0, 2e3, -1.0, 1.0), NAN), (INF, 1.0, 1.0, 1.0),
         ((INF, -2.0, 1.0, 2e3), INF), (0.0, INF, 1.0, 1.0), (0.0, 1.0, 0.0, 1.0),
         (NAN, 1.0, 1.0, 1.0), (0.0, NAN, 1.0, 1.0), (1.0, 2.0, 3.0, 4.0),
         ((1e300, -700.0, 1e-300, 700.0), 9.224472111507618),
         ((1e-310, 720.0, 1.0, 3.0), 6.2386285435968335)]),
    "log(t * exp(x) + (1 - t) * exp(y))": (
        lambda t, x, y: np.log(t * np.exp(x) + (1 - t) * np.exp(y)),
        [(2.2250738585072014e-308, -1.5, -2e3), ((0.0, 1.0, -2e3), -2e3),
         (1.0, 1.0, -2e3), (0.5, 1.0, 2.0), (0.0, 1.0, 2.0),
         ((1e-309, 1e10, -1e10), 9999999288.501205), (-1e-309, 1e10, -1e10),
         (-1e-300, 1e4, 0.0), (1.5, -1e10, 1e10)]),
    "x / hypot(x, y)": (lambda x, y: x / np.hypot(x, y),
        [((INF, 1.0), 1.0), ((-INF, 1.0), -1.0), (1.0, -INF), (INF, INF), (NAN, INF), (INF, NAN)]),
    "where(x != 0, x / x, 1) * 3": (lambda x: np.where(x != 0, x / x, 1.0) * 3,
        [(NAN,), (0.0,), (2.0,)]),
    # the condition is about the quotient as it is: what divides it out of one case alone stays
    # the case is chosen at zero alone, where nothing cancels
    "where(x == 0, x, sqrt(x)) / x": (lambda x: np.where(x == 0, x, np.sqrt(x)) / x,
        [(0.0,), (-0.0,), (4.0,), (-1.0,), (INF,), (NAN,)]),
    "where(q < 0, -q, q) * 2": (lambda x, y: twice_the_size(x / (x * y)),
        [(-INF, -2.0), (INF, -2.0), (0.0, -2.0), (3.0, -2.0)]),
    "log(x * y)": (lambda x, y: np.log(x * y),
        [(0.0, -1.0), (-0.0, 1.0), (-1.0, 0.0), (0.0, 1.0), (-0.0, -1.0), (0.0, INF), (INF, -1.0),
         (-INF, -INF), (NAN, 0.0), (1.0, NAN), (TINY, -HUGE), ((TINY, TINY), -1488.8801438427624)]),
    "log2(x * y)": (lambda x, y: np.log2(x * y), [(0.0, -1.0), (-1.0, 0.0), (-0.0, 2.0)]),
    "log10(x * y)": (lambda x, y: np.log10(x * y), [(0.0, -1.0), (-1.0, 0.0), (-0.0, 2.0)]),
    "log(-(x * y))": (lambda x, y: np.log(-(x * y)), [(0.0, 1.0), (0.0, -1.0), (-0.0, 1.0)]),
    "log(x * y / z)": (lambda x, y, z: np.log(x * y / z),
        [(0.0, -1.0, 1.0), (0.0, 1.0, -1.0), (1.0, -1.0, INF), (0.0, 1.0, 0.0)]),
    "x * y / z": (lambda x, y, z: x * y / z,
        [(0.0, -1.0, 1.0), (1.0, -1.0, INF), (1.0, 1.0, -0.0), (0.0, 0.0, 0.0)]),
    "log(sqrt(x) * y)": (lambda x, y: np.log(np.sqrt(x) * y),
        [(0.0, -1.0), (-0.0, 1.0), (-0.0, -1.0), (-1.0, 1.0), (INF, 0.0)]),
    "log(x**3 * y)": (lambda x, y: np.log(x**3 * y),
        [(0.0, -1.0), (-0.0, -1.0), (0.0, 1.0), (-1.0, -1.0), (-1.0, 1.0), (0.0, INF), (NAN, 0.0)]),
    "log(x**4 * y)": (lambda x, y: np.log(x**4 * y), [(0.0, -1.0), (-0.0, -1.0), (2.0, -1.0)]),
    "log(x**3 * exp(y))": (lambda x, y: np.log(x**3 * np.exp(y)),
        [(0.0, 1.0), (-0.0, 1.0), (-1.0, 1.0), (NAN, 1.0)]),
    "sqrt(x + y) - sqrt(x)": (lambda x, y: np.sqrt(x + y) - np.sqrt(x),
        [(0.0, 0.0), (-0.0, 0.0), (0.0, -0.0), (-0.0, -0.0), (1.0, INF), (0.0, INF), (INF, INF),
         (0.0, 1.0), (-1.0, 2.0), (1.0, -2.0), (1.0, NAN), (NAN, 1.0), ((INF, 1.0), 0.0)]),
    "sqrt(x + 1) - 1": (lambda x: np.sqrt(x + 1) - 1, [(INF,), (-1.0,), (-2.0,), (NAN,)]),
    "cbrt(x + y) - cbrt(x)": (lambda x, y: np.cbrt(x + y) - np.cbrt(x),
        [(0.0, 0.0), (-0.0, 0.0), (-0.0, -0.0), (1.0, INF), (1.0, -INF), (INF, INF), (NAN, 0.0),
         ((INF, 1.0), 0.0), ((-INF, 1.0), 0.0)]),
    "sqrt(x * x + y) - x": (lambda x, y: np.sqrt(x * x + y) - x,
        [(1.0, INF), (-1.0, INF), (0.0, 0.0), (NAN, 1.0), (-INF, 1.0)]),
    "sqrt(exp(x) * y)": (lambda x, y: np.sqrt(np.exp(x) * y),
        [(-745.0, -0.5), (-746.0, -0.5), (-740.0, -0.5), (710.0, -1.0), (-INF, INF), (NAN, 0.0),
         (0.0, NAN), (-INF, -1.0), ((710.0, 0.0), 0.0), ((710.0, -0.0), -0.0)]),
    "arccosh(x * y)": (lambda x, y: np.arccosh(x * y),
        [(-1e150, 1e150), (-1e200, 1e200), (0.5, TINY), (-INF, INF), (NAN, 1.0), (1.0, 1.0)]),
    "arccosh(exp(x) * y)": (lambda x, y: np.arccosh(np.exp(x) * y),
        [(710.0, -1.0), (709.0, -1.0), (710.0, -1e-300), ((710.0, 1.0), 710.6931471805599)]),
    "log1p(x) - log1p(y)": (lambda x, y: np.log1p(x) - np.log1p(y),
        [(-2.0, -30.0), (-30.0, -2.0), (-2.0, 1.0), (1.0, -2.0), (-1.0, 1.0), (1.0, -1.0),
         (-1.0, -1.0), (INF, 1.0), (1.0, INF), (INF, INF), (NAN, 1.0), (1.0, NAN), (0.0, 0.0),
         (-0.0, 0.0)]),
    "log(x + 1) - log(x)": (lambda x: np.log(x + 1) - np.log(x),
        [(-3.0,), (-1.5,), (-1.0,), (-0.5,), (-0.0,), (0.0,), (-INF,), (NAN,), ((INF,), 0.0)]),
    "log(x) - log(y)": (lambda x, y: np.log(x) - np.log(y),
        [(1.0, -0.0), (-0.0, 1.0), (0.0, 0.0), (0.0, TINY), (TINY, 0.0), (-1.0, -2.0),
         (INF, 1.0), (1.0, INF), (INF, INF),
         (NAN, 0.0), (0.0, NAN)]),
    "x**.3 / y": (lambda x, y: x**0.3 / y,
        [(0.0, 0.0), (-0.0, 0.0), (0.0, -0.0), (0.0, 1.0), (1.0, -0.0), (INF, INF), (-1.0, 0.0)]),
    "y / x**.3": (lambda x, y: y / x**0.3,
        [(0.0, 0.0), (-0.0, 0.0), (0.0, -0.0), (0.0, 1.0), (0.0, -1.0), (INF, INF), (-1.0, 1.0)]),
    "x**-.5 * y": (lambda x, y: x**-0.5 * y, [(-0.0, 1.0), (0.0, 1.0), (0.0, -1.0), (0.0, 0.0)]),
    "(1 / x - 1 / w) - w": (steps, [(0.0,), (-0.0,), (NAN,)]),
    "log(x / y)": (lambda x, y: np.log(x / y),
        [(NAN, 0.0), (0.0, NAN), (INF, 1e200), (INF, 1e-200), (INF, 0.0), (0.0, 0.0), (INF, INF),
         (1.0, INF), (1.0, -INF), (-1.0, -INF), (0.0, -1.0), (-0.0, 1.0), (-0.0, INF), (1.0, -0.0),
         (1.0, 0.0), (-1.0, 1.0), (-1e200, 1e-200), (-1e-200, 1e200), (HUGE, NAN),
         (-1e308, 1.7e308), (0.0, TINY), (-0.0, TINY), (TINY, 0.0), (0.0, -TINY),
         ((1e-200, 1e200), -921.0340371976182)]),
    "1 / sqrt(x * x + y * y)": (lambda x, y: 1 / np.sqrt(x * x + y * y),
        [(NAN, INF), (INF, NAN), (-INF, NAN), (INF, INF), (0.0, 0.0), (NAN, 0.0), (INF, 0.0),
         ((1e200, 0.0), 1e-200), ((1e-200, 0.0), 1e200)]),
    "log(x * x + y * y)": (lambda x, y: np.log(x * x + y * y),
        [(NAN, INF), (INF, 1.0), (0.0, 0.0)]),
    "1 / arccos(cos(x))": (lambda x: 1 / np.arccos(np.cos(x)),
        [(0.0,), (-0.0,), (INF,), (NAN,)]),
    "1 / (x - arctan(x))": (lambda x: 1 / (x - np.arctan(x)),
        [(0.0,), (-0.0,), (INF,), (-INF,)]),
    "sqrt(x * x + 1) - x at infinities": (lambda x: np.sqrt(x * x + 1) - x,
        [(-INF,), (NAN,), ((INF,), 0.0)]),
    "sqrt(x * x + x) - x": (lambda x: np.sqrt(x * x + x) - x,
        [(-INF,), (NAN,), (0.0,), ((INF,), 0.5)]),
    "1 - x / sqrt(1 + x * x)": (lambda x: 1 - x / np.sqrt(1 + x * x),
        [((INF,), 0.0), ((-INF,), 2.0), (NAN,)]),
    "arctan(x + y) - arctan(x)": (lambda x, y: np.arctan(x + y) - np.arctan(x),
        [(2.0, INF), (2.0, -INF), (-2.0, INF), (0.5, INF), (0.0, INF), (INF, 1.0), (INF, INF),
         (INF, -INF), (NAN, 1.0)]),
    "(1 + x)**y": (lambda x, y: (1 + x) ** y,
        [(0.0, INF), (0.0, NAN), (-0.0, -INF), (NAN, 0.0), (-1.0, -1.0), (INF, 0.0)]),
    "t * logaddexp(x / t, y / t)": (lambda x, y, t: t * np.logaddexp(x / t, y / t),
        [(1e20, 1.0, -1.0), (1.0, 1e20, -1.0), (1e20, 1.0, 1.0), (2.0, 2.0, -1.0)]),
    "expm1(y * log1p(x)) / x": (lambda x, y: np.expm1(y * np.log1p(x)) / x,
        [(-2.0, 2.0), (-1.0, 2.0), (-710.5, 40.0), (NAN, 1.0), (0.5, INF)]),
    "x * x - y * y": (lambda x, y: x * x - y * y,
        [(1.0, -1.0), (-1.0, 1.0), (-3.0, -3.0), (2.0, 2.0), (0.0, -0.0), (-0.0, 0.0)]),
    "(x + y)**2 - x**2": (lambda x, y: (x + y) * (x + y) - x * x,
        [(1.0, -2.0), (0.0, -0.0), (-2.0, 4.0)]),
    "cos(x + y) - cos(x)": (lambda x, y: np.cos(x + y) - np.cos(x), [(-0.0, 0.0), (0.0, 0.0)]),
    "x / y - 1": (lambda x, y: x / y - 1, [(-3.0, -3.0), (-0.5, -0.5), (NAN, 1.0)]),
    "1 - x / y": (lambda x, y: 1 - x / y, [(3.0, 3.0), (-3.0, -3.0), (0.0, 0.0)]),
    "a / x - a / y": (lambda a, x, y: a / x - a / y,
        [(-3.0, 0.5, 0.5), (-0.0, 2.0, 2.0), (TINY, 1e-310, 2.0), (TINY, 0.0, TINY)]),
    "1 / (x * x) - 1 / (y * y)": (lambda x, y: 1 / (x * x) - 1 / (y * y),
        [(-0.5, 0.5), (-2.0, 2.0), (0.0, 1.0)]),
    "log(x / y) of other signs": (lambda x, y: np.log(x / y),
        [(0.75, -1.7e308), (710.5, -INF), (-710.5, INF), (1.0, -2.0), (0.0, -INF)]),
    "log(x + 1) - log(x) of tiny x": (lambda x: np.log(x + 1) - np.log(x),
        [(TINY,), (1e-310,), (1.0,)]),
    "log((y + 1) / y)": (lambda y: np.log((y + 1) / y),
        [(-TINY,), (-1.0,), (-0.5,), (0.0,), ((-INF,), -0.0)]),
    "x**y - 1": (lambda x, y: x**y - 1, [(1.0, -0.0), (NAN, 0.0), (2.0, 0.0), (0.0, -0.0)]),
    "1 - 1 / x**y": (lambda x, y: 1 - 1 / x**y, [(2.0, 0.0), (NAN, 0.0), (1.0, INF)]),
    "(1 + x)**y at 1": (lambda x, y: (1 + x) ** y,
        [(TINY, INF), (-TINY, INF), (TINY, NAN), (0.0, NAN)]),
    "((1 + x)**y - 1) / x": (lambda x, y: ((1 + x) ** y - 1) / x,
        [(-1.5, 0.0), (TINY, NAN), ((0.0, 3.0), 3.0)]),
    "(y + 1)**n - y**n": (lambda y, n: (y + 1) ** n - y**n,
        [(-3.0, -INF), (-1.0, 0.0), (TINY, -TINY), (1.5, 0.0), (-1.0, -1.0)]),
    "mean of powers": (lambda w, x, p, y: (w * x**p + (1 - w) * y**p) ** (1 / p),
        [(-3.0, 2.0, 2.0, 1.0), (0.0, 10.0, -0.5, -0.0), (0.5, NAN, 2.0, 0.0),
         (2.0, 0.5, 2.0, 0.0)]),
    "sqrt(y / (x * x))": (lambda x, y: np.sqrt(y / (x * x)), [(2.0, -TINY), (-2.0, 4.0)]),
    "arccos(1 - x)": (lambda x: np.arccos(1 - x),
        [(-TINY,), (-1e-17,), (-0.0,), (0.0,), (-1e-9,), (2.0,), (3.0,), (NAN,)]),
    "arcsin(sqrt((1 - x) / 2))": (lambda x: np.arcsin(np.sqrt((1 - x) * 0.5)),
        [(-1.0,), (1.0,), (1.5,), (-1.5,), (NAN,)]),
    "arccos(x / hypot(x, y))": (lambda x, y: np.arccos(x / np.hypot(x, y)),
        [(0.0, 0.0), (-0.0, 0.0), (INF, INF), (-INF, INF), ((INF, 1.0), 0.0), (1.0, INF),
         (NAN, 1.0), (1.0, -0.0)]),
    "a / cosh(x) * (b * sinh(x))": (lambda a, x, b: a / np.cosh(x) * (b * np.sinh(x)),
        [(1.0, 0.0, 2.0), (1.0, -0.0, 2.0), (2.0, TINY, INF), (1.0, NAN, 1.0),
         ((3.0, INF, 2.0), 6.0), ((3.0, 800.0, 2.0), 6.0)]),
    "a / exp(x) * exp(x)": (lambda a, x: a / np.exp(x) * np.exp(x),
        [(2.0, NAN), (NAN, 1.0), (2.0, 3.0), (-0.0, 1.0), (INF, 1.0)]),
    "a / (p + b * exp(x))": (lambda a, p, b, x: a / (p + b * np.exp(x)),
        [(-1.5, 1.0, -INF, -700.0), (1.0, 1.0, INF, -1.0), (1.0, INF, 1.0, 1.0),
         (1.0, 0.0, 1.0, -700.0), (1.0, 1.0, 0.0, 5.0), ((1.0, 1.0, 1.0, INF), 0.0)]),
    "sinh(x) / (p + cosh(x))": (lambda x, p: np.sinh(x) / (p + np.cosh(x)),
        [(2.0**-54, -2.0), (0.0, 1.0), (-0.0, 1.0), (1.0, INF), (NAN, 1.0),
         ((INF, 1.0), 1.0), ((-INF, 1.0), -1.0)]),
    "exp(x) / (1 + exp(x))": (lambda x: np.exp(x) / (1 + np.exp(x)),
        [(-INF,), (NAN,), ((INF,), 1.0), ((800.0,), 1.0)]),
}  # fmt: skip


class Column(NamedTuple):
    """Points of a case as arrays, what is wanted of them, and what NumPy gives."""

    function: Function
    arrays: list[np.ndarray]
    wanted: np.ndarray
    plain: np.ndarray

    @property
    def as_numpy(self) -> np.ndarray:
        """Where what is wanted is what NumPy gives."""
        return np.asarray(self.wanted == self.plain) | np.isnan(self.wanted)


def column(name: str, dtype: type = np.float64) -> Column:
    """Return the points of a case, those alone of float32 that it has without rounding them off."""
    function, points = CASES[name]
    chosen, other = [], []
    for each in points:
        point, wanted = each if isinstance(each[0], tuple) else (each, None)
        with np.errstate(over="ignore"):
            rounded = [float(dtype(x)) for x in point]
        if all(np.isfinite(x) <= (np.isfinite(y) and (x == 0) == (y == 0))
               for x, y in zip(point, rounded, strict=True)):  # fmt: skip
            chosen.append(point)
            other.append(wanted)
    arrays = [np.array(x, dtype) for x in zip(*chosen, strict=True)]
    with np.errstate(all="ignore"):
        plain = function(*arrays)
    wanted = [x if y is None else dtype(y) for x, y in zip(plain, other, strict=True)]
    return Column(function, arrays, np.array(wanted, dtype), plain)


def assert_same(found: Any, wanted: np.ndarray) -> None:
    """Assert numbers to be near each other, zeros and infinities to have one sign."""
    found = np.asarray(found)
    rounding = 1e-12 if wanted.dtype == np.float64 else 2e-5
    np.testing.assert_allclose(found, wanted, rtol=rounding, atol=0)
    signed = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found)[signed], np.signbit(wanted)[signed])


both = pytest.mark.parametrize(
    "dtype", [np.float64, pytest.param(np.float32, marks=pytest.mark.slow)]
)
every_case = pytest.mark.parametrize("name", CASES)


@both
@every_case
def test_in_arrays(name: str, dtype: type) -> None:
    case = column(name, dtype)
    # other neighbours in each lane
    arrays = [np.tile(x, 9) for x in case.arrays]
    assert_same(gradc.compile(case.function)(*arrays), np.tile(case.wanted, 9))


@every_case
def test_as_numbers(name: str) -> None:
    case = column(name)
    compiled = gradc.compile(case.function)
    found = [compiled(*map(float, point)) for point in zip(*case.arrays, strict=True)]
    assert_same(found, case.wanted)


@every_case
def test_with_a_gradient_beside(name: str) -> None:
    case = column(name)
    found, _ = gradc.vjp(case.function, *case.arrays)
    # a half has less to compute a number of that NumPy has not
    assert_same(np.asarray(found)[case.as_numpy], case.wanted[case.as_numpy])
    places = tuple(range(len(case.arrays)))
    both = gradc.compile(gradc.value_and_grad(case.function, places))
    assert_same([both(*map(float, point))[0] for point in zip(*case.arrays)], case.wanted)


@every_case
def test_in_a_scan(name: str) -> None:
    case = column(name)

    def through(*arrays):
        return gradc.scan(lambda carry, row: (carry + 1.0, case.function(*row)), 0.0, arrays)[1]

    # a body has no formulas to compute a number of that NumPy has not
    found = np.asarray(gradc.compile(through)(*case.arrays))
    assert_same(found[case.as_numpy], case.wanted[case.as_numpy])


def final(case: Column) -> Iterator[Any]:
    types = tuple(Type(dtype_of(x.dtype), x.shape) for x in case.arrays)
    traced = trace(case.function, types).function
    yield derive(traced, Request("value"))
    yield derive(traced, Request("vjp", tuple(range(len(types)))))


@every_case
def test_interpreted(name: str) -> None:
    case = column(name)
    plain, pulled = final(case)
    assert_same(interpret(plain, case.arrays)[0], case.wanted)
    ones = np.ones_like(case.arrays[0])
    with np.errstate(all="ignore"):
        found = interpret(pulled, [*case.arrays, ones])
    assert_same(found[0], case.wanted)


@every_case
def test_compiled_is_as_interpreted(name: str) -> None:
    case = column(name)
    plain, _ = final(case)
    with np.errstate(all="ignore"):
        (wanted,) = interpret(plain, case.arrays)
    found = np.asarray(Executable(plain, False, False)(case.arrays)[0])
    near = np.isfinite(wanted) & (wanted != 0)
    np.testing.assert_array_equal(found[~near], wanted[~near])
    np.testing.assert_allclose(found[near], wanted[near], rtol=1e-14)


# What differs from the plain derivative there is a sign, or a limit.
SLOPES: list[tuple[Function, tuple[float, ...], tuple[float, ...]]] = [
    (lambda x, y: np.log(x * y), (0.0, -1.0), (INF, NAN)),
    (lambda x: np.sqrt(x * x + 1) - x, (-INF,), (-2.0,)),
    (lambda x: np.log(np.sqrt(x)), (-0.0,), (INF,)),
    (lambda x, y: np.log(np.exp(x) - np.exp(y)), (1.0, 1.0), (INF, -INF)),
    (lambda x: np.log(1e-10 + np.exp(x)), (-40.0,), (4.2483540748064576e-08,)),
    (lambda x, y: np.log1p(np.exp(x) + np.exp(y)), (-800.0, -800.0), (0.0, 0.0)),
    (lambda x, y: np.log1p(x) - np.log1p(y), (1.0, 3.0), (0.5, -0.25)),
    (lambda x, y: np.sqrt(x + y) - np.sqrt(x), (0.0, 1.0), (-INF, 0.5)),
    (lambda x, y: np.log(x**3 * np.exp(y)), (NAN, 1.0), (NAN, 1.0)),
    (lambda x, y: np.log(x**3 * np.exp(y)), (2.0, 1.0), (1.5, 1.0)),
    # where a power is small, it has no inverse that is a number
    (lambda x, n: x**n / (x**n - 1), (0.0, 3.0), (0.0, 0.0)),
    (lambda x, n: x**n / (x**n - 1), (-1e-120, 3.0), (-3e-240, NAN)),
    # a root of what no mean is has the slopes that are written
    (
        lambda x, y, w, p: (w * x**p + (1 - w) * y**p) ** (1 / p),
        (-1.0, 0.9, -1.79e308, 3.0),
        (0.0, 0.0, 0.0, NAN),
    ),
    # both sides of a pole say another sign of the slope
    (lambda x: np.sqrt((2 / np.tan(x)) ** 6), (0.0,), (-INF,)),
    (lambda x: np.sqrt((2 / np.tan(x)) ** 6), (-0.0,), (INF,)),
    # the exponent before an even one is odd, though it is no float
    (lambda x, n: x**n, (-1.0, 2.0**53), (-(2.0**53), NAN)),
    (lambda x, n: x**n, (-1.0, -(2.0**60)), (2.0**60, NAN)),
    (lambda x, n: x**n, (-2.0, 3.0), (12.0, NAN)),
]


@pytest.mark.parametrize("number", range(len(SLOPES)))
def test_slopes(number: int) -> None:
    function, point, wanted = SLOPES[number]
    found = gradc.compile(gradc.grad(function, tuple(range(len(point)))))(*point)
    np.testing.assert_allclose(found, wanted)


def test_products_begin_with_the_initial_number() -> None:
    rows = np.array([[1e200, 1e200, 1.0], [INF, 2.0, 3.0], [1e-200, 1e-200, 1e300]])
    for initial in (1e-200, -0.0, 1e300):
        for axis in (0, 1):
            product = gradc.compile(lambda x, i=initial, a=axis: np.prod(x, axis=a, initial=i))
            with np.errstate(all="ignore"):
                np.testing.assert_array_equal(
                    product(rows), np.prod(rows, axis=axis, initial=initial)
                )


def test_logarithms_to_base_two_keep_the_larger_operand() -> None:
    sum_of_powers = gradc.compile(np.logaddexp2)
    assert list(sum_of_powers([-1.0, 1000.0, 1.7e308], [-1.0, -1.0, 0.0])) == [0.0, 1000.0, 1.7e308]
    curvature = gradc.compile(gradc.grad(gradc.grad(np.logaddexp2)))
    np.testing.assert_allclose(curvature(-1.0, -1.0), np.log(2) / 4)


def test_functions_of_scipy() -> None:
    special = pytest.importorskip("scipy.special")
    # a difference is never -0, nor has its root a slope of -inf
    root = gradc.value_and_grad(lambda x: np.sqrt(1 - special.erfc(x)))
    assert list(map(float, root(-0.0))) == [0.0, INF]
    apart = gradc.compile(lambda x, y: np.log(special.ndtr(x) - special.ndtr(y)))
    with np.errstate(all="ignore"):
        for point in ((1.0, 1.0), (-50.0, -45.0), (-40.0, NAN), (10.0, 40.0), (-1.0, 1.0)):
            plain = np.log(special.ndtr(point[0]) - special.ndtr(point[1]))
            np.testing.assert_array_equal(apart(*point), plain)
        step = gradc.compile(lambda x, y: special.gammaln(x + y) - special.gammaln(x))
        assert step(700.0, INF) == INF
        equal = gradc.compile(lambda x, y: special.ndtr(x) - special.ndtr(y))(2.0, 2.0)
    assert not np.signbit(equal)
    slope = gradc.compile(gradc.grad(lambda x: special.gammaln(x + 1) - special.gammaln(x)))
    assert [slope(0.0), slope(-0.0)] == [INF, -INF]
    far = gradc.compile(gradc.grad(lambda x: np.exp(-x * x) / special.erfc(x)))(1e200)
    np.testing.assert_allclose(far, np.sqrt(np.pi))


def test_a_spread_of_equal_numbers_over_its_square() -> None:
    def precision(x):
        return np.std(x, axis=1) / (np.std(x, axis=1) * np.std(x, axis=1))

    x = np.array([[2.0, 2.0, 2.0], [1.0, 2.0, 6.0]])
    found = gradc.compile(precision)(x)
    assert np.isnan(found[0])
    np.testing.assert_allclose(found[1], 1 / np.std(x[1]))
