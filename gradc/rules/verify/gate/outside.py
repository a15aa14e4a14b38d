"""Points outside of a function's domain: all around them there is no real value."""

from __future__ import annotations

import itertools

import numpy as np

from gradc.rules.verify.balls import Ball, digits, is_nan
from gradc.rules.verify.gate.exact import RealFunction
from gradc_ir.core.types import Array

# How far around a point is looked, zeros beside all else, and what infinities are.
_AROUND = 2.0**-60
_ZERO = 2.0**-1100
_FAR = 2.0**40
_MOST = 6


def is_outside(function: RealFunction, point: Array, result: int) -> bool:
    """Whether a result is surely no real number, at a point and on all sides of it.

    A coordinate that is nan stays.
    """
    if len(point) > _MOST:
        return False
    finite = [abs(float(x)) for x in point if np.isfinite(x)]
    far = Ball(max([1.0, *finite])) * _FAR
    with digits(1000):
        sides = [_sides(float(x), far) for x in point]
        columns = np.array(list(itertools.product(*sides)), dtype=object).T
    found = function.column(result, columns)
    return all(number is not None and is_nan(number.ball) for number in found)


def _sides(x: float, far: object) -> tuple[object, ...]:
    if np.isnan(x):
        return (Ball(x),)
    if np.isinf(x):
        return (far if x > 0 else -far,)  # type: ignore[operator]
    step = Ball(_ZERO) if x == 0 else Ball(abs(x)) * _AROUND
    return (Ball(x) - step, Ball(x) + step)
