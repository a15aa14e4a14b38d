"""sin, cos and tan: both polynomials of what the angle is beyond a right one, and one is taken."""

from __future__ import annotations

from gradc_codegen.math.emitted import coefficients
from gradc_codegen.math.emitted.angle import Angle, is_huge, reduced, reduced_huge
from gradc_codegen.math.emitted.builder import Bits, Float, fast_sum, fma, polynomial
from gradc_codegen.math.emitted.rare import rarely


def sin(x: Float) -> Float:
    """Return the sine."""
    x = x.settled
    size = abs(x)
    return rarely(is_huge(size), _sin_of_huge, [x], _sin_at(reduced(size), x))


def cos(x: Float) -> Float:
    """Return the cosine."""
    x = x.settled
    size = abs(x)
    return rarely(is_huge(size), _cos_of_huge, [size], _cos_at(reduced(size)))


def tan(x: Float) -> Float:
    """Return the tangent."""
    x = x.settled
    size = abs(x)
    return rarely(is_huge(size), _tan_of_huge, [x], _tan_at(reduced(size), x))


def _sin_of_huge(x: Float) -> Float:
    return _sin_at(reduced_huge(abs(x)), x) + (x - x)  # of infinity, NaN


def _cos_of_huge(x: Float) -> Float:
    return _cos_at(reduced_huge(x)) + (x - x)


def _tan_of_huge(x: Float) -> Float:
    return _tan_at(reduced_huge(abs(x)), x) + (x - x)


def _sine_and_cosine(angle: Angle) -> tuple[tuple[Float, Float], tuple[Float, Float]]:
    """Return both as sums, not counting the right angles."""
    high, low = angle.high, angle.low
    dtype = high.format.dtype
    square = high * high
    cubed = square * high
    of_sine = polynomial(square, coefficients.SIN[dtype])
    of_cosine = polynomial(square, coefficients.COS[dtype])
    below_one = fma(square, -0.5, 1.0)
    lost = fma(square, -0.5, 1.0 - below_one)  # exact
    sine = fma(cubed, of_sine, low)
    cosine = fma(square * square, of_cosine, fma(high, -low, lost))
    return (high, sine), (below_one, cosine)


def _with_sign(x: Float, bits: Bits) -> Float:
    """Return the number with its sign changed where the highest bit is set."""
    sign = 1 << (x.format.width - 1)
    return (x.bits ^ (bits & sign)).number


def _sin_at(angle: Angle, x: Float) -> Float:
    """Return the sine of x, where the angle is that of its size."""
    sine, cosine = _sine_and_cosine(angle)
    found = angle.quadrant.is_odd.select(sum_of(cosine), sum_of(sine))
    return _with_sign(found, (angle.quadrant << (x.format.width - 2)) ^ x.bits)


def _cos_at(angle: Angle) -> Float:
    sine, cosine = _sine_and_cosine(angle)
    found = angle.quadrant.is_odd.select(sum_of(sine), sum_of(cosine))
    return _with_sign(found, (angle.quadrant + 1) << (found.format.width - 2))


def _tan_at(angle: Angle, x: Float) -> Float:
    """Return the tangent of x, where the angle is that of its size."""
    sine, cosine = (fast_sum(*parts) for parts in _sine_and_cosine(angle))
    odd = angle.quadrant.is_odd
    above, above_low = (odd.select(b, a) for a, b in zip(sine, cosine))
    below, below_low = (odd.select(a, b) for a, b in zip(sine, cosine))
    inverse = 1.0 / below
    quotient = above * inverse
    missing = fma(-quotient, below, above) + fma(-quotient, below_low, above_low)
    found = fma(missing, inverse, quotient)
    return _with_sign(found, (angle.quadrant << (x.format.width - 1)) ^ x.bits)


def sum_of(parts: tuple[Float, Float]) -> Float:
    """Return the rounded sum of two numbers."""
    return parts[0] + parts[1]
