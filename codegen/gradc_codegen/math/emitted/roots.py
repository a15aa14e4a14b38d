"""Roots from the bits of an argument, and steps that take off what they lack; cbrt and hypot."""

from __future__ import annotations

import math
from collections.abc import Callable

from gradc_codegen.math.emitted import coefficients
from gradc_codegen.math.emitted.builder import Float, Truth, exact_sum, fma
from gradc_codegen.math.emitted.polynomials import horner
from gradc_codegen.math.emitted.rare import sometimes

# The bits of 1 / √x are nearly 3/2 of those of 1 less half of those of x, and of 1 / ∛x 4/3 of them
# less a third. This, in units of the last bit of an exponent, evens out the errors.
_EVENED = 0.068
# bits of half a reciprocal, less those of 2 / x: an exponent, and what evens out the errors
_HALVED = 1.045


def _square_root(x: Float) -> Float:
    """Return the square root of a number that is zero or positive and normal, nearly rounded.

    In loops it is faster than the machine's own, of which a wide vector takes 18 cycles.
    """
    format_ = x.format
    bits = format_.one_bits * 3 // 2 - int(_EVENED * 2.0**format_.fraction)
    inverse = (bits - (x.bits >> 1)).number
    e = fma(-(x * inverse), inverse, 1.0)
    series = horner(e, coefficients.INVERSE_ROOT[format_.dtype])
    inverse = fma(inverse, e * series, inverse)
    root = x * inverse
    return fma(fma(-root, root, x), inverse * 0.5, root)


def cbrt(x: Float) -> Float:
    """Return the cube root."""
    x = x.settled
    size = abs(x)
    rare = _without_rest(size)
    return sometimes(rare, _cbrt_of_extremes, [x], _cbrt_of_size(size).with_sign_of(x))


def _inverse_cbrt(x: Float) -> Float:
    """Return 1 / ∛x to a thirtieth."""
    format_ = x.format
    bits = (format_.one_bits * 4 // 3) - int(_EVENED * 2.0**format_.fraction)
    if format_.width == 64:
        # of 32 bits there are products in vectors
        return (bits - (x.bits >> 32) * ((1 << 32) // 3 + 1)).number
    # the low bits of a sum with this power of two, in units of 256, are an integer
    unit = 2.0**format_.fraction
    return (fma(x.bits.signed, -1 / 3 / 256, unit + bits / 256).bits << 8).number


def _cbrt_of_size(x: Float) -> Float:
    dtype = x.dtype
    inverse = _inverse_cbrt(x)
    # 1 / ∛x = inverse / ∛(1 - e)
    e = fma(-(inverse * inverse), x * inverse, 1.0)
    inverse = fma(inverse * e, horner(e, coefficients.INVERSE_CBRT[dtype]), inverse)
    square = inverse * inverse
    root = x * square
    missing = fma(-(root * root), root, x)
    if x.format.width == 32:
        return fma(missing * (1 / 3), square, root)
    # missing / (3 root²), and a term of its square, where root inverse = 1 - e
    e = fma(-inverse, root, 1.0)
    return fma(missing * square, fma(e, e.number(4 / 9), 1 / 3), root)


def _cbrt_of_extremes(x: Float) -> Float:
    size = abs(x)
    shift = x.format.fraction + 1
    root = _cbrt_of_size(size * 2.0 ** (3 * shift)) * 2.0**-shift
    return ((size > 0.0) & (size < math.inf)).select(root.with_sign_of(x), x)


def hypot(x: Float, y: Float) -> Float:
    """Return √(x² + y²), nan beside an infinity too: it stands for the sum of the squares."""
    return _hypot(x, y, _hypot_of_extremes)


def hypot_infinity_wins(x: Float, y: Float) -> Float:
    """Return √(x² + y²), inf beside a nan, as C's function does."""
    return _hypot(x, y, _hypot_infinity_wins_of_extremes)


def _hypot(x: Float, y: Float, of_extremes: Callable[[Float, Float], Float]) -> Float:
    x, y = x.settled, y.settled
    total = fma(x, x, y * y)
    root = _square_root(total)
    # what subnormal squares lose counts for nothing beside larger ones
    return sometimes(_without_rest(total), of_extremes, [x, y], root)


def _without_rest(size: Float) -> Truth:
    """Whether a number's unit in the last place is subnormal, or it is not finite."""
    format_ = size.format
    least, sign = (format_.fraction + 4) << format_.fraction, 1 << (format_.width - 1)
    infinite = (2 * format_.bias + 1) << format_.fraction
    # the sign moves the bits that belong together to one side
    return (size.bits + (sign - least)).exceeds(infinite - least - sign - 1)


def _hypot_of_extremes(x: Float, y: Float) -> Float:
    return _infinite(x, y, x.equals(x) & y.equals(y) & _is_infinite(x, y))


def _hypot_infinity_wins_of_extremes(x: Float, y: Float) -> Float:
    return _infinite(x, y, _is_infinite(x, y))


def _is_infinite(x: Float, y: Float) -> Truth:
    return abs(x).equals(math.inf) | abs(y).equals(math.inf)


def _infinite(x: Float, y: Float, where: Truth) -> Float:
    """Return the root of a sum of squares that may over- or underflow; infinite where told."""
    zero = x.equals(0.0) & y.equals(0.0)
    small = (abs(x) < 1.0) & (abs(y) < 1.0)
    shift = x.format.bias * 5 // 8
    scale = small.select(2.0**shift, 2.0**-shift)
    root = _rounded_hypot(x * scale, y * scale) * small.select(2.0**-shift, 2.0**shift)
    return where.select(math.inf, zero.select(0.0, root))


def _rounded_hypot(x: Float, y: Float) -> Float:
    """Return the root of the sum of squares, nearly always rounded from the true one.

    So that the largest number is not exceeded by mistake.
    """
    format_ = x.format
    square, other = x * x, y * y
    total, lost = exact_sum(square, other)
    lost = lost + (fma(x, x, -square) + fma(y, y, -other))
    root = x.body.intrinsic("sqrt", total)
    # a part in sixteen is enough for the correction, and the bits of a reciprocal are nearly linear
    magic = 2 * format_.one_bits - int(_HALVED * 2**format_.fraction)
    half_reciprocal = (magic - root.bits).number
    return fma(fma(-root, root, total) + lost, half_reciprocal, root)
