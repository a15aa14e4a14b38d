"""Ranges of sums, products, quotients and the like.

The correctly rounded result of monotone arithmetic is monotone, so its ends are those of the exact
result, rounded once, in the dtype itself.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from gradc_ir.core.range import INF, Number, Range, anything, make, outward
from gradc_ir.core.types import DType

Rule = Callable[..., Range]


def rounded(dtype: DType, function: Callable[..., Any], *numbers: Number) -> Number:
    """Return a function of numbers in the arithmetic of a float dtype; nan counts as 0."""
    kind = dtype.numpy.type
    found = float(function(*map(kind, numbers)))
    return found if found == found else 0.0


def _ends(function: Callable[[Any, Any], Any], x: Range, y: Range) -> tuple[Any, Any]:
    """Return the smallest and the largest of a function of the ends of two ranges."""
    corners = [function(a, b) for a in (x.low, x.high) for b in (y.low, y.high)]
    return min(corners), max(corners)


def _rounded_ends(
    dtype: DType, function: Callable[..., Any], x: Range, y: Range
) -> tuple[Number, Number]:
    return _ends(lambda a, b: rounded(dtype, function, a, b), x, y)


def integers(dtype: DType, low: Number, high: Number) -> Range:
    """Return a range of integers, all of them when an end does not fit: arithmetic wraps."""
    every = anything(dtype)
    fits = every.low <= low and high <= every.high
    return make(dtype, low, high) if fits else every


def neg(dtype: DType, x: Range) -> Range:
    """Return the range of -x."""
    if not dtype.is_float:
        return integers(dtype, -x.high, -x.low)
    return make(
        dtype, -x.high, -x.low, whole=x.whole, nonzero=x.nonzero, signed=x.has_zero, nan=x.nan
    )


def add(dtype: DType, x: Range, y: Range) -> Range:
    """Return the range of x + y."""
    if not dtype.is_float:
        return integers(dtype, x.low + y.low, x.high + y.high)
    opposite = (x.low == -INF and y.high == INF) or (x.high == INF and y.low == -INF)
    low = rounded(dtype, np.add, x.low, y.low) if not opposite else -INF
    high = rounded(dtype, np.add, x.high, y.high) if not opposite else INF
    # inf + -inf at one end is nan there, and any number beside it
    low = -INF if -INF in (x.low, y.low) else low
    high = INF if INF in (x.high, y.high) else high
    return make(
        dtype,
        low,
        high,
        whole=x.whole and y.whole,
        signed=x.signed and y.signed,
        nan=x.nan or y.nan or opposite,
    )


def sub(dtype: DType, x: Range, y: Range) -> Range:
    """Return the range of x - y."""
    if not dtype.is_float:
        return integers(dtype, x.low - y.high, x.high - y.low)
    return add(dtype, x, neg(dtype, y))


def mul(dtype: DType, x: Range, y: Range) -> Range:
    """Return the range of x * y, whose factors are different values."""
    if not dtype.is_float:
        return integers(dtype, *_ends(operator.mul, x, y))
    return make(
        dtype,
        *_rounded_ends(dtype, np.multiply, x, y),
        whole=x.whole and y.whole,
        signed=x.low < 0 or y.low < 0 or x.signed or y.signed,
        nan=x.nan or y.nan or (x.has_zero and y.has_infinity) or (y.has_zero and x.has_infinity),
    )


def fma(dtype: DType, x: Range, y: Range, z: Range) -> Range:
    """Return the range of x * y + z, whose rounding is within that of both."""
    return add(dtype, mul(dtype, x, y), z)


def square(dtype: DType, x: Range) -> Range:
    """Return the range of x * x."""
    size = absolute(dtype, x)
    if not dtype.is_float:
        return integers(dtype, size.low * size.low, size.high * size.high)
    return mul(dtype, size, size)._replace(nan=x.nan)


def div(dtype: DType, x: Range, y: Range) -> Range:
    """Return the range of x / y, which are different values."""
    nan = x.nan or y.nan or (x.has_zero and y.has_zero) or (x.has_infinity and y.has_infinity)
    sure = y.low > 0 or y.high < 0 or (y.low == 0 and not y.signed)
    if not sure:
        return make(dtype, -INF, INF, nan=nan)
    ends = _rounded_ends(dtype, np.divide, x, y)
    return make(dtype, *ends, signed=x.low < 0 or y.low < 0 or x.signed, nan=nan)


def floor_divide(dtype: DType, x: Range, y: Range) -> Range:
    """Return the range of the quotient rounded down."""
    if dtype.is_float:
        return make(dtype, -INF, INF, whole=True)
    if y.low <= 0:
        return anything(dtype)
    return integers(dtype, *_ends(lambda a, b: int(a) // int(b), x, y))


def remainder(dtype: DType, x: Range, y: Range) -> Range:
    """Return the range of the remainder, which has the sign of the divisor."""
    low, high = min(y.low, 0), max(y.high, 0)
    return make(dtype, low, high, whole=x.whole and y.whole)


def absolute(dtype: DType, x: Range) -> Range:
    """Return the range of the absolute value."""
    if not dtype.is_float and x.low == anything(dtype).low:
        return anything(dtype)
    across = x.low < 0 < x.high
    low = 0 if across else min(abs(x.low), abs(x.high))
    return make(dtype, low, x.magnitude, whole=x.whole, nonzero=x.nonzero, signed=False, nan=x.nan)


def sign(dtype: DType, x: Range) -> Range:
    """Return the range of the sign: -1, 0, 1."""
    low = -1 if x.low < 0 else 0 if x.has_zero else 1
    high = 1 if x.high > 0 else 0 if x.has_zero else -1
    # of -0.0 it is not said which zero
    return make(dtype, low, high, whole=True, nonzero=x.nonzero, nan=x.nan)


def floor(dtype: DType, x: Range) -> Range:
    """Return the range of the largest whole number not above x."""
    low, high = (rounded(dtype, np.floor, end) for end in (x.low, x.high))
    return make(dtype, low, high, whole=True, signed=x.signed, nan=x.nan)


def maximum(dtype: DType, x: Range, y: Range) -> Range:
    """Return the range of the larger."""
    # +0.0 is above -0.0
    signed = (x.signed and (y.signed or y.low < 0)) or (y.signed and x.low < 0)
    return _one_of(dtype, max, x, y, signed)


def minimum(dtype: DType, x: Range, y: Range) -> Range:
    """Return the range of the smaller."""
    return _one_of(dtype, min, x, y, x.signed or y.signed)


def _one_of(
    dtype: DType, choose: Callable[[Number, Number], Number], x: Range, y: Range, signed: bool
) -> Range:
    return make(
        dtype,
        choose(x.low, y.low),
        choose(x.high, y.high),
        whole=x.whole and y.whole,
        nonzero=x.nonzero and y.nonzero,
        signed=signed,
        nan=x.nan or y.nan,
    )


def power(dtype: DType, x: Range, y: Range) -> Range:
    """Return the range of x to the power y."""
    if not dtype.is_float:
        return anything(dtype)
    if x.low >= 0:
        return _power_of_nonnegative(dtype, x, y)
    if not (y.is_number and y.whole and abs(y.low) != INF):
        return make(dtype, -INF, INF)
    if y.low % 2 == 0:
        return _power_of_nonnegative(dtype, absolute(dtype, x), y)
    if y.low < 0:
        return make(dtype, -INF, INF, nan=x.nan)
    low, high = (rounded(dtype, np.power, end, y.low) for end in (x.low, x.high))
    return make(dtype, *outward(dtype, low, high), nan=x.nan)


def _power_of_nonnegative(dtype: DType, x: Range, y: Range) -> Range:
    low, high = outward(dtype, *_rounded_ends(dtype, np.power, x, y))
    if x.low <= 1 <= x.high or y.low <= 0 <= y.high:
        low, high = min(low, 1.0), max(high, 1.0)
    # an odd power of -0.0 is -0.0 or -inf
    odd = x.signed and not (y.is_number and not (y.whole and y.low % 2 == 1))
    low = -INF if odd and y.low < 0 else max(low, 0.0)
    return make(dtype, low, high, signed=odd, nan=x.nan or y.nan)


def cast(dtype: DType, x: Range, source: DType) -> Range:
    """Return the range of x, of dtype ``source``, in another dtype."""
    if dtype is DType.BOOL:
        return make(dtype, 0 if x.has_zero else 1, 0 if x.low == x.high == 0 and not x.nan else 1)
    if dtype.is_float:
        low, high = (rounded(dtype, lambda end: end, end) for end in (x.low, x.high))
        kept = x.nonzero and not (source is DType.F64 and dtype is DType.F32)
        return make(
            dtype, low, high, whole=x.whole, nonzero=kept, signed=x.signed or x.low < 0, nan=x.nan
        )
    every = anything(dtype)
    if not source.is_float:
        return integers(dtype, x.low, x.high)
    low, high = (max(every.low, min(every.high, _truncated(end))) for end in (x.low, x.high))
    if x.nan:
        low, high = min(low, 0), max(high, 0)
    return make(dtype, low, high)


def _truncated(number: Number) -> Number:
    return number if abs(number) == INF else int(number)


BY_OP: dict[str, Rule] = {
    "neg": neg,
    "add": add,
    "sub": sub,
    "mul": mul,
    "fma": fma,
    "div": div,
    "floor_divide": floor_divide,
    "remainder": remainder,
    "power": power,
    "abs": absolute,
    "sign": sign,
    "floor": floor,
    "maximum": maximum,
    "minimum": minimum,
}

__all__ = ["BY_OP", "cast", "rounded", "square"]
