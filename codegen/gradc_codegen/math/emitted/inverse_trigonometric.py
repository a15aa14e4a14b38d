"""atan, atan2, asin and acos: a polynomial in an argument that is made small first.

Tangents are replaced by their inverses beyond 1, sines beyond 1/2 by that of half the other angle:
the reductions of *fdlibm* by K. C. Ng of Sun Microsystems, 1993, with the fewest breakpoints.
"""

from __future__ import annotations

import math

from gradc_codegen.math.emitted import coefficients
from gradc_codegen.math.emitted.builder import Bits, Float, Truth, fast_sum, fma
from gradc_codegen.math.emitted.polynomials import horner, paired
from gradc_codegen.math.emitted.rare import rarely
from gradc_ir.core.types import DType


def atan(x: Float) -> Float:
    """Return the angle whose tangent is x, between -π/2 and π/2."""
    size = abs(x)
    steep = size > 1.0
    t = size.at_most(1.0) / size.at_least(1.0)
    t = (t.bits ^ _sign_where(steep, x)).number
    base = steep.select(coefficients.HALF_PI[x.dtype][0], 0.0)
    return (base + _angle(t)).with_sign_of(x)


def _angle(t: Float) -> Float:
    """Return the angle of a tangent between -1 and 1."""
    square = t * t
    return fma(t * square, _series(square, coefficients.ATAN), t)


def _series(x: Float, table: coefficients.Table) -> Float:
    """Return a polynomial: a long one must not wait, a short one may."""
    dtype = x.dtype
    return (paired if dtype is DType.F64 else horner)(x, table[dtype])


def _sign_where(where: Truth, like: Float) -> Bits:
    """Return the bit of the sign where a condition holds, otherwise zero."""
    return where.select(like.number(-0.0), 0.0).bits


def atan2(y: Float, x: Float) -> Float:
    """Return the angle of the point (x, y), between -π and π."""
    y, x = y.settled, x.settled
    height, width = abs(y), abs(x)
    steep = height > width
    t = steep.select(width, height) / steep.select(height, width)
    # NaN if both are zero or infinite too
    return rarely(t.differs_from(t), _atan2_of_special, [y, x], _angle_of_point(y, x, t, steep))


def _angle_of_point(y: Float, x: Float, t: Float, steep: Truth) -> Float:
    """Return atan2, where t is the smaller coordinate's size by the larger one's.

    The angle is counted from π/2 in steep directions, otherwise from 0 or π.
    """
    sign = (_sign_where(steep, x) ^ x.bits) & x.number(-0.0).bits
    high = x.number(coefficients.HALF_PI[x.dtype][0])
    base = high - steep.select(0.0, high.with_sign_of(x))
    return (base + _angle((t.bits ^ sign).number)).with_sign_of(y)


def _atan2_of_special(y: Float, x: Float) -> Float:
    t = abs(x).equals(math.inf).select(1.0, 0.0)
    found = _angle_of_point(y, x, t, abs(y) > abs(x))
    total = x + y
    return (y.equals(y) & x.equals(x)).select(found, total)


def _reduced_sine(x: Float) -> tuple[Truth, Float, Float]:
    """Return whether x is large, the square of t, and 2 t for large x.

    t is |x| up to 1/2, and from there on √((1 - |x|) / 2), the sine of half the other angle.
    """
    size = abs(x)
    # exact where they count; the one of the other range is larger
    half, squared = fma(size, -0.5, 0.5), size * size
    square = (squared < half).select(squared, half)
    return size > 0.5, square, x.body.intrinsic("sqrt", fma(size, -2.0, 2.0))


def asin(x: Float) -> Float:
    """Return the angle whose sine is x, between -π/2 and π/2."""
    large, square, twice = _reduced_sine(x)
    high, low = coefficients.HALF_PI[x.dtype]
    t = large.select(-twice, abs(x))
    total, lost = fast_sum(large.select(high, 0.0), t)
    lost = lost + large.select(low, 0.0)
    rest = fma(t * square, _series(square, coefficients.ASIN), lost)
    return (total + rest).with_sign_of(x)


def acos(x: Float) -> Float:
    """Return the angle whose cosine is x, between 0 and π."""
    large, square, twice = _reduced_sine(x)
    high = x.number(coefficients.HALF_PI[x.dtype][0])
    # π/2 - asin(x) where x is small, else 2 asin(t) or π - 2 asin(t)
    t = large.select(twice.with_sign_of(x), -x)
    base = high - large.select(high.with_sign_of(x), 0.0)
    return fma(t * square, _series(square, coefficients.ASIN), base + t)
