"""atan, asin and acos: a polynomial in an argument that is made small first.

The reductions are those of *fdlibm* by K. C. Ng of Sun Microsystems, 1993, with fewer breakpoints
for atan; what quotients and square roots lose is kept.
"""

from __future__ import annotations

from gradc_codegen.math.emitted import coefficients
from gradc_codegen.math.emitted.builder import Float, fast_sum, fma, polynomial

# tan(π/8) and its inverse: between them the difference of the angle and π/4 is taken
_NEAR, _FAR = 0.41421356237309503, 2.414213562373095
# beyond, the angle is π/2 to the last place
_FLAT = 2.0**60


def atan(x: Float) -> Float:
    """Return the angle whose tangent is x, between -π/2 and π/2."""
    dtype = x.format.dtype
    size = abs(x).at_most(_FLAT)
    middle, far = size > _NEAR, size > _FAR
    # size / 1, (size - 1) / (size + 1) or -1 / size: what is not in it is zero
    above, above_low = fast_sum(middle.select(-1.0, 0.0), far.select(0.0, size))
    below, below_low = fast_sum(far.select(0.0, 1.0), middle.select(size, 0.0))

    inverse = 1.0 / below
    t = above * inverse
    missing = (fma(-t, below, above) + fma(-t, below_low, above_low)) * inverse
    square = t * t
    series = polynomial(square, coefficients.ATAN[dtype])
    high, low = coefficients.QUARTER_PI[dtype]  # once, or twice for the far ones
    total, lost = fast_sum(middle.select(high, 0.0) + far.select(high, 0.0), t)
    angle_low = middle.select(low, 0.0) + far.select(low, 0.0)
    rest = fma(t * square, series, missing + angle_low)
    return (total + (lost + rest)).with_sign_of(x)


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
