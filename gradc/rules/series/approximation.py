"""Which polynomial stands for a function near a point, and from where on the closed form is good.

Both are measured: the closed form as a kernel computes it and the polynomial, each against the
function in many digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gradc.rules.series import precise
from gradc.rules.series.orders import Growth
from gradc.rules.series.polynomial import BITS, Polynomial, fit
from gradc.rules.series.precise import Context, Precise
from gradc.rules.series.region import Point, Region
from gradc_ir.reduction import Array
from gradc_ir.types import DType

_EXPONENTS = (-24, -16, -12, -9, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3)
_PLACES = (1.0, 1.37)  # of the points that are measured, in units of the radius
_GOOD = 1.0  # bits of error that a few roundings make
_SLACK = 0.5
_MOST_TERMS = 20
# Two more places near the point, and digits for what cancels there.
_NEAR, _DEEP, _DEEP_BITS = -60, -1000, 8000


@dataclass(frozen=True)
class Approximation:
    """``h ** order * polynomial`` near a point, on both sides or on the right."""

    point: Point
    order: float
    both_sides: bool
    polynomial: Polynomial


class Search:
    """The search for the approximation of one step of a region."""

    def __init__(self, region: Region, root: int, growth: Growth) -> None:
        self.region = region
        self.root = root
        self.point = region.point
        self.growth = growth
        self._errors: dict[int, float] = {}
        self._cone = region.cone(root)

    def run(self) -> Approximation | None:
        """Return the best approximation; None when none is better than the closed form."""
        if not self.is_one_function:
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
                made = Approximation(self.point, self.growth.order, self.growth.both_sides, found)
                return made if self._is_better(made) else None
        return None

    @property
    def is_one_function(self) -> bool:
        """Whether conditions leave it the same function all the way to the point, and there."""
        names = {self.region.steps[at].name for at in self._cone}
        if "select" not in names:
            return True
        if not names.isdisjoint(precise.SLOW):
            return False
        c = precise.context(_DEEP_BITS)
        near, deep = (self._quotient(c.ldexp(1, one), c) for one in (_NEAR, _DEEP))
        if near is None or deep is None or abs(near - deep) > c.ldexp(abs(near), _NEAR // 2):
            return False
        if self.point.is_infinite or not self.growth.both_sides:
            return True
        here = self._value(c.mpf(self.point.at), c)
        limit = near if self.growth.order == 0 else c.mpf(0)
        return (
            here is None
            or self.growth.order < 0
            or bool(abs(here - limit) <= c.ldexp(1, _NEAR // 2))
        )

    # -- the closed form ---------------------------------------------------------------------------

    def _wanted(self) -> int:
        """Return the exponent of the radius from which on the closed form is as good as it gets."""
        limit = max(_GOOD, 0.3 + min(self._error(exponent) for exponent in _EXPONENTS[-3::2]))
        low, high = 0, len(_EXPONENTS) - 1
        while low < high:
            middle = (low + high) // 2
            if self._error(_EXPONENTS[middle]) <= limit:
                high = middle
            else:
                low = middle + 1
        return _EXPONENTS[low]

    def _error(self, exponent: int) -> float:
        found = self._errors.get(exponent)
        if found is None:
            variable = self._floats(2.0**exponent, _PLACES)
            made = self.region.floats(variable)[self.root]
            found = self._errors[exponent] = self._bits(variable, made)
        return found

    def _floats(self, radius: float, places: tuple[float, ...]) -> Array:
        h = [place * radius for place in places]
        if self.growth.both_sides:
            h += [-one for one in h]
        return self.point.floats(np.array(h)).astype(self._dtype)

    @property
    def _dtype(self) -> np.dtype[np.generic]:
        return self.region.variable.type.dtype.numpy

    @property
    def _digits(self) -> int:
        return 57 if self.region.variable.type.dtype is DType.F64 else 28

    def _bits(self, variable: Array, made: Array) -> float:
        """Return the mean error of what was computed at values of the variable, in bits."""
        total = 0.0
        for at, result in zip(variable, made):
            truth = self._truth(float(at))
            if truth is None or math.isinf(truth):
                continue
            unit = float(np.spacing(self._dtype.type(abs(truth))))
            distance = abs(float(result) - truth) / unit
            total += math.log2(1 + distance) if math.isfinite(distance) else 64
        return total / len(variable)

    def _truth(self, variable: float) -> float | None:
        found = self._value(precise.context(BITS).mpf(variable))
        return None if found is None else float(found)

    def _value(self, variable: Precise, c: Context | None = None) -> Precise | None:
        c = c or precise.context(BITS)
        return self.region.evaluate(c, variable, self._cone)[self.root]

    # -- the polynomial ----------------------------------------------------------------------------

    def _quotient(self, h: Precise, c: Context | None = None) -> Precise | None:
        c = c or precise.context(BITS)
        found = self._value(self.point.variable(c, h), c)
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
        radius = made.polynomial.radius
        variable = self._floats(radius, (0.4, 0.95))
        closed = self._bits(variable, self.region.floats(variable)[self.root])
        # where it starts, the closed form may still be as good
        return self._bits(variable, evaluate(made, variable)) < max(closed, _GOOD) + _SLACK


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
