"""Angles less a multiple of π/2, for numbers of any size.

Two parts of π/2 are taken off nearly always. Next to a multiple of π/2, where these tell too
little, a third one is, as in S. Boldo, M. Daumas, R.-C. Li, *Formally verified argument reduction
with a fused multiply-add*, 2009, and of larger numbers those bits of 2/π that count are multiplied:
M. Payne, R. Hanek, *Radian reduction for trigonometric functions*, 1983.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from gradc_codegen.math.emitted import coefficients
from gradc_codegen.math.emitted.builder import Bits, Float, Truth, fast_sum, fma
from gradc_codegen.math.emitted.rare import table
from gradc_ir.core.types import DType

# Multiples of π/2 have at most so many bits that their products with the second part are exact in
# double precision, and their errors small enough in single precision.
_LIMIT = {DType.F64: 1e6, DType.F32: 1e5}
_WORD = 64
# An angle is as many times as large as the second parts of right angles, at least, or doubtful.
DISTINCT = {DType.F64: 2.0**10, DType.F32: 2.0**6}


@dataclass(frozen=True)
class Angle:
    """An angle between -π/4 and π/4, and how many right angles were taken off.

    Parameters
    ----------
    quadrant: bits whose lowest two hold the number of right angles.
    base, excess, unit: the angle is base - excess * unit; of a zero the product is a zero.
    high: the angle, rounded.
    """

    quadrant: Bits
    base: Float
    excess: Float
    unit: float
    high: Float


def is_huge(size: Float) -> Truth:
    """Whether a number is too large for :func:`reduced`."""
    return size > _LIMIT[size.dtype]


def nearly_reduced(x: Float) -> Angle:
    """Return the angle of a number, unless :func:`is_doubtful` tells that it may be wrong."""
    first, second = coefficients.HALF_PI[x.dtype]
    moved, n = _right_angles(x)
    rest = fma(n, -first, x)  # exact, or the number is so large that the angle is doubtful
    return Angle(moved.bits, rest, n, second, fma(n, -second, rest))


def is_doubtful(square: Float, excess: Float) -> Truth:
    """Whether two parts of π/2 tell too little of an angle.

    Parameters
    ----------
    square: of the angle.
    excess: :data:`DISTINCT` times what the second parts add up to. Where that is smaller than the
        angle, the third parts are too small to count, and rounding of the number of right angles
        keeps the angle near π/4 or below.
    """
    # without the highest bit of the exponent it is the same up to 2, and beyond not infinite
    format_ = square.format
    limited = (square.bits & ~(1 << (format_.width - 2))).number
    return fma(-excess, excess, limited).bits.is_negative


def _right_angles(x: Float) -> tuple[Float, Float]:
    """Return how many there are in a number, in the lowest bits of a float, and as one."""
    shift = x.format.unit_shift
    moved = fma(x, coefficients.INVERSE_HALF_PI[x.dtype][0], shift)
    return moved, moved - shift


def reduced(x: Float) -> Angle:
    """Return the angle of a number that is not huge, to twice the precision."""
    dtype = x.dtype
    first, second, third = coefficients.HALF_PI_PARTS[dtype]
    moved, n = _right_angles(x)
    rest = fma(n, -first, x)  # exact
    # In double precision the product with the second part is exact. In single precision it is
    # rounded here so that the difference is a multiple of its last place, and high - rest exact.
    # That it is positive keeps the sign of zeros.
    high = fma(n, -second, rest) if dtype is DType.F64 else rest - n * second
    excess = fma(n, third, fma(n, second, high - rest))
    return Angle(moved.bits, high, excess, 1.0, high - excess)


def reduced_huge(size: Float) -> Angle:
    """Return the angle of a positive number from 2**-10 on, on numbers in double precision."""
    format_ = size.format
    exponent = size.bits >> format_.fraction
    integer = (size.bits & format_.fraction_mask) | (1 << format_.fraction)
    # Bits of 2/π before this one make multiples of four right angles. The table begins with a word
    # of zeros.
    start = exponent - (format_.bias + format_.fraction + 2 - _WORD)
    read = table(size.body, "words", coefficients.INVERSE_HALF_PI_WORDS)
    at, shift = start >> 6, start & (_WORD - 1)
    words = [read(at + i) for i in range(4)]
    upper, middle, lower = (a.shifted_into(b, shift) for a, b in pairwise(words))
    # the product's 128 bits behind the right angles' higher ones: two of right angles, a fraction
    fixed = (integer * upper).resized(2 * _WORD) << _WORD
    wide = integer.resized(2 * _WORD)
    fixed = fixed + wide * middle.resized(2 * _WORD)
    fixed = fixed + ((wide * lower.resized(2 * _WORD)) >> _WORD)

    quadrant = ((fixed + (1 << 125)) >> 126).resized(_WORD)
    fraction = fixed << 2  # of a right angle, from -1/2 to 1/2 in two's complement
    negative = fraction >> 127
    magnitude = (fraction ^ (0 - negative)) + negative
    parts = [
        ((magnitude >> (96 - 32 * i)) & 0xFFFFFFFF).resized(_WORD).converted * 2.0 ** (-32 - 32 * i)
        for i in range(4)
    ]
    sign = negative.is_odd.select(-1.0, 1.0)
    high, low = (part * sign for part in _as_sum(*parts))

    half_pi, rest = coefficients.HALF_PI[format_.dtype]
    product = high * half_pi
    lost = fma(high, half_pi, -product) + fma(high, rest, low * half_pi)
    high, low = fast_sum(product, lost)
    return Angle(quadrant, high, -low, 1.0, high)


def _as_sum(first: Float, second: Float, third: Float, fourth: Float) -> tuple[Float, Float]:
    """Return a sum of numbers as one of two; each is larger than all behind it, or zero."""
    tail, lost_last = fast_sum(third, fourth)
    tail, lost_then = fast_sum(second, tail)
    total, lost = fast_sum(first, tail)
    return total, lost + (lost_then + lost_last)
