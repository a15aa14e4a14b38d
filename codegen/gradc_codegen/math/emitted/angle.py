"""Angles less a multiple of π/2, for numbers of any size, as a sum of two floats.

Up to a million (f32: a hundred thousand) three parts of π/2 are taken off one after another, as in
S. Boldo, M. Daumas, R.-C. Li, *Formally verified argument reduction with a fused multiply-add*,
2009. Beyond, the number is multiplied by those bits of 2/π that count: M. Payne, R. Hanek, *Radian
reduction for trigonometric functions*, 1983.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from gradc_codegen.math.emitted import coefficients
from gradc_codegen.math.emitted.builder import Bits, Float, Truth, fast_sum, fma
from gradc_codegen.math.emitted.rare import table
from gradc_ir.types import DType

# Multiples of π/2 have at most so many bits that their products with the second part are exact in
# double precision, and their errors small enough in single precision.
_LIMIT = {DType.F64: 1e6, DType.F32: 1e5}
_WORD = 64


@dataclass(frozen=True)
class Angle:
    """An angle between -π/4 and π/4, and how many right angles were taken off.

    Parameters
    ----------
    quadrant: bits whose lowest two hold the number of right angles.
    high, excess: the angle, rounded, and what that added: of a zero of either sign, a positive one.
    """

    quadrant: Bits
    high: Float
    excess: Float


def is_huge(size: Float) -> Truth:
    """Whether a number is too large for :func:`reduced`."""
    return size > _LIMIT[size.format.dtype]


def reduced(x: Float) -> Angle:
    """Return the angle of a number that is not huge."""
    dtype = x.format.dtype
    first, second, third = coefficients.HALF_PI_PARTS[dtype]
    shift = x.format.unit_shift
    moved = fma(x, coefficients.INVERSE_HALF_PI[dtype][0], shift)
    n = moved - shift
    rest = fma(n, -first, x)  # exact
    # In double precision the product with the second part is exact. In single precision it is
    # rounded here so that the difference is a multiple of its last place, and high - rest exact.
    # That it is positive keeps the sign of zeros.
    high = fma(n, -second, rest) if dtype is DType.F64 else rest - n * second
    excess = fma(n, second, high - rest)
    return Angle(moved.bits, high, fma(n, third, excess))


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
    return Angle(quadrant, high, -low)


def _as_sum(first: Float, second: Float, third: Float, fourth: Float) -> tuple[Float, Float]:
    """Return a sum of numbers as one of two; each is larger than all behind it, or zero."""
    tail, lost_last = fast_sum(third, fourth)
    tail, lost_then = fast_sum(second, tail)
    total, lost = fast_sum(first, tail)
    return total, lost + (lost_then + lost_last)
