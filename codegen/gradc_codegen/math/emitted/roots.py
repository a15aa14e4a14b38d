"""cbrt and hypot: an approximation, and one step of Newton's method with what it lacks."""

from __future__ import annotations

import math

from gradc_codegen.math.emitted import coefficients
from gradc_codegen.math.emitted.builder import Float, exact_sum, fma, polynomial
from gradc_codegen.math.emitted.exponential import power_of_two
from gradc_codegen.math.emitted.logarithm import decomposed
from gradc_codegen.math.emitted.rare import rarely

# bits of half a reciprocal, less those of 2 / x: an exponent, and what evens out the errors
_HALVED = 1.045


def cbrt(x: Float) -> Float:
    """Return the cube root: x = m 8**n with m between 1/4 and 4, and the root of m."""
    format_ = x.format
    size = abs(x)
    exponent, f, _ = decomposed(size)
    shift = format_.unit_shift
    n = fma(exponent, 1 / 3, shift) - shift
    remainder = fma(n, -3.0, exponent)  # -1, 0 or 1
    m = (f + 1.0) * power_of_two(remainder)

    third = (remainder > 0.0).select(2.0 ** (-1 / 3), (remainder < 0.0).select(2.0 ** (1 / 3), 1.0))
    inverse = polynomial(f, coefficients.INVERSE_CBRT[format_.dtype]) * third
    # 1 / ∛m = inverse / ∛(1 - e)
    e = fma(-(inverse * inverse), m * inverse, 1.0)
    inverse = fma(inverse * e, polynomial(e, (1 / 3, 2 / 9, 14 / 81)), inverse)
    inverse_square = inverse * inverse
    root = m * inverse_square

    missing = fma(-(root * root), root, m)
    root = fma(missing, inverse_square * (1 / 3), root)
    ordinary = (size > 0.0) & (size < math.inf)
    return ordinary.select((root * power_of_two(n)).with_sign_of(x), x)


def hypot(x: Float, y: Float) -> Float:
    """Return √(x² + y²)."""
    x, y, bias = x.settled, y.settled, x.format.bias
    square, root = _hypot_at(x, y)
    # where squares or what they lose might not be numbers of the format; NaN next to infinity
    rare = (square > 2.0 ** (bias - 6)) | square.is_not_at_least(2.0 ** -(2 * bias // 3))
    return rarely(rare, _hypot_of_extremes, [x, y], root)


def _hypot_at(x: Float, y: Float) -> tuple[Float, Float]:
    """Return the sum of the squares, and its root."""
    format_ = x.format
    square, other = x * x, y * y
    total, lost = exact_sum(square, other)
    lost = lost + (fma(x, x, -square) + fma(y, y, -other))
    root = x.body.intrinsic("sqrt", total)
    # a part in sixteen is enough for the correction, and the bits of a reciprocal are nearly linear
    magic = 2 * format_.one_bits - int(_HALVED * 2**format_.fraction)
    half_reciprocal = (magic - root.bits).number
    return total, fma(fma(-root, root, total) + lost, half_reciprocal, root)


def _hypot_of_extremes(x: Float, y: Float) -> Float:
    x, y = abs(x), abs(y)
    larger = (x < y).select(y, x)
    infinite = x.equals(math.inf) | y.equals(math.inf)
    large, small = larger > 2.0**300, larger < 2.0**-300
    scale = large.select(2.0**-700, small.select(2.0**700, 1.0))
    back = large.select(2.0**700, small.select(2.0**-700, 1.0))
    _, root = _hypot_at(x * scale, y * scale)
    return infinite.select(math.inf, root * back)
