"""exp, exp2 and expm1: argument = n log(2) + r with |r| <= log(2) / 2, a polynomial in r, 2**n.

The method is that of P. T. P. Tang, *Table-driven implementation of the exponential function in
IEEE floating-point arithmetic*, 1989, without the table. Where 2**n and the result are surely
normal numbers n is added to the exponent; vectors with other arguments go a way of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from gradc_codegen.math.emitted import coefficients, wide
from gradc_codegen.math.emitted.builder import Bits, Float, Truth, fast_sum, fma
from gradc_codegen.math.emitted.polynomials import horner, paired
from gradc_codegen.math.emitted.rare import otherwise
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.types import DType

LOG_2 = coefficients.LOG_2_NEAREST[DType.F64][0]


def limits(x: Float) -> tuple[float, float]:
    """Return arguments beyond which the exponential is surely 0 or infinite, n in its range."""
    bias = x.format.bias
    return -(bias + x.format.fraction + 1) * LOG_2, (bias + 2) * LOG_2


@dataclass(frozen=True)
class Bounded:
    """An argument within limits, 0 where the exponential is: that must not be found by underflow.

    A product that underflows takes a hundred cycles.

    Parameters
    ----------
    argument: within the limits.
    vanishes: whether it was below them.
    """

    argument: Float
    vanishes: Truth

    def exponential(self, found: Float) -> Float:
        """Return what was found for the argument, or 0."""
        return self.vanishes.select(0.0, found)


def bounded(x: Float, lowest: float | None = None, highest: float | None = None) -> Bounded:
    """Return an argument of the exponential within :func:`limits`, or others; infinity is none."""
    least, most = limits(x)
    vanishes = x < (least if lowest is None else lowest)
    most = most if highest is None else highest
    limited = x.at_most(most) if most < math.inf else x
    return Bounded(vanishes.select(0.0, limited), vanishes)


def rounded_quotient(x: Float, offset: int = 0, times: int = 1) -> tuple[Float, Bits]:
    """Return n = times x / log(2), rounded to an integer, and bits whose lowest hold n + offset.

    These are twelve (nine in 32 bits).
    """
    shift = x.format.unit_shift + offset
    moved = fma(x, times * coefficients.INVERSE_LOG_2[x.dtype][0], shift)
    return moved - shift, moved.bits


def remainder(x: Float, n: Float) -> Float:
    """Return x - n log(2)."""
    high, low = coefficients.LOG_2[x.dtype]
    return fma(n, -low, fma(n, -high, x))


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
    n, bits = rounded_quotient(x, 2 * x.format.bias)
    log_high, log_low = coefficients.LOG_2[x.dtype]
    first, rest = fma(n, -log_high, x), n * log_low  # the first is exact
    high = first - rest
    return Reduced(n, bits, high, (first - high) - rest)


def scaled(y: Float, shifted: Bits) -> Float:
    """Return y * 2**n, rounded once although 2**n alone may not be a number of the format.

    ``shifted`` is as in :class:`Reduced`: n + 2 * bias is the sum of two exponent fields.
    """
    fraction = y.format.fraction
    half = shifted >> 1
    return y * (half << fraction).number * ((shifted - half) << fraction).number


def added_to_exponent(y: Float, n: Bits) -> Float:
    """Return y * 2**n where both are normal numbers; n is what the lowest bits hold."""
    return (y.bits + (n << y.format.fraction)).number


def power_of_two(n: Float, offset: int = 0) -> Float:
    """Return 2**(n + offset) of an integer; the power must be a normal number."""
    format_ = n.format
    return ((n + (format_.unit_shift + format_.bias + offset)).bits << format_.fraction).number


def unless_large(
    x: Float,
    limit: float,
    usual: Callable[[Float], Float],
    of_any: Callable[[Float], Float],
) -> Float:
    """Return ``usual(x)`` up to a limit in size, and ``of_any(x)`` elsewhere and for NaN.

    Both have the same bits where both are right. A number alone goes the way of any.
    """
    if x.body.lanes == 1:
        return of_any(x)
    found = usual(x)  # before the test: so LLVM interleaves the vectors that the lanes fill
    large = (x.number(limit).bits - abs(x).bits).is_negative
    return otherwise(large, of_any, [x], found)


def normal_limit(x: Float) -> float:
    """Return the size up to which the exponential and its inverse are surely normal numbers."""
    return float(int((x.format.bias - 1) * LOG_2))


def _series(r: Float) -> Float:
    """Return e to the power r."""
    return horner(r, (1.0, 1.0, *coefficients.EXP[r.dtype]))


def exp(x: Float) -> Float:
    """Return e to the power x."""
    if wide.is_wide(x.body):
        n, _ = rounded_quotient(x)
        # of arguments beyond all limits, infinities and NaN n says all
        return wide.scaled_or_zero(_series(wide.within(remainder(x, n), 1.0)), n)
    return unless_large(x.settled, normal_limit(x), exp_of_moderate, _exp_of_any)


def exp_of_moderate(x: Float) -> Float:
    """Return e to the power x, which is at most 708 (f32: 87) in size."""
    n, bits = rounded_quotient(x)
    return added_to_exponent(_series(remainder(x, n)), bits)


def _exp_of_any(x: Float) -> Float:
    limited = bounded(x)
    n, bits = rounded_quotient(limited.argument, 2 * x.format.bias)
    return limited.exponential(scaled(_series(remainder(limited.argument, n)), bits))


def exp_product(x: Float, y: Float) -> Float:
    """Return e to the power x y, of which the rounding does not count."""
    x, y = x.settled, y.settled
    product = x * y
    if wide.is_wide(x.body):
        n, _ = rounded_quotient(product)
        r = _remainder_and(product, n, fma(x, y, -product))
        return wide.scaled_or_zero(_series(wide.within(r, 1.0)), n)
    if x.body.lanes == 1:
        return _exp_product_of_any(x, y)
    n, bits = rounded_quotient(product)
    found = added_to_exponent(_series(_remainder_and(product, n, fma(x, y, -product))), bits)
    large = (x.number(normal_limit(x)).bits - abs(product).bits).is_negative
    return otherwise(large, _exp_product_of_any, [x, y], found)


def _exp_product_of_any(x: Float, y: Float) -> Float:
    product = x * y
    limited = bounded(product)
    argument = limited.argument
    n, bits = rounded_quotient(argument, 2 * x.format.bias)
    lost = argument.equals(product).select(fma(x, y, -product), 0.0)
    return limited.exponential(scaled(_series(_remainder_and(argument, n, lost)), bits))


def _remainder_and(x: Float, n: Float, lost: Float) -> Float:
    """Return x - n log(2) and what x lost."""
    high, low = coefficients.LOG_2[x.dtype]
    return fma(n, -high, x) + fma(n, -low, lost)


def exp_as_sum(x: Float, x_low: Float) -> tuple[Float, Float, Bits]:
    """Return e to the power x + x_low as a sum, and by what :func:`scaled` has to scale it."""
    lowest, highest = limits(x)
    limited = x.at_most(highest).at_least(lowest)
    n, bits = rounded_quotient(limited, 2 * x.format.bias)
    lost = limited.equals(x).select(x_low, 0.0)
    log_high, log_low = coefficients.LOG_2[x.dtype]
    r, r_low = fast_sum(fma(n, -log_high, limited), fma(n, -log_low, lost))
    high, low = fast_sum(1.0, r)
    series = horner(r, coefficients.EXP[x.dtype])
    return high, fma(r * r, series, low + r_low), bits


def exp2(x: Float) -> Float:
    """Return 2 to the power x."""
    if wide.is_wide(x.body):
        n, _ = _rounded(x)
        return wide.scaled_or_zero(_series_of_two(wide.within(x - n, 1.0)), n)
    return unless_large(x.settled, x.format.bias - 1.0, _usual_exp2, _exp2_of_any)


def _usual_exp2(x: Float) -> Float:
    n, bits = _rounded(x)
    return added_to_exponent(_series_of_two(x - n), bits)


def _exp2_of_any(x: Float) -> Float:
    format_ = x.format
    limited = bounded(x, -(format_.bias + format_.fraction + 1.0), format_.bias + 1.0)
    n, bits = _rounded(limited.argument, 2 * format_.bias)
    return limited.exponential(scaled(_series_of_two(limited.argument - n), bits))


def _rounded(x: Float, offset: int = 0) -> tuple[Float, Bits]:
    """Return x rounded to an integer n, and bits as :func:`rounded_quotient` does."""
    shift = x.format.unit_shift + offset
    moved = x + shift
    return moved - shift, moved.bits


def _series_of_two(r: Float) -> Float:
    """Return 2 to the power r."""
    dtype = r.dtype
    return horner(r, (1.0, coefficients.LOG_2_NEAREST[dtype][0], *coefficients.EXP2[dtype]))


def expm1(x: Float) -> Float:
    """Return e to the power x, minus 1."""
    x = x.settled
    if wide.is_wide(x.body):
        # it is NaN where 2**-n is infinite, and the result -1
        found, least = _wide_expm1(x), x.at_least(-1.0)
    else:
        found, least = unless_large(x, normal_limit(x), _usual_expm1, _expm1_of_any), x
    # it is never less than x, which it is for subnormal numbers and zeros
    return (found > least).select(found, least)


def _usual_expm1(x: Float) -> Float:
    format_ = x.format
    n, bits = rounded_quotient(x, format_.bias)
    power = bits << format_.fraction
    inverse = ((2 * format_.bias) << format_.fraction) - power
    return _less_inverse(x, n, inverse.number) * power.number


def _wide_expm1(x: Float) -> Float:
    limited = wide.within(x, limits(x)[1])
    n, _ = rounded_quotient(limited)
    inverse = wide.scaled_or_zero(x.number(1.0), -n, 2 - x.format.bias)
    return wide.scaled(_less_inverse(limited, n, inverse), n)


def _expm1_of_any(x: Float) -> Float:
    limited = _limited_where_less_one(x)
    n, bits = rounded_quotient(limited, 2 * x.format.bias)
    inverse = power_of_two(-n.at_most(x.format.bias - 1.0))
    return scaled(_less_inverse(limited, n, inverse), bits)


def _limited_where_less_one(x: Float) -> Float:
    """Return the argument within limits beyond which expm1 is surely -1 or infinite."""
    return x.at_most(limits(x)[1]).at_least(-(x.format.fraction + 8) * LOG_2)


def _less_inverse(x: Float, n: Float, inverse: Float) -> Float:
    """Return e**r - 2**-n, whose second term is the inverse; expm1 is 2**n times that."""
    format_ = x.format
    high, low = coefficients.LOG_2_NEAREST[format_.dtype]
    first = fma(n, -high, x)  # exact
    less = 1.0 - inverse
    total = less + first
    rest = fma(n, -low, (less - total) + first)
    # from here on 1 - 2**-n is rounded to 1
    rest = (n > format_.fraction + 1.5).select(rest - inverse, rest)
    r, table = fma(n, -low, first), coefficients.EXPM1[format_.dtype]
    if format_.width == 32:
        return total + fma(r * r, horner(r, table), rest)
    # e**r - 1 - r counts where it is nearly as large as the result, and there what r is rounded by
    square = first * fma(n, -2 * low, first)
    return total + fma(square, paired(r, table), rest)
