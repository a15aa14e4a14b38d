"""log, log1p, log2 and log10: x = 2**k (1 + f), then s = f / (2 + f) and a polynomial in s².

log(1 + f) = f - s (f - s² P(s²)), as in *fdlibm* by K. C. Ng of Sun Microsystems, 1993. For another
base f is multiplied by a number c close to the logarithm of e: c f + s (Q(s²) - c f), or in f32 for
want of a division c f + f Q(f), whose second term is small. Numbers that are not positive and
normal are computed behind a branch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from gradc_codegen.math.emitted import coefficients, wide
from gradc_codegen.math.emitted.builder import Bits, Float, Truth, fast_sum, fma
from gradc_codegen.math.emitted.formats import Format
from gradc_codegen.math.emitted.polynomials import even_and_odd, horner, paired
from gradc_codegen.math.emitted.rare import sometimes
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.types import DType

# 1 + f is at least this, and less than twice as much
ROOT = math.sqrt(0.5)
# For log1p, so that f is exact.
THREE_QUARTERS = 0.75
# numbers close to the logarithms of e
_SLOPES_2 = {DType.F64: 1.40625, DType.F32: 1.453125}
_SLOPES_10 = {DType.F64: 0.421875, DType.F32: 0.4375}
# terms that are not worth an instruction more
_SHORT = 4


class Exponent(NamedTuple):
    """The exponent k of a number as 2**k (1 + f).

    Parameters
    ----------
    negative: -k; +0 rather than -0.
    power: 2**-k.
    """

    negative: Float
    power: Float


def exponent(x: Float, lowest: float) -> Exponent:
    """Return the exponent of a positive number that is not :func:`unusual`."""
    format_ = x.format
    most = _bits(format_, lowest) + format_.fraction_mask
    power = ((format_.one_bits + most) - x.bits) & ~format_.fraction_mask
    return Exponent(binary_logarithm(power), power.number)


def binary_logarithm(power: Bits) -> Float:
    """Return the exponent of a power of two, from its bits."""
    format_ = power.body.format
    if wide.is_wide(power.body):
        return wide.exponent_of(power.number)
    if format_.width == 32:
        return fma(power.signed, 2.0**-format_.fraction, -float(format_.bias))
    # below the bits of this power of two an integer is its own value
    unit = 2.0**format_.fraction
    field = power >> format_.fraction | (format_.bias + format_.fraction) << format_.fraction
    return field.number - (unit + format_.bias)


def unusual(x: Float, lowest: float) -> Truth:
    """Whether a number is not positive, or neither it nor 2**-k is a normal number."""
    format_ = x.format
    least, sign = 1 << format_.fraction, 1 << (format_.width - 1)
    largest = _bits(format_, lowest) + (format_.bias << format_.fraction)
    # the sign moves the bits that belong together to one side
    return (x.bits + (sign - least)).exceeds(largest - least - sign - 1)


def _bits(format_: Format, number: float) -> int:
    """Return the bits of a number from 1/2 on and below 1."""
    return ((format_.bias - 1) << format_.fraction) + int((2 * number - 1) * 2.0**format_.fraction)


def made_usual(x: Float) -> tuple[Float, Float]:
    """Return a number times a power of two, so that a positive one is usual, and the exponent."""
    small = x < 1.0
    shift = 64.0
    return x * small.select(2.0**shift, 2.0**-shift), small.select(shift, -shift)


def series_of(square: Float, terms: Sequence[float]) -> Float:
    """Return a polynomial, a long one with less waiting."""
    return paired(square, terms) if len(terms) > _SHORT else horner(square, terms)


Logarithm = Callable[[Float, Float], Float]


def _logarithm(x: Float, of_parts: Logarithm, of_extremes: Callable[[Float], Float]) -> Float:
    """Return a logarithm that is a function of -k and f; that of extremes is right everywhere."""
    if x.body.lanes == 1:
        return of_extremes(x)
    x = x.settled
    k = exponent(x, ROOT)
    usual = of_parts(k.negative, fma(x, k.power, -1.0))
    return sometimes(unusual(x, ROOT), of_extremes, [x], usual)


def parts_of_any(x: Float) -> tuple[Float, Float]:
    """Return -k and f of a positive number of any size."""
    moved, shift = made_usual(x)
    k = exponent(moved, ROOT)
    return k.negative + shift, fma(moved, k.power, -1.0)


def _of_any(x: Float, of_parts: Logarithm) -> Float:
    return _with_borders(x, 0.0, of_parts(*parts_of_any(x)))


def _with_borders(x: Float, zero: float, result: Float) -> Float:
    """Return a logarithm's result where x is above its zero of the argument, else what C says."""
    outside = x.equals(zero).select(-math.inf, math.nan)
    return x.equals(math.inf).select(math.inf, (x > zero).select(result, outside))


def log_of_parts(
    negative: Float, f: Float, table: coefficients.Table, f_low: Float | None = None
) -> Float:
    """Return log(1 + f) less ``negative`` times log(2).

    The table is LOG, or LOG_WIDER where s is up to 1/5; ``f_low`` is what rounding lost of f.
    """
    total, rest = log_of_parts_as_sum(negative, f, table, f_low)
    return total + rest


