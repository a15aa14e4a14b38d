"""A range: the numbers that the elements of a value may be."""

from __future__ import annotations

import functools
import math

import numpy as np

from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.types import DType

INF = math.inf

Number = int | float


class Range(NamedTuple):
    """Numbers from ``low`` to ``high``, both included; nan is told apart from them.

    ``whole``: each is a whole number, infinite or nan. ``nonzero``: none is a zero. ``signed``:
    -0.0 may be among them. ``nan``: nan may be. The ends of integers are Python integers. A range
    is about the numbers as they are computed: rounded, overflown and underflown.
    """

    low: Number
    high: Number
    whole: bool = False
    nonzero: bool = False
    signed: bool = True
    nan: bool = True

    @property
    def is_empty(self) -> bool:
        """Whether there is no number in it: nan only, or nothing."""
        return self.low > self.high

    @property
    def is_number(self) -> bool:
        """Whether there is one number in it, and no nan."""
        return self.low == self.high and not self.nan

    @property
    def has_zero(self) -> bool:
        """Whether a zero may be among them."""
        return self.low <= 0 <= self.high and not self.nonzero

    @property
    def has_infinity(self) -> bool:
        """Whether an infinity may be among them."""
        return self.low == -INF or self.high == INF

    @property
    def is_nonnegative(self) -> bool:
        """Whether no number is below 0; -0.0 may be among them."""
        return self.low >= 0

    @property
    def magnitude(self) -> Number:
        """The largest absolute value."""
        return max(abs(self.low), abs(self.high))


def make(
    dtype: DType,
    low: Number,
    high: Number,
    *,
    whole: bool = False,
    nonzero: bool = False,
    signed: bool = True,
    nan: bool = True,
) -> Range:
    """Return the range of numbers of a dtype, with all that its parts say about each other."""
    if not dtype.is_float:
        whole, signed, nan = True, False, False
    if whole:
        low = low if abs(low) == INF else math.ceil(low)
        high = high if abs(high) == INF else math.floor(high)
        if dtype.is_float:
            low, high = float(low), float(high)
    if nonzero:
        least = 1 if whole else tiny(dtype)
        low = least if low == 0 else low
        high = -least if high == 0 else high
    if low > high:
        return Range(INF, -INF, nan=nan)
    if low > 0 or high < 0:
        nonzero = True
    signed = signed and not nonzero and low <= 0 <= high
    # an end is never -0.0, which would turn the sign of a quotient
    return Range(low or 0, high or 0, whole, nonzero, signed, nan)


@functools.cache
def anything(dtype: DType) -> Range:
    """Return the range of all numbers of a dtype."""
    if dtype.is_float:
        return Range(-INF, INF)
    if dtype is DType.BOOL:
        return Range(0, 1, whole=True, signed=False, nan=False)
    info = np.iinfo(dtype.numpy)  # type: ignore[type-var]
    return Range(int(info.min), int(info.max), whole=True, signed=False, nan=False)


def single(dtype: DType, number: Number) -> Range:
    """Return the range of one number."""
    signed = dtype.is_float and number == 0 and math.copysign(1, number) < 0
    if number != number:
        return Range(INF, -INF)
    return make(dtype, number, number, whole=is_whole(number), signed=signed, nan=False)


def is_whole(number: Number) -> bool:
    """Whether a number is whole or infinite."""
    return isinstance(number, int) or abs(number) == INF or number.is_integer()


@functools.cache
def tiny(dtype: DType) -> float:
    """Return the smallest positive number of a dtype."""
    if not dtype.is_float:
        return 1
    return float(np.finfo(dtype.numpy).smallest_subnormal)  # type: ignore[type-var]


@functools.cache
def largest(dtype: DType) -> float:
    """Return the largest finite number of a float dtype."""
    return float(np.finfo(dtype.numpy).max)  # type: ignore[type-var]


def next_below(dtype: DType, number: Number) -> Number:
    """Return the next smaller number of a dtype."""
    return -next_above(dtype, -number)


def next_above(dtype: DType, number: Number) -> Number:
    """Return the next larger number of a dtype."""
    if not dtype.is_float:
        return number + 1
    kind = dtype.numpy.type
    return float(np.nextafter(kind(number), kind(INF)))


def outward(dtype: DType, low: Number, high: Number, ulps: int = 4) -> tuple[Number, Number]:
    """Return two ends moved apart by some units in the last place, for a result that is inexact."""
    return -_upward(dtype, -low, ulps), _upward(dtype, high, ulps)


def _upward(dtype: DType, number: Number, ulps: int) -> float:
    kind = dtype.numpy.type
    end = float(kind(number))
    if end == INF:
        return INF
    if end == -INF:
        return -largest(dtype)
    return float(kind(end) + ulps * np.spacing(kind(abs(end))))


def union(one: Range, other: Range) -> Range:
    """Return the numbers of either range."""
    return Range(
        min(one.low, other.low),
        max(one.high, other.high),
        one.whole and other.whole,
        one.nonzero and other.nonzero,
        one.signed or other.signed,
        one.nan or other.nan,
    )


def intersection(dtype: DType, one: Range, other: Range) -> Range:
    """Return the numbers of both ranges."""
    return make(
        dtype,
        max(one.low, other.low),
        min(one.high, other.high),
        whole=one.whole or other.whole,
        nonzero=one.nonzero or other.nonzero,
        signed=one.signed and other.signed,
        nan=one.nan and other.nan,
    )
