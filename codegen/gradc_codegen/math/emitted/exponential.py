"""exp, exp2 and expm1: argument = n log(2) + r with |r| <= log(2) / 2, a polynomial in r, 2**n.

The method is that of P. T. P. Tang, *Table-driven implementation of the exponential function in
IEEE floating-point arithmetic*, 1989, without the table.
"""

from __future__ import annotations

from dataclasses import dataclass

from gradc_codegen.math.emitted import coefficients
from gradc_codegen.math.emitted.builder import Bits, Float, exact_sum, fast_sum, fma, polynomial
from gradc_ir.types import DType

LOG_2 = coefficients.LOG_2_NEAREST[DType.F64][0]


@dataclass(frozen=True)
class Reduced:
    """An argument as n log(2) + remainder.

    Parameters
    ----------
    integer: n as a floating-point number.
    shifted: bits whose lowest twelve (nine in 32 bits) hold n + 2 * bias.
    high, low: the remainder, rounded, and what was lost.
    """

    integer: Float
    shifted: Bits
    high: Float
    low: Float


def reduced(x: Float) -> Reduced:
    """Split an argument of at most a few hundred (f32) or thousand (f64)."""
    n, shifted, first = _first_reduction(x)
    rest = n * coefficients.LOG_2[x.format.dtype][1]
    remainder = first - rest
    return Reduced(n, shifted, remainder, (first - remainder) - rest)


def _first_reduction(x: Float) -> tuple[Float, Bits, Float]:
    """Return n and its bits, as :class:`Reduced` has them, and x less n times most of log(2)."""
    dtype = x.format.dtype
    shift = x.format.unit_shift + 2 * x.format.bias
    moved = fma(x, coefficients.INVERSE_LOG_2[dtype][0], shift)
    n = moved - shift
    return n, moved.bits, fma(n, -coefficients.LOG_2[dtype][0], x)  # exact


def scaled(y: Float, shifted: Bits) -> Float:
    """Return y * 2**n, rounded once although 2**n alone may not be a number of the format.

    ``shifted`` is as in :class:`Reduced`: n + 2 * bias is the sum of two exponent fields.
    """
    fraction = y.format.fraction
    half = shifted >> 1
    return y * (half << fraction).number * ((shifted - half) << fraction).number


def power_of_two(n: Float, offset: int = 0) -> Float:
    """Return 2**(n + offset) of an integer; the power must be a normal number."""
    format_ = n.format
    return ((n + (format_.unit_shift + format_.bias + offset)).bits << format_.fraction).number


def limits(x: Float) -> tuple[float, float]:
    """Return arguments beyond which the exponential is surely 0 or infinite, n in its range."""
    bias = x.format.bias
    return -(bias + x.format.fraction + 1) * LOG_2, (bias + 2) * LOG_2


def exp(x: Float) -> Float:
    """Return e to the power x."""
    lowest, highest = limits(x)
    n, shifted, first = _first_reduction(x.at_most(highest).at_least(lowest))
    r = fma(n, -coefficients.LOG_2[x.format.dtype][1], first)
    high, low = fast_sum(1.0, r)
    series = polynomial(r, coefficients.EXP[x.format.dtype])
    return scaled(high + fma(r * r, series, low), shifted)


def exp_of_sum(x: Float, x_low: Float) -> Float:
    """Return e to the power x + x_low where the second is what rounding lost of the first."""
    high, low, shifted = exp_as_sum(x, x_low)
    return scaled(high + low, shifted)


def exp_as_sum(x: Float, x_low: Float) -> tuple[Float, Float, Bits]:
    """Return e to the power x + x_low as a sum, and by what :func:`scaled` has to scale it."""
    lowest, highest = limits(x)
    limited = x.at_most(highest).at_least(lowest)
    n, shifted, first = _first_reduction(limited)
    lost = limited.equals(x).select(x_low, 0.0)
    r, r_low = fast_sum(first, fma(n, -coefficients.LOG_2[x.format.dtype][1], lost))
    high, low = fast_sum(1.0, r)
    series = polynomial(r, coefficients.EXP[x.format.dtype])
    return high, fma(r * r, series, low + r_low), shifted


def exp2(x: Float) -> Float:
    """Return 2 to the power x."""
    format_ = x.format
    x = x.at_most(format_.bias + 1.0).at_least(-(format_.bias + format_.fraction + 1.0))
    shift = format_.unit_shift + 2 * format_.bias
    moved = x + shift
    r = x - (moved - shift)  # exact
    high, low = coefficients.LOG_2_NEAREST[format_.dtype]
    series = fma(r, polynomial(r, coefficients.EXP2[format_.dtype]), low)
    return scaled(fma(r, high, r * series) + 1.0, moved.bits)


def grown(split: Reduced, scale: Float, less_one: tuple[Float, Float]) -> tuple[Float, Float]:
    """Return scale * e**r - one as a sum that is good to a fraction of a unit in the last place.

    Parameters
    ----------
    scale: 2**n times a power of two, which is the one.
    less_one: the scale less the one, and what was lost.
    """
    r = split.high
    series = polynomial(r, coefficients.EXPM1[r.format.dtype])
    tail = fma(r * r, series, fma(split.low, r, split.low))
    base, lost = less_one
    high, low = fast_sum(base, scale * r)  # the product is exact
    return high, fma(scale, tail, low + lost)


def expm1(x: Float) -> Float:
    """Return e to the power x, minus 1."""
    format_ = x.format
    limited = x.at_most((format_.bias + 1.02) * LOG_2).at_least(-(format_.fraction + 8) * LOG_2)
    split = reduced(limited)
    # half of it, because 2**n may be infinite where the result is not
    scale = power_of_two(split.integer, -1)
    high, low = grown(split, scale, exact_sum(-0.5, scale))
    tiny = abs(x) < 2.0 ** -(format_.fraction + 2)
    return tiny.select(x, (high + low) * 2.0)
