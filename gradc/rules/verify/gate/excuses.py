"""What a new form may do at special values that the naive one does not: the one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Instance:
    """A number of a new form that is neither the naive one nor nearer to a real number.

    ``values`` are what the two forms have for the value where ``what`` is a derivative of it.
    ``truth`` is the exact value rounded, None where there is none. ``tiny`` is the smallest normal
    number of the dtype. ``is_from_side`` tells whether
    the new number is the limit from the sides of the signs of zero operands, ``is_kink`` whether
    the real number jumps to its opposite at a zero operand, ``is_outside`` whether there is no real
    value at the point nor around it.
    """

    what: str
    point: Mapping[str, float]
    naive: float
    new: float
    truth: float | None
    values: tuple[float, float]
    tiny: float
    is_from_side: Callable[[], bool]
    is_kink: Callable[[], bool]
    is_outside: Callable[[], bool]

    @property
    def is_slope(self) -> bool:
        """Whether it is a derivative."""
        return self.what.startswith("d/")


@dataclass(frozen=True)
class Excuse:
    """A documented exception: what may differ, why, and which numbers it excuses."""

    name: str
    what: str
    reason: str
    covers: Callable[[Instance], bool]


def _has_zero(one: Instance) -> bool:
    return any(x == 0 for x in one.point.values())


def _is_tiny(one: Instance) -> bool:
    return one.truth is not None and abs(one.truth) < one.tiny


def _underflows(one: Instance) -> bool:
    right = one.naive if one.truth is None else one.truth
    if not max(abs(right), abs(one.new)) < one.tiny:
        return False
    return bool(np.signbit(one.new) == np.signbit(right))


def _are_nan(one: Instance) -> bool:
    return all(map(np.isnan, one.values))


def _is_at_nan(one: Instance) -> bool:
    """Whether an operand is nan, and the derivative is by it, or nan in the naive form."""
    has_nan = any(map(np.isnan, one.point.values()))
    return has_nan and bool(np.isnan([one.naive, one.point.get(one.what[3:], 0.0)]).any())


def _is_nan_outside(one: Instance) -> bool:
    return bool(np.isnan(one.values[1])) and one.is_outside()


EXCUSES = (
    Excuse(
        "underflow",
        "below the smallest normal number, a result may be any such of the right sign",
        "subnormal numbers have few digits or none, whatever the form",
        _underflows,
    ),
    Excuse(
        "zero slope",
        "a derivative that is zero may have either sign",
        "it is a sum of partials, and the zeros among them have both signs in any form; a tiny one "
        "is zero, too",
        lambda one: one.is_slope and one.new == 0 and (one.naive == 0 or _is_tiny(one)),
    ),
    Excuse(
        "side of a zero",
        "at an operand that is a zero, the new form may have the limit from the side of its sign",
        "-0 stands for what is below zero: log1p(-0) is -0 where log(1 + -0) is 0",
        lambda one: _has_zero(one) and not np.isnan(one.new) and one.is_from_side(),
    ),
    Excuse(
        "kink",
        "where a derivative jumps to its opposite and the naive one is nan, the new one may be 0",
        "it is the convention for abs at 0, and the mean of both sides",
        lambda one: one.is_slope and one.new == 0 and np.isnan(one.naive) and one.is_kink(),
    ),
    Excuse(
        "slope of nan",
        "where both values are nan, or the new one is and may be, their derivatives may differ",
        "there is no derivative, and the value tells: at nan, a form that has become x has slope 1",
        lambda one: one.is_slope and (_are_nan(one) or _is_nan_outside(one)),
    ),
    Excuse(
        "slope at nan",
        "at an operand that is nan, where the value is a number, a derivative by it may differ, "
        "and one that is nan in the naive form may be a number",
        "nan**0 is 1, as any number's is: there is no derivative by nan, and the others are right",
        lambda one: one.is_slope and not np.isnan(one.values).any() and _is_at_nan(one),
    ),
    Excuse(
        "outside of the domain",
        "where there is no real value all around a point, the new form may be nan",
        "a naive form may round to the border: log1p(-exp(1e-17)) is -inf, as the exponential is 1",
        lambda one: bool(np.isnan(one.new)) and _is_nan_outside(one),
    ),
)


def excuse(one: Instance) -> Excuse | None:
    """Return the exception that covers a number, None without one."""
    return next((each for each in EXCUSES if each.covers(one)), None)