def log_of_parts_as_sum(
    negative: Float, f: Float, table: coefficients.Table, f_low: Float | None = None
) -> tuple[Float, Float]:
    """Return the two numbers whose sum :func:`log_of_parts` is; the first is the larger one."""
    total, lost = plus_multiple_of_log_2(f, negative)
    s = f / (f + 2.0)
    if f_low is not None:
        lost = fma(f_low, fma(s, s.number(-2.0), 1.0), lost)
    square = s * s
    series = fma(-square, series_of(square, table[f.dtype]), f)
    return total, fma(-s, series, lost)


def plus_multiple_of_log_2(f: Float, negative: Float, factor: float = 1.0) -> tuple[Float, Float]:
    """Return f less ``negative`` times log(2) times a power of two, and what that loses."""
    high, low = (factor * part for part in coefficients.LOG_2[f.dtype])
    total = fma(negative, -high, f)
    lost = f - fma(negative, high, total)  # exact
    return total, fma(negative, -low, lost)


def log(x: Float) -> Float:
    """Return the natural logarithm."""
    return _logarithm(x, _natural, _log_of_extremes)


def _natural(negative: Float, f: Float) -> Float:
    return log_of_parts(negative, f, coefficients.LOG)


def _log_of_extremes(x: Float) -> Float:
    return _of_any(x, _natural)


def log2(x: Float) -> Float:
    """Return the logarithm to base 2, of a power of two exactly."""
    return _logarithm(x, _binary, _log2_of_extremes)


def _binary(negative: Float, f: Float) -> Float:
    slope = _SLOPES_2[f.dtype]
    rest = _rest(f, slope, coefficients.LOG2, coefficients.LOG2_ALONE)
    return fma(f, slope, rest) - negative


def _rest(
    f: Float, slope: float, table: coefficients.Table, table_alone: coefficients.Table
) -> Float:
    """Return a logarithm of 1 + f less a slope times f; the tables are of s² and of f alone."""
    dtype = f.dtype
    if dtype in table_alone:
        return f * even_and_odd(f, table_alone[dtype])
    s = f / (f + 2.0)
    return s * fma(f, -slope, series_of(s * s, table[dtype]))


def _log2_of_extremes(x: Float) -> Float:
    return _of_any(x, _binary)


def log10(x: Float) -> Float:
    """Return the logarithm to base 10, of a power of ten exactly."""
    return _logarithm(x, _decimal, _log10_of_extremes)


def _decimal(negative: Float, f: Float) -> Float:
    dtype = f.dtype
    slope = _SLOPES_10[dtype]
    rest = _rest(f, slope, coefficients.LOG10, coefficients.LOG10_ALONE)
    high, low = coefficients.LOG10_2[dtype]
    if abs(low) > high * 2.0 ** -(f.format.fraction + 4):
        rest = fma(negative, -low, rest)
    return fma(negative, -high, fma(f, slope, rest))


def _log10_of_extremes(x: Float) -> Float:
    return _of_any(x, _decimal)


def log1p(x: Float) -> Float:
    """Return log(1 + x)."""
    x = x.settled
    u = x + 1.0
    return sometimes(unusual(u, THREE_QUARTERS), _log1p_of_extremes, [x], log_of_one_and(x, u))


def log_of_one_and(x: Float, u: Float, x_low: Float | None = None) -> Float:
    """Return log(1 + x), of x and that sum rounded; x_low is what rounding lost of x.

    (1 + x) / 2**k - 1 is exact for any rounded x up to the inverse of a unit in the last place,
    because the numbers are less than half of one apart.
    """
    total, rest = log_of_one_and_as_sum(x, u, x_low)
    return total + rest


def log_of_one_and_as_sum(x: Float, u: Float, x_low: Float | None = None) -> tuple[Float, Float]:
    """Return the two numbers whose sum :func:`log_of_one_and` is; the first is the larger one."""
    k = exponent(u, THREE_QUARTERS)
    f = fma(x, k.power, -(1.0 - k.power))
    f_low = None if x_low is None else x_low * k.power
    return log_of_parts_as_sum(k.negative, f, coefficients.LOG_WIDER, f_low)


def _log1p_of_extremes(x: Float) -> Float:
    """Return log(1 + x) for large x, and where 1 + x is not positive."""
    return _with_borders(x, -1.0, _of_any(x, _natural))


def log_of_large(x: Float, doublings: float) -> Float:
    """Return log(x 2**doublings) for x that is large, infinite or NaN."""
    moved, shift = made_usual(x)
    k = exponent(moved, ROOT)
    negative = k.negative + (shift - doublings)
    return (x < math.inf).select(_natural(negative, fma(moved, k.power, -1.0)), x)


def log_of_sum(u: Float, u_low: Float) -> Float:
    """Return log(u + u_low) where the second is what rounding lost of the first; u is positive."""
    moved, shift = made_usual(u)
    k = exponent(moved, ROOT)
    f = fma(moved, k.power, -1.0)
    f_low = u_low * (u < 1.0).select(2.0**64, 2.0**-64) * k.power
    return log_of_parts(k.negative + shift, f, coefficients.LOG, f_low)


def log_and_rest(x: Float) -> tuple[Float, Float]:
    """Return the logarithm of a positive number, rounded, and the most of what that loses."""
    dtype = x.dtype
    negative, f = parts_of_any(x)
    total, lost = plus_multiple_of_log_2(f, negative)
    s = f / (f + 2.0)
    square = s * s
    half = f * f * 0.5
    series = fma(square, series_of(square, coefficients.LOG_LONGER[dtype]), half)
    return fast_sum(total, lost + fma(s, series, -half))
