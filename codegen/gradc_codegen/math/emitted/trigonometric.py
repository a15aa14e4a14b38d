"""sin, cos and tan: polynomials of what the angle is beyond a right one, and one is taken.

The sine and the cosine of one number share all but the choice: a program with both computes them
once. The tangent is a quotient of shorter polynomials, upside down beyond an odd right angle.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradc_codegen.math.emitted import coefficients
from gradc_codegen.math.emitted.angle import Angle, is_huge, reduced, reduced_huge
from gradc_codegen.math.emitted.builder import Bits, Float, fma, horner
from gradc_codegen.math.emitted.rare import rarely


def sin(x: Float) -> Float:
    """Return the sine."""
    x = x.settled
    return rarely(is_huge(abs(x)), _sin_of_huge, [x], _sin_at(reduced(x)))


def cos(x: Float) -> Float:
    """Return the cosine."""
    x = x.settled
    return rarely(is_huge(abs(x)), _cos_of_huge, [x], _cos_at(reduced(x)))


def tan(x: Float) -> Float:
    """Return the tangent."""
    x = x.settled
    return rarely(is_huge(abs(x)), _tan_of_huge, [x], _tan_at(reduced(x)))


def _sin_of_huge(x: Float) -> Float:
    return _with_sign(_sin_at(reduced_huge(abs(x))), x.bits) + (x - x)  # of infinity, NaN


def _cos_of_huge(x: Float) -> Float:
    return _cos_at(reduced_huge(abs(x))) + (x - x)


def _tan_of_huge(x: Float) -> Float:
    return _with_sign(_tan_at(reduced_huge(abs(x))), x.bits) + (x - x)


def _with_sign(x: Float, bits: Bits) -> Float:
    """Return the number with its sign changed where the highest bit is set."""
    return (x.bits ^ (bits & (1 << (x.format.width - 1)))).number


def _sine_and_cosine(angle: Angle) -> tuple[Float, Float]:
    """Return both, not counting the right angles.

    The sine is rounded once but for a small part. The cosine is 1 - square (1/2 - ...): there the
    square has to be that of the whole angle.
    """
    high, excess = angle.high, angle.excess
    dtype = high.format.dtype
    square = high * high
    sine = _less(high, square, coefficients.SIN[dtype], excess)
    whole = fma(high, high, -((high + high) * excess))
    cosine = fma(whole, horner(square, (-0.5, *coefficients.COS[dtype])), 1.0)
    return sine, cosine


def _less(high: Float, square: Float, series: Sequence[float], excess: Float) -> Float:
    """Return the number plus its cube times a series in its square, less what is in excess.

    Written as one difference it has the sign of zeros.
    """
    return high - fma(square * high, horner(square, [-c for c in series]), excess)


def _sin_at(angle: Angle) -> Float:
    sine, cosine = _sine_and_cosine(angle)
    found = angle.quadrant.is_odd.select(cosine, sine)
    return _with_sign(found, angle.quadrant << (found.format.width - 2))


def _cos_at(angle: Angle) -> Float:
    sine, cosine = _sine_and_cosine(angle)
    found = angle.quadrant.is_odd.select(sine, cosine)
    return _with_sign(found, (angle.quadrant + 1) << (found.format.width - 2))


def _tan_at(angle: Angle) -> Float:
    """Return the tangent, of which each right angle makes the negative inverse."""
    high, dtype = angle.high, angle.high.format.dtype
    _, *above = coefficients.TAN_ABOVE[dtype]  # both constants are 1
    _, *below = coefficients.TAN_BELOW[dtype]
    square = high * high
    rest = horner(square, below)
    under = fma(square, rest, 1.0)
    # what rounding lost of it, as if the other one had it, by nearly the tangent; 2 - under is
    # nearly one over under
    lost = fma(square, rest, 1.0 - under)
    excess = fma(high, lost, angle.excess) * (2.0 - under)
    over = _less(high, square, above, excess)
    odd = angle.quadrant.is_odd
    quotient = odd.select(under, over) / odd.select(over, under)
    return _with_sign(quotient, angle.quadrant << (high.format.width - 1))
