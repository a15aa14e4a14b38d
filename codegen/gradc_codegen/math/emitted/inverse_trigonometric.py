"""atan, atan2, asin and acos: a polynomial in an argument that is made small first.

The reductions are those of *fdlibm* by K. C. Ng of Sun Microsystems, 1993, with fewer breakpoints
for atan; what quotients and square roots lose is kept.
"""

from __future__ import annotations

import math

from gradc_codegen.math.emitted import coefficients
from gradc_codegen.math.emitted.builder import Float, fast_sum, fma, polynomial
from gradc_codegen.math.emitted.rare import rarely

# tan(π/8) and its inverse: between them the difference of the angle and π/4 is taken
_NEAR, _FAR = 0.41421356237309503, 2.414213562373095
# beyond, the angle is π/2 to the last place
_FLAT = 2.0**60


def atan(x: Float) -> Float:
    """Return the angle whose tangent is x, between -π/2 and π/2."""
    size = abs(x).at_most(_FLAT)
    middle, far = size > _NEAR, size > _FAR
    # size / 1, (size - 1) / (size + 1) or -1 / size: what is not in it is zero
    above = fast_sum(middle.select(-1.0, 0.0), far.select(0.0, size))
    below = fast_sum(far.select(0.0, 1.0), middle.select(size, 0.0))
    t, rest = _of_quotient(above, below)
    high, low = coefficients.QUARTER_PI[x.format.dtype]  # once, or twice for the far ones
    total, lost = fast_sum(middle.select(high, 0.0) + far.select(high, 0.0), t)
    angle_low = middle.select(low, 0.0) + far.select(low, 0.0)
    return (total + (lost + (rest + angle_low))).with_sign_of(x)


def _of_quotient(above: tuple[Float, Float], below: tuple[Float, Float]) -> tuple[Float, Float]:
    """Return as a sum the angle whose tangent is a quotient of sums, up to tan(π/8) in size."""
    inverse = 1.0 / below[0]
    t = above[0] * inverse
    missing = (fma(-t, below[0], above[0]) + fma(-t, below[1], above[1])) * inverse
    square = t * t
    return t, fma(t * square, polynomial(square, coefficients.ATAN[t.format.dtype]), missing)


def atan2(y: Float, x: Float) -> Float:
    """Return the angle of the point (x, y), between -π and π."""
    y, x, bias = y.settled, x.settled, x.format.bias
    larger = _larger(abs(x), abs(y))
    # beyond, quotients and their errors might not be numbers of the format
    rare = (larger > 2.0 ** (bias // 3)) | (larger < 2.0 ** -(bias // 3))
    return rarely(rare, _atan2_of_extremes, [y, x], _atan2_at(y, x))


def _larger(x: Float, y: Float) -> Float:
    return (x < y).select(y, x)


def _atan2_at(y: Float, x: Float) -> Float:
    """Return atan2 where the larger of the two is of moderate size."""
    height, width = abs(y), abs(x)
    middle, far = height > width * _NEAR, height > width * _FAR
    above = fast_sum(middle.select(-width, 0.0), far.select(0.0, height))
    below = fast_sum(far.select(0.0, width), middle.select(height, 0.0))
    t, rest = _of_quotient(above, below)
    left = x.number(1.0).with_sign_of(x) < 0.0
    count = middle.select(1.0, 0.0) + far.select(1.0, 0.0)
    count = left.select(4.0 - count, count)
    high, low = coefficients.QUARTER_PI_SHORT[x.format.dtype]
    total, lost = fast_sum(count * high, left.select(-t, t))  # the product is exact
    rest = fma(count, low, left.select(-rest, rest))
    return (total + (lost + rest)).with_sign_of(y)


def _atan2_of_extremes(y: Float, x: Float) -> Float:
    height, width = abs(y), abs(x)
    larger = _larger(height, width)
    scale = (larger > 1.0).select(2.0**-600, 2.0**600)
    infinite = larger.equals(math.inf)
    up = infinite.select(height.equals(math.inf).select(1.0, 0.0), height * scale)
    right = infinite.select(width.equals(math.inf).select(1.0, 0.0), width * scale)
    right = larger.equals(0.0).select(1.0, right)
    # scaling may have lost what is small beside the other
    flat = (x > 0.0) & (height < width * 2.0**-40)
    return flat.select(y / x, _atan2_at(up.with_sign_of(y), right.with_sign_of(x)))


def _small_or_complement(x: Float) -> tuple[Float, Float, Float]:
    """Return t, what rounding it lost, and asin(t) - t.

    t is |x| up to 1/2, and from there on √((1 - |x|) / 2), the sine of half the other angle.
    """
    size = abs(x)
    large = size > 0.5
    half = (1.0 - size) * 0.5  # exact where it counts
    square = large.select(half, size * size)
    root = x.body.intrinsic("sqrt", half)
    series = polynomial(square, coefficients.ASIN[x.format.dtype])
    t = large.select(root, size)
    positive = large.select(root, 1.0)
    lost = fma(-root, root, half) * 0.5 / (positive + x.format.smallest_normal)
    return t, large.select(lost, 0.0), t * square * series


def asin(x: Float) -> Float:
    """Return the angle whose sine is x, between -π/2 and π/2."""
    t, lost, rest = _small_or_complement(x)
    high, low = coefficients.HALF_PI[x.format.dtype]
    total, error = fast_sum(high, t * -2.0)
    complement = total + (error + fma(rest + lost, x.number(-2.0), low))
    return (abs(x) > 0.5).select(complement, t + rest).with_sign_of(x)


def acos(x: Float) -> Float:
    """Return the angle whose cosine is x, between 0 and π."""
    t, lost, rest = _small_or_complement(x)
    high, low = coefficients.HALF_PI[x.format.dtype]
    rest = rest + lost
    below = x < 0.0
    # π/2 - asin(x) where x is small, else 2 asin(t) or π - 2 asin(t)
    signed = t.with_sign_of(x)
    total, error = fast_sum(high, -signed)
    middle = total + (error + (low - rest.with_sign_of(x)))
    near = (t + rest) * 2.0
    total, error = fast_sum(2.0 * high, t * -2.0)
    opposite = total + (error + fma(rest, x.number(-2.0), 2.0 * low))
    return (abs(x) > 0.5).select(below.select(opposite, near), middle)
