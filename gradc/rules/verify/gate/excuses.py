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
    number of the dtype. ``was_lost`` tells whether it is part of a naive derivative that has no
    digit of the true one, or whose value has none. ``is_from_side`` tells whether
    the new number is the limit from the sides of the signs of zero operands, ``is_kink`` whether
    the real number jumps to its opposite at a zero operand, ``is_outside`` whether there is no real
    value at the point nor around it, ``is_rounded`` whether the new number is the real one up to
    roundings of the partials that the naive form sums, ``is_chance`` whether the naive form is as
    far off at the next float of an operand.
    """

    what: str
    point: Mapping[str, float]
    naive: float
    new: float
    truth: float | None
    values: tuple[float, float]
    tiny: float
    was_lost: bool
    is_from_side: Callable[[], bool]
    is_kink: Callable[[], bool]
    is_outside: Callable[[], bool]
    is_rounded: Callable[[], bool]
    is_chance: Callable[[], bool]

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
    if not (abs(right) < one.tiny and abs(one.new) < one.tiny):
        return False
    return bool(np.signbit(one.new) == np.signbit(right))


def _are_nan(one: Instance) -> bool:
    return all(map(np.isnan, one.values))


def _is_outside(one: Instance) -> bool:
    is_none = bool(np.isnan(one.values[1])) and bool(np.isnan(one.new))
    # of infinities there are values, such as (-inf)**1.5, where there are none of numbers
    is_far = one.is_slope and not np.isfinite(list(one.point.values())).all()
    return (is_none or is_far) and one.is_outside()


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
        "rounded partials",
        "a derivative that is a sum of partials may be off by roundings of the largest of them",
        "partials that cancel leave their roundings, in any form; a form that has rounded both "
        "alike is exact at this point, and at the next one it is not",
        lambda one: one.is_slope and one.truth is not None and one.is_rounded(),
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
        "where the value of both forms is nan, their derivatives may differ",
        "there is no derivative, and the value tells: at nan, a form that has become x has slope 1",
        lambda one: one.is_slope and _are_nan(one),
    ),
    Excuse(
        "lost slope",
        "behind naive differentiation, where value or derivative have no digit of the true ones, "
        "the derivative with new parts may be infinite or nan",
        "the other parts of it are as lost as before: log1p(x) * x / ((1 + x) - 1) divides by 0 "
        "where 1 + x is 1, and so does its derivative; differentiated behind the rule it is right",
        lambda one: one.is_slope and one.was_lost and not np.isfinite(one.new),
    ),
    Excuse(
        "outside of the domain",
        "where there is no real value all around a point, the new form may be nan; at "
        "infinities a derivative may be any number there",
        "a naive form may round to the border: log1p(-exp(1e-17)) is -inf, as the exponential is 1",
        _is_outside,
    ),
    Excuse(
        "chance",
        "a number may be as far off as the naive one is at the next float of an operand",
        "what has over- or underflowed on the way is right at a single point by chance",
        lambda one: one.truth is not None and one.is_chance(),
    ),
)


def excuse(one: Instance) -> Excuse | None:
    """Return the exception that covers a number, None without one."""
    return next((each for each in EXCUSES if each.covers(one)), None)
