"""Which polynomial stands for a function near a point, and from where on the closed form is good.

Both are measured: the closed form as a kernel computes it and the polynomial, each against the
function in many digits.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gradc.rules.series import numbers, precise
from gradc.rules.series.choices import are_equal, comparisons
from gradc.rules.series.orders import Growth
from gradc.rules.series.point import Point
from gradc.rules.series.polynomial import BITS, Polynomial, fit
from gradc.rules.series.precise import Context, Precise
from gradc.rules.series.region import Choices, Region, alone
from gradc_ir.core.graph import Value
from gradc_ir.core.types import Array, DType

_EXPONENTS = (-24, -16, -12, -9, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3)
_PLACES = (1.0, 1.37)  # of the points that are measured, in units of the radius
_GOOD = 1.0  # bits of error that a few roundings make
_SLACK = 0.5
_MOST_TERMS = 20
# Places on the way to the point, and digits for what cancels there.
_INWARDS = (*range(-24, -61, -3), -200, -1000)
_NEAR_BITS, _DEEP_BITS = 1600, 8000
_FAR = 2.0**-100  # beside an infinity, for any dtype
# What may choose another operand at the point than beside it: at a pole, the pole.
_CHOOSING = frozenset({"select", "maximum", "minimum"})


@dataclass(frozen=True)
class Approximation:
    """``h ** order * polynomial`` near a point, on both sides or on the right.

    ``is_open``: the point itself is left to what stood there; so are all numbers for which one of
    the conditions is not as it is said. ``is_plus_zero``: at the point the function is 0, on both
    sides of it, though the product may be -0.
    """

    point: Point
    order: float
    both_sides: bool
    polynomial: Polynomial
    is_open: bool = False
    conditions: tuple[tuple[Value, bool], ...] = ()
    is_plus_zero: bool = False


class Search:
    """The search for the approximation of one step of a region."""

    def __init__(self, region: Region, root: int, growth: Growth) -> None:
        self.region = region
        self.root = root
        self.point = region.point
        self.growth = growth
        self._errors: dict[int, float] = {}
        self._truths: dict[float, float | None] = {}
        self._cone = region.cone(root)

    def run(self) -> Approximation | None:
        """Return the best approximation; None when none is better than the closed form."""
        conditions = self.conditions
        if conditions is None:
            return None
        wanted = self._wanted()
        for exponent in reversed([one for one in _EXPONENTS if one <= wanted]):
            found = fit(
                self._quotient,
                2.0**exponent,
                is_even=self._is_even,
                digits=self._digits,
                both_sides=self.growth.both_sides,
                loss=min(self._error(exponent - 1), self._error(exponent)) - 1,
            )
            if found is not None and len(found.coefficients) <= _MOST_TERMS:
                made = Approximation(
                    self.point,
                    self.growth.order,
                    self.growth.both_sides,
                    found,
                    self.is_open,
                    conditions,
                    self.is_plus_zero,
                )
                return made if self._is_better(made) else None
        return None

    @cached_property
    def conditions(self) -> tuple[tuple[Value, bool], ...] | None:
        """What must hold for it to be the same function on the way to the point as further off.

        None where it is not known.
        """
        names = {self.region.steps[at].name for at in self._cone}
        if "select" not in names:
            return ()
        if not names.isdisjoint(precise.SLOW):
            return None
        found: Choices = {}
        for side in (1, -1) if self.growth.both_sides else (1,):
            changing = self._changing(side)
            if any(found.get(at, holds) != holds for at, holds in changing.items()):
                return None  # another condition on the other side
            found |= changing
        values = {alone(parts): value for value, parts in self.region.parts.items()}
        if any(holds is None or at not in values for at, holds in found.items()):
            return None
        return tuple((values[at], bool(holds)) for at, holds in found.items())

    def _changing(self, side: int) -> Choices:
        """Return the comparisons that make another function of it nearer to the point."""
        found: Choices = {}
        before: Choices | None = None
        for exponent in _INWARDS:
            c = precise.context(_DEEP_BITS if exponent < _INWARDS[-2] else _NEAR_BITS)
            h = c.ldexp(side, exponent)
            free = self.region.evaluate(c, h, self._cone, is_free=True)
            here = comparisons(self.region, free, self._cone)
            if before is None:
                before = here | self.region.chosen.get(side, {})
            changed = [at for at in here if here[at] != before[at]]
            further_off = self._under(before, h, c) if changed else None
            made, value = {}, numbers.made(c, free[self.root])
            for at in changed:
                if are_equal(self.region, value, further_off):
                    break
                # what others compare may depend on it
                made[at] = before[at]
                value = self._under(found | made, h, c)
            found |= made
        return found

    def _under(self, choices: Choices, h: Precise, c: Context) -> Precise | None:
        chosen = self.region.chosen
        self.region.chosen = {1: choices, -1: choices}
        try:
            return self._value(h, c)
        finally:
            self.region.chosen = chosen

    @cached_property
    def is_open(self) -> bool:
        """Whether what stands at the point itself is not the limit there, or not known to be."""
        if not any(self.region.steps[at].name in _CHOOSING for at in self._cone):
            return False
        if self.point.is_infinite:
            return self._is_chosen_at_infinity
        if not self.growth.both_sides:
            return True
        c = precise.context(_NEAR_BITS)
        there = self.region.evaluate(c, c.zero, self._cone, is_free=True)
        here = numbers.made(c, there[self.root])
        if here is None or self.growth.order < 0:
            # an infinity that a condition chooses is meant
            beside = self.region.evaluate(c, c.ldexp(1, -_NEAR_BITS // 8), self._cone, is_free=True)
            same = comparisons(self.region, there, self._cone)
            return same != comparisons(self.region, beside, self._cone) and not bool(
                np.isnan(self._closed(np.zeros(1)))[0]
            )
        if self.growth.order > 0:
            return bool(abs(here) > 2.0**-48)
        return not are_equal(self.region, here, self._quotient(c.ldexp(1, -_NEAR_BITS // 8), c))

    @property
    def _is_chosen_at_infinity(self) -> bool:
        """Whether a number at an infinity is another choice than those beside it."""
        sides = (1.0, -1.0) if self.growth.both_sides else (1.0,)
        with np.errstate(divide="ignore"):
            there, beside = (
                self.region.floats(np.copysign(h, sides), self._cone) for h in (0.0, _FAR)
            )
        changes = []
        for at in self._cone:
            name, given, _ = self.region.steps[at]
            if name in precise.COMPARISONS:
                changes.append(there[at] != beside[at])
            elif name in ("maximum", "minimum"):
                x, y = given
                changes.append((there[x] < there[y]) != (beside[x] < beside[y]))
        return bool((np.any(changes, axis=0) & ~np.isnan(there[self.root])).any())

    @property
    def is_plus_zero(self) -> bool:
        """Whether the closed form is 0 at the point, and not -0 at -0."""
        if self.point.is_infinite or self.growth.order <= 0 or not self.growth.both_sides:
            return False
        here = self._closed(np.array([0.0, -0.0]))
        return bool((here == 0).all() and not np.signbit(here).any())

    # -- the closed form ---------------------------------------------------------------------------

    def _wanted(self) -> int:
        """Return the exponent of the radius from which on the closed form is as good as it gets."""
        limit = max(_GOOD, 0.3 + min(self._error(exponent) for exponent in _EXPONENTS[-3::2]))
        last = len(_EXPONENTS) - 1
        good = bisect_left(_EXPONENTS, True, hi=last, key=lambda one: self._error(one) <= limit)
        return _EXPONENTS[good]

    def _error(self, exponent: int) -> float:
        found = self._errors.get(exponent)
        if found is None:
            h = self._places(2.0**exponent, _PLACES)
            found = self._errors[exponent] = self._bits(h, self._closed(h))
        return found

    def _closed(self, h: Array) -> Array:
        """Return what a kernel makes of the closed form at local variables."""
        return self.region.floats(h, self._cone)[self.root]

    def _places(self, radius: float, places: tuple[float, ...]) -> Array:
        """Return local variables near which kernels are measured."""
        h = [place * radius for place in places]
        if self.growth.both_sides:
            h += [-one for one in h]
        return np.array(h)

    @property
    def _dtype(self) -> np.dtype[np.generic]:
        return self.region.variable.type.dtype.numpy

    @property
    def _digits(self) -> int:
        return 57 if self.region.variable.type.dtype is DType.F64 else 28

    def _bits(self, h: Array, made: Array) -> float:
        """Return the mean error of what was computed at local variables, in bits."""
        total = 0.0
        variable = self.point.floats(h).astype(self._dtype)
        for at, result in zip(variable, made):
            truth = self._truth(float(at))
            if truth is None or math.isinf(truth):
                continue
            unit = float(np.spacing(self._dtype.type(abs(truth))))
            distance = abs(float(result) - truth) / unit
            total += math.log2(1 + distance) if math.isfinite(distance) else 64
        return total / len(variable)

    def _truth(self, variable: float) -> float | None:
        if variable < 0 and self.point.can_overflow and self._is_even:
            mirrored = self._truth(-variable)
            return mirrored if mirrored is None or self.growth.order % 2 == 0 else -mirrored
        if variable not in self._truths:
            c = precise.context(BITS)
            found = self._value(self.point.local(c, c.mpf(variable)), c)
            self._truths[variable] = None if found is None else float(found)
        return self._truths[variable]

    def _value(self, h: Precise, c: Context) -> Precise | None:
        return self.region.value(c, h, self._cone, self.root)

    # -- the polynomial ----------------------------------------------------------------------------

    def _quotient(self, h: Precise, c: Context | None = None) -> Precise | None:
        c = c or precise.context(BITS)
        found = self._value(h, c)
        if found is None:
            return None
        order = self.growth.order
        return found / (h ** int(order) if order.is_integer() else h ** c.mpf(order))

    @cached_property
    def _is_even(self) -> bool:
        """Whether the quotient by the power is an even function."""
        if not self.growth.both_sides:
            return False
        h = precise.context(BITS).mpf(0.0371)
        right, left = self._quotient(h), self._quotient(-h)
        return right is not None and left is not None and abs(right / left - 1) < 2.0**-100

    def _is_better(self, made: Approximation) -> bool:
        h = self._places(made.polynomial.radius, (0.4, 0.95))
        closed = self._bits(h, self._closed(h))
        # where it starts, the closed form may still be as good
        variable = self.point.floats(h).astype(self._dtype)
        return self._bits(h, evaluate(made, variable)) < max(closed, _GOOD) + _SLACK


def evaluate(made: Approximation, variable: Array) -> Array:
    """Return what a kernel makes of an approximation, at values of the variable."""
    number = variable.dtype.type
    point = made.point
    h = point.side / variable if point.is_infinite else variable - number(point.at)
    h = h if point.is_infinite else number(point.side) * h
    x = h * h if made.polynomial.is_even else h
    total = np.zeros_like(h)
    with np.errstate(all="ignore"):
        for coefficient in reversed(made.polynomial.coefficients):
            total = total * x + number(coefficient)
        return total * h.astype(np.float64) ** made.order
