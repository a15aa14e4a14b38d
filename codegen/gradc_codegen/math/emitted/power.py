"""pow: the exponential of a logarithm that is known to twice the precision or nearly so.

To a small whole exponent it is a product instead, in twice the precision, of numbers that are
neither large nor small. Which of both serves a lane follows from its numbers alone.
"""

from __future__ import annotations

import math

from gradc_codegen.math.emitted import coefficients
from gradc_codegen.math.emitted.builder import Bits, Float, Truth, fast_sum, fma
from gradc_codegen.math.emitted.exponential import bounded, scaled
from gradc_codegen.math.emitted.logarithm import ROOT, exponent, parts_of_any, unusual
from gradc_codegen.math.emitted.polynomials import paired
from gradc_codegen.math.emitted.rare import beside, one_of, sometimes

Sum = tuple[Float, Float]

# The slope of log((1 + s) / (1 - s)) by s, 2 / (1 - s²), is nearly 2 and so many times
# (2/3 + 2/5 s²) s²: within 1.3e-4 for all s that occur.
_SLOPE = 3.0285
# The bits of exponents that are multiplied out, and the largest of these exponents.
_BITS = (8, 4, 2, 1)
_MOST = sum(_BITS)


def product(x: Sum, y: Sum) -> Sum:
    """Return the product of two numbers of twice the precision."""
    total = x[0] * y[0]
    return total, fma(x[0], y[1], fma(x[1], y[0], fma(x[0], y[0], -total)))


def multiple(x: tuple[float | Float, float | Float], factor: Float) -> Sum:
    """Return the product of a number of twice the precision and another one."""
    high = factor * x[0]
    return high, fma(factor, x[1], fma(factor, x[0], -high))


def log_as_sum(negative: Float, f: Float) -> Sum:
    """Return log(1 + f) less ``negative`` times log(2), and the most of what that loses.

    log(1 + f) = 2 s + s³ (2/3 + s² R(s²)) with s = f / (2 + f). The second term is less than a
    hundredth of the first: what its factors lose is enough.
    """
    dtype = f.dtype
    inverse = 1.0 / (f + 2.0)
    s = f * inverse
    # f - s (2 + f), the difference exact
    s_low = fma(-s, f, fma(s, s.number(-2.0), f)) * inverse

    square = s * s
    two_thirds, *others = coefficients.LOG_LONGER[dtype]
    series = fma(square, paired(square, others[1:]), others[0])
    u = fma(square, series, two_thirds)
    u_low = fma(square, series, two_thirds - u)
    v = square * u
    v_low = fma(square, u_low, fma(fma(s, s, -square), u, fma(square, u, -v)))
    w = s * v
    w_low = fma(s, v_low, fma(s, v, -w))
    rest = fma(s_low, fma(v, v.number(_SLOPE), 2.0), w_low)

    high, low = coefficients.LOG_2[dtype]
    twice = s + s
    first = fma(negative, -high, twice)
    lost = twice - fma(negative, high, first)  # exact, as the product is
    total, lost_then = fast_sum(first, w)
    return total, fma(negative, -low, rest) + (lost + lost_then)


def _exponential(x: Float, x_low: Float) -> tuple[Float, Bits]:
    """Return a number from about 1/√2 to √2 and bits whose lowest hold n: 2**n times it is e**x."""
    format_ = x.format
    dtype = format_.dtype
    shift = format_.unit_shift
    moved = fma(x, coefficients.INVERSE_LOG_2[dtype][0], shift)
    n = moved - shift
    high, low = coefficients.LOG_2[dtype]
    # the first sum is exact
    r, r_low = fast_sum(fma(n, -high, x), fma(n, -low, x_low))
    one, lost = fast_sum(1.0, r)
    return one + fma(r * r, paired(r, coefficients.EXP[dtype]), lost + r_low), moved.bits


def pow(x: Float, y: Float) -> Float:
    """Return x to the power y."""
    x, y = x.settled, y.settled
    moved = y + y.format.unit_shift
    other = _is_no_product(x, y, moved - y.format.unit_shift)

    def multiplied() -> Float:
        return _product_of_factors(x, moved.bits)

    def general() -> Float:
        if x.body.lanes == 1:
            return _pow_of_extremes(x, y)
        found = _general(x, y)
        return beside(~other, lambda: other.select(found, multiplied()), found)

    return one_of(other, general, multiplied)


def _is_no_product(x: Float, y: Float, whole: Float) -> Truth:
    """Whether the exponent is not small and whole, or what factors lose might not be normal."""
    size = abs(x)
    # what is lost of the product of all factors is a number of the format
    reach = 2.0 ** ((x.format.bias - x.format.fraction - 1) // _MOST)
    outside = y.is_not_at_least(0.0) | (y > _MOST) | whole.differs_from(y)
    return outside | size.is_not_at_least(1 / reach) | (size > reach)


def _product_of_factors(x: Float, count: Bits) -> Float:
    """Return the product of as many factors x as the lowest bits say, rounded once."""
    high, low = (count & _BITS[0]).compared("ne", 0).select(x, 1.0), None
    for bit in _BITS[1:]:
        square = high * high
        lost = fma(high, high, -square)
        low = lost if low is None else fma(high + high, low, lost)
        factor = (count & bit).compared("ne", 0).select(x, 1.0)
        high = square * factor
        low = fma(low, factor, fma(square, factor, -high))
    assert low is not None
    return high + low


def _general(x: Float, y: Float) -> Float:
    """Return x to the power y, by a logarithm, in each of several lanes."""
    format_ = x.format
    size = abs(x)
    k = exponent(size, ROOT)
    high, low = multiple(log_as_sum(k.negative, fma(size, k.power, -1.0)), y)
    found, n = _exponential(high, low)
    usual = (found.bits + (n << format_.fraction)).number
    # so far from the ends of the exponents that the result is normal
    far = x.number((format_.bias - 2) * math.log(2)).is_not_at_least(abs(high))

    def signed() -> Float:
        rare = unusual(size, ROOT) | far
        return sometimes(rare, _pow_of_extremes, [x, y], _signed(usual, x, y))

    return beside(unusual(x, ROOT) | far, signed, usual)


def _signed(found: Float, x: Float, y: Float) -> Float:
    """Return x to the power y, given what the size of x is to that power."""
    half = y * 0.5
    fractional = y.floor.differs_from(y)
    odd = half.floor.differs_from(half)
    # the half of an integer that is large is one too
    signed = fractional.select(1.0, odd.select(x, 1.0))
    undefined = (x < 0.0) & (abs(x) < math.inf) & fractional
    return undefined.select(math.nan, found.with_sign_of(signed))


def _pow_of_extremes(x: Float, y: Float) -> Float:
    """Return a power of any number, any power."""
    format_ = x.format
    size = abs(x)
    logarithm, rest = log_as_sum(*parts_of_any(size))
    infinite = size.equals(math.inf).select(math.inf, logarithm)
    logarithm = size.equals(0.0).select(-math.inf, infinite)

    # beyond, a power is 0, 1 or infinite
    limit = 2.0 ** (format_.fraction + 13)
    high, low = multiple((logarithm, rest), y.at_most(limit).at_least(-limit))
    limited = bounded(high)
    argument = limited.argument
    found, n = _exponential(argument, argument.equals(high).select(low, 0.0))
    found = limited.exponential(scaled(found, n + 2 * format_.bias))
    found = _signed(found, x, y)
    return (x.equals(1.0) | y.equals(0.0)).select(1.0, found)
