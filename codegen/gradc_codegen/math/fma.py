"""Fused multiply-add where the machine has none: functions of the module's own, rounded once too.

The product and the sum are computed with what their rounding loses, and joined by *rounding to
odd*: S. Boldo and G. Melquiond, *Emulation of a FMA and correctly rounded sums: proved algorithms
using rounding to odd*, IEEE Transactions on Computers 57, 2008. Where something could overflow or
underflow on the way, one number at a time is computed with its exponents apart.
"""

from __future__ import annotations

from gradc_codegen.math.emitted.builder import Float, exact_sum
from gradc_codegen.math.emitted.rare import rarely

_SPLITTER = 2.0**27 + 1
# products of such numbers, and what their rounding loses, are far from both ends
_SMALL, _LARGE = 2.0**-400, 2.0**400
_INFINITY = float("inf")


def fma_to_odd(x: Float, y: Float, z: Float) -> Float:
    """Return x * y + z of numbers of single precision, for a second rounding to that.

    The product is exact, and double precision has no end that such numbers reach.
    """
    total, error = exact_sum(x * y, z)
    return (abs(total) < _INFINITY).select(_to_odd(total, error), total)


def fma_double(x: Float, y: Float, z: Float) -> Float:
    """Return x * y + z, rounded once."""
    x, y, z = x.settled, y.settled, z.settled
    high, low = _exact_product(x, y)
    outer, rest = _sum_of_three(high, low, z)
    found = outer + rest
    usual = found.equals(0.0).select(high + z, found)  # its sign is that of the plain sum
    # beyond the bound, or NaN
    extreme = x.number(_LARGE).is_not_at_least(abs(x) + abs(y) + abs(z))
    for number in (x, y, z):
        extreme = extreme | ((abs(number) < _SMALL) & (abs(number) > 0.0))
    return rarely(extreme, _any_exponents, (x, y, z), usual)


# so far apart that of the smaller term only its sign counts
_APART = 200.0


def _any_exponents(x: Float, y: Float, z: Float) -> Float:
    """Return x * y + z, rounded once, of any two numbers of double precision.

    Numbers between 1 and 2 are multiplied and added; the powers of two are brought to 2**shared, by
    which the sum is multiplied at the end. Where the result is subnormal the sum is rounded to a
    multiple of its last place before, as the last bit of a sum with a larger number.
    """
    (x_part, x_exponent), (y_part, y_exponent), (z_part, z_exponent) = map(_parts, (x, y, z))
    z_exponent = z.equals(0.0).select(-3000.0, z_exponent)
    shared = _larger(x_exponent + y_exponent, z_exponent - _APART).at_least(-1300.0)
    scale = _power_of_two((z_exponent - shared).at_least(-_APART))
    high, low = _exact_product(x_part, y_part)
    outer, rest = _sum_of_three(high, low, z.equals(0.0).select(0.0, z_part * scale))
    total = outer + rest
    # the smallest normal number, and the sign of the sum
    border = _power_of_two((-1022.0 - shared).at_least(-1022.0)).with_sign_of(total)
    raised, lost = exact_sum(border, outer)
    coarse = (raised + _odd_sum(lost, rest)) - border
    rounded = (abs(total) < abs(border)).select(coarse, total)
    half = (shared * 0.5 + shared.format.unit_shift) - shared.format.unit_shift
    found = rounded * _power_of_two(half) * _power_of_two(shared - half)
    plain = x * y + z
    found = total.equals(0.0).select(plain, found.with_sign_of(total))
    found = (abs(z) < _INFINITY).select(found, z)
    ordinary = (abs(x) < _INFINITY) & (abs(y) < _INFINITY) & (abs(x) > 0.0) & (abs(y) > 0.0)
    return ordinary.select(found, plain)


def _exact_product(x: Float, y: Float) -> tuple[Float, Float]:
    """Return the rounded product and its error (T. J. Dekker and G. W. Veltkamp, 1971)."""
    product = x * y
    (x_high, x_low), (y_high, y_low) = _halves(x), _halves(y)
    rest = ((x_high * y_high - product) + x_high * y_low) + x_low * y_high
    return product, rest + x_low * y_low


def _halves(x: Float) -> tuple[Float, Float]:
    scaled = x * _SPLITTER
    high = scaled - (scaled - x)
    return high, x - high


def _sum_of_three(high: Float, low: Float, z: Float) -> tuple[Float, Float]:
    """Return two numbers whose rounded sum is that of a product's halves and a third number."""
    inner, inner_error = exact_sum(z, low)
    outer, outer_error = exact_sum(high, inner)
    return outer, _odd_sum(inner_error, outer_error)


def _odd_sum(x: Float, y: Float) -> Float:
    return _to_odd(*exact_sum(x, y))


def _to_odd(total: Float, error: Float) -> Float:
    """Return of the two numbers around a sum the one with an odd last bit, unless it is exact."""
    toward_zero = (total.bits ^ error.bits) >> 63
    return error.differs_from(0.0).select(((total.bits - toward_zero) | 1).number, total)


def _parts(x: Float) -> tuple[Float, Float]:
    """Return a number of x's sign between 1 and 2 in size, and the exponent that goes with it."""
    format_ = x.format
    subnormal = abs(x) < format_.smallest_normal
    bits = subnormal.select(x * 2.0**54, x).bits
    field = (bits << 1) >> (format_.fraction + 1)
    sign = (bits >> 63) << 63
    part = (((bits & format_.fraction_mask) | sign) | format_.one_bits).number
    return part, field.converted - subnormal.select(format_.bias + 54.0, float(format_.bias))


def _power_of_two(exponent: Float) -> Float:
    """Return 2**exponent of an integer from -1022 to 1023."""
    format_ = exponent.format
    in_low_bits = exponent + (2.0**format_.fraction + format_.bias)
    return (in_low_bits.bits << format_.fraction).number


def _larger(x: Float, y: Float) -> Float:
    return (x > y).select(x, y)
