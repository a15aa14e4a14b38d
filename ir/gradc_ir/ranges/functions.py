"""Ranges of the functions of mathematics, most of which are monotone."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradc_ir.classes.quick import dataclass
from gradc_ir.core.range import INF, Number, Range, make, outward
from gradc_ir.core.types import DType
from gradc_ir.meaning import functions
from gradc_ir.ranges.arithmetic import Rule, absolute, rounded

HALF_PI = math.pi / 2
# Beyond this many turns the distance to a multiple of pi is not told from numbers of 64 bits.
_LARGEST_ANGLE = 1e6


@dataclass(frozen=True)
class Monotone:
    """A monotone function of one number.

    ``domain``: where it is defined; it is nan elsewhere. ``image``: its infimum and supremum, as
    numbers. ``anchor``: a point that it goes through without an error, so that rounding never takes
    it to the other side of that.
    """

    function: Callable[..., Any]
    image: tuple[float, float] = (-INF, INF)
    domain: tuple[float, float] = (-INF, INF)
    anchor: tuple[float, float] | None = (0.0, 0.0)
    rising: bool = True
    exact: bool = False

    def __call__(self, dtype: DType, x: Range) -> Range:
        """Return the range of the function of x."""
        outside = x.low < self.domain[0] or x.high > self.domain[1]
        first, last = max(x.low, self.domain[0]), min(x.high, self.domain[1])
        if first > last:
            return Range(INF, -INF)
        low, high = (rounded(dtype, self.function, end) for end in (first, last))
        if not self.rising:
            low, high = high, low
        if not self.exact:
            low, high = outward(dtype, low, high)
        least, most = _ends(dtype, *self.image)
        low, high = max(low, least), min(high, most)
        low, high = self._anchored(first, last, low, high)
        return make(dtype, low, high, signed=self._is_signed(x), nan=x.nan or outside)

    def _is_signed(self, x: Range) -> bool:
        """Whether it may be -0.0, as x is where both are 0."""
        if self.anchor == (0.0, 0.0):
            return x.signed or x.low < 0
        return self.image[0] < 0 and self.anchor is None

    def _anchored(
        self, first: Number, last: Number, low: Number, high: Number
    ) -> tuple[Number, Number]:
        if self.anchor is None:
            return low, high
        at, result = self.anchor
        if first >= at:
            low, high = (max(low, result), high) if self.rising else (low, min(high, result))
        if last <= at:
            low, high = (low, min(high, result)) if self.rising else (max(low, result), high)
        return low, high


def even(rule: Rule) -> Rule:
    """Return the rule of a function of the absolute value, given that of the absolute value."""
    return lambda dtype, x: rule(dtype, absolute(dtype, x))


def _limits(low: float, high: float) -> Rule:
    """Return the rule of a function of which only the ends of its image are known."""

    def rule(dtype: DType, *operands: Range) -> Range:
        return make(dtype, *_ends(dtype, low, high))

    return rule


def _ends(dtype: DType, low: float, high: float) -> tuple[Number, Number]:
    """Return two ends, moved apart unless each is a number that no dtype rounds."""
    wide = outward(dtype, low, high, ulps=1)
    least, most = (
        end if abs(end) == INF or (4 * end).is_integer() else moved
        for end, moved in zip((low, high), wide)
    )
    return least, most


def sine(dtype: DType, x: Range) -> Range:
    """Return the range of the sine."""
    return _wave(dtype, x, np.sin, HALF_PI)


def cosine(dtype: DType, x: Range) -> Range:
    """Return the range of the cosine."""
    return _wave(dtype, x, np.cos, 0.0)


def _wave(dtype: DType, x: Range, function: Callable[..., Any], peak: float) -> Range:
    """Return the range of a wave that is largest at ``peak`` and smallest half a turn from it."""
    nan = x.nan or x.has_infinity
    if x.magnitude > _LARGEST_ANGLE:
        return make(dtype, -1.0, 1.0, nan=nan)
    ends = [rounded(dtype, function, end) for end in (x.low, x.high)]
    low, high = _ends(dtype, min(ends), max(ends))
    first, last = ((end - peak) / math.pi for end in (x.low, x.high))
    # turns of half a wave from the peak: even ones are peaks, odd ones troughs
    turns = range(math.ceil(first - 1e-9), math.floor(last + 1e-9) + 1)
    if any(turn % 2 == 0 for turn in turns[:2]):
        high = 1.0
    if any(turn % 2 == 1 for turn in turns[:2]):
        low = -1.0
    return make(dtype, max(low, -1.0), min(high, 1.0), nan=nan)


def tangent(dtype: DType, x: Range) -> Range:
    """Return the range of the tangent: monotone between its poles."""
    if x.low > -1.57 and x.high < 1.57:
        return Monotone(np.tan)(dtype, x)
    return make(dtype, -INF, INF, nan=x.nan or x.has_infinity)


def hypotenuse(dtype: DType, x: Range, y: Range) -> Range:
    """Return the range of the hypotenuse."""
    a, b = absolute(dtype, x), absolute(dtype, y)
    low, high = outward(
        dtype, rounded(dtype, np.hypot, a.low, b.low), rounded(dtype, np.hypot, a.high, b.high)
    )
    # of inf and nan it is inf
    high = INF if x.nan or y.nan else high
    return make(dtype, max(low, 0.0), high, signed=False, nan=x.nan or y.nan)


def angle(dtype: DType, y: Range, x: Range) -> Range:
    """Return the range of the angle of the point (y, x)."""
    above = y.low >= 0 and not y.signed
    right = x.low >= 0 and not x.signed
    high = HALF_PI if right else math.pi
    return make(dtype, *_ends(dtype, 0.0 if above else -high, high), nan=x.nan or y.nan)


def log_add_exp(dtype: DType, x: Range, y: Range) -> Range:
    """Return the range of log(exp(x) + exp(y)): monotone in both."""
    low, high = (
        float(functions.logaddexp(*(np.asarray(end, dtype.numpy) for end in ends)))
        for ends in ((x.low, y.low), (x.high, y.high))
    )
    low, high = outward(dtype, low, high)
    # next to its zero the error is that of 1
    slack = 4 * float(np.spacing(dtype.numpy.type(1)))
    return make(dtype, low - slack, high + slack, nan=x.nan or y.nan)


_POSITIVE = (0.0, INF)
_UNIT = (0.0, 1.0)
_SIGNED_UNIT = (-1.0, 1.0)

# fmt: off
BY_OP: dict[str, Rule] = {
    "sqrt": Monotone(np.sqrt, _POSITIVE, _POSITIVE, exact=True),
    "cbrt": Monotone(np.cbrt),
    "exp": Monotone(np.exp, _POSITIVE, anchor=(0.0, 1.0)),
    "exp2": Monotone(np.exp2, _POSITIVE, anchor=(0.0, 1.0)),
    "expm1": Monotone(np.expm1, (-1.0, INF)),
    "log": Monotone(np.log, domain=_POSITIVE, anchor=(1.0, 0.0)),
    "log2": Monotone(np.log2, domain=_POSITIVE, anchor=(1.0, 0.0)),
    "log10": Monotone(np.log10, domain=_POSITIVE, anchor=(1.0, 0.0)),
    "log1p": Monotone(np.log1p, domain=(-1.0, INF)),
    "sinh": Monotone(np.sinh),
    "cosh": even(Monotone(np.cosh, (1.0, INF), anchor=(0.0, 1.0))),
    "tanh": Monotone(np.tanh, _SIGNED_UNIT),
    "arcsinh": Monotone(np.arcsinh),
    "arccosh": Monotone(np.arccosh, _POSITIVE, (1.0, INF), anchor=(1.0, 0.0)),
    "arctanh": Monotone(np.arctanh, domain=_SIGNED_UNIT),
    "sin": sine,
    "cos": cosine,
    "tan": tangent,
    "arcsin": Monotone(np.arcsin, (-HALF_PI, HALF_PI), _SIGNED_UNIT),
    "arccos": Monotone(np.arccos, (0.0, math.pi), _SIGNED_UNIT, anchor=(1.0, 0.0), rising=False),
    "arctan": Monotone(np.arctan, (-HALF_PI, HALF_PI)),
    "arctan2": angle,
    "hypot": hypotenuse,
    "erf": Monotone(math.erf, _SIGNED_UNIT),
    "erfc": Monotone(math.erfc, (0.0, 2.0), anchor=(0.0, 1.0), rising=False),
    "erfcx": _limits(0.0, INF),
    "ndtr": _limits(0.0, 1.0),
    "log_ndtr": _limits(-INF, 0.0),
    "softplus": Monotone(functions.softplus, _POSITIVE, anchor=None),
    "sigmoid": Monotone(functions.sigmoid, _UNIT, anchor=(0.0, 0.5)),
    "sigmoid_derivative": even(
        # its largest, 1/4, is rounded
        Monotone(functions.sigmoid_derivative, (0.0, 0.2501), anchor=None, rising=False)
    ),
    "log1mexp": Monotone(
        functions.log1mexp, (-INF, 0.0), (-INF, 0.0), anchor=None, rising=False
    ),
    "logaddexp": log_add_exp,
}
# fmt: on
