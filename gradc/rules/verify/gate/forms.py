"""Exact values that one form of a function has digits for, and another has not."""

from __future__ import annotations

import numpy as np

from gradc.rules.verify.balls import Ball, digits
from gradc.rules.verify.gate.exact import Exact, RealFunction
from gradc.rules.verify.gate.limits import HUGE
from gradc_ir.core.types import Array

# In place of huge numbers stand such as are no larger than this as exponents of two, and so far
# are equal numbers apart: constants of new forms are rounded.
_MODERATE = 24.0
_EQUAL_ULPS = 2.0**7
_DIGITS = 60


def exact_by_new_form(naive: RealFunction, new: RealFunction, point: Array) -> list[Exact | None]:
    """Return the exact results of a new form where the digits of the naive one do not suffice.

    That is for huge numbers: in their place stand such as can be computed with, and only if the two
    forms agree in all digits there is the new one asked. None where it is not.
    """
    size = np.abs(point.astype(np.float64))
    found: list[Exact | None] = []
    if not np.isfinite(size).all():
        return found
    for least in HUGE:
        if (size > least).any():
            more = _by_smaller(naive, new, point, size > least)
            found = [one or two for one, two in zip(found, more)] or more
            if found and None not in found:
                break
    return found


def _by_smaller(
    naive: RealFunction, new: RealFunction, point: Array, huge: Array
) -> list[Exact | None]:
    size = np.abs(point.astype(np.float64))
    logs = np.log2(np.where(huge, size, 2))
    smaller = np.sign(point) * np.where(logs > _MODERATE, _MODERATE - _MODERATE / logs, logs)
    near = np.stack([np.where(huge, smaller * scale, point) for scale in (0.125, 0.5, 1)], axis=1)
    at = new.values(point[:, np.newaxis])
    ones, others = naive.values(near), new.values(near)
    if not at or not ones or not others:
        return []
    close = _EQUAL_ULPS * float(np.finfo(point.dtype).eps)
    return [
        here if all(_same(*pair, here, close) for pair in zip(one, two)) else None
        for (here,), one, two in zip(at, ones, others, strict=True)
    ]


def _same(one: Exact | None, other: Exact | None, here: Exact | None, close: float) -> bool:
    """Whether two forms agree, and where they have no number, none is asked for."""
    if one is None or other is None or here is None:
        return False
    if not one.is_real or not other.is_real:
        return one.is_real == other.is_real == here.is_real
    with digits(_DIGITS):
        off = abs(one.ball - other.ball)
        return bool(off <= close * abs(one.ball) + Ball(2.0**-1074))
