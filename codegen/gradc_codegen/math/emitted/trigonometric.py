"""sin, cos and tan of what an angle is beyond right ones.

The cosine is 1 - 2 sin(t / 2)², so that one polynomial serves both: of the angle or of half of it,
as the number of right angles says. Where a program has the sine and the cosine of one number, both
polynomials are computed, and shared. The tangent is a quotient of shorter polynomials, upside down
beyond an odd right angle.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from gradc_codegen.math.emitted import coefficients
from gradc_codegen.math.emitted.angle import (
    DISTINCT,
    Angle,
    is_doubtful,
    is_huge,
    nearly_reduced,
    reduced,
    reduced_huge,
)
from gradc_codegen.math.emitted.builder import Float, Truth, fma
from gradc_codegen.math.emitted.polynomials import horner, polynomial
from gradc_codegen.math.emitted.quadrant import Quadrant, with_sign
from gradc_codegen.math.emitted.rare import rarely, sometimes
from gradc_ir.classes.named import NamedTuple


class _Parts(NamedTuple):
    """What a function is of an even number of right angles, and of an odd one.

    Parameters
    ----------
    sine, cosine: how many sines and cosines of the rest.
    """

    sine: tuple[float, float]
    cosine: tuple[float, float]


_SINE = _Parts((1.0, 0.0), (0.0, 1.0))
_COSINE = _Parts((0.0, -1.0), (1.0, 0.0))


def sin(x: Float) -> Float:
    """Return the sine."""
    return _usually(x, partial(_of_one, parts=_SINE), _sin_of_any)


def cos(x: Float) -> Float:
    """Return the cosine."""
    return _usually(x, partial(_of_one, parts=_COSINE), _cos_of_any)


def sin_beside_cos(x: Float) -> Float:
    """Return the sine, of instructions that the cosine of the number shares."""
    return _usually(x, partial(_of_both, parts=_SINE), _sin_of_any)


def cos_beside_sin(x: Float) -> Float:
    """Return the cosine, of instructions that the sine of the number shares."""
    return _usually(x, partial(_of_both, parts=_COSINE), _cos_of_any)


def tan(x: Float) -> Float:
    """Return the tangent."""
    return _usually(x, _tan_at, _tan_of_any)


def _usually(
    x: Float, at: Callable[[Angle], tuple[Float, Truth]], of_any: Callable[[Float], Float]
) -> Float:
    """Return a function at the angle of a number, and behind a branch that of any number."""
    x = x.settled
    usual, doubtful = at(nearly_reduced(x))
    return sometimes(doubtful, of_any, [x], usual)


def _sin_of_any(x: Float) -> Float:
    return rarely(is_huge(abs(x)), _sin_of_huge, [x], _of_one(reduced(x), _SINE)[0])


def _cos_of_any(x: Float) -> Float:
    return rarely(is_huge(abs(x)), _cos_of_huge, [x], _of_one(reduced(x), _COSINE)[0])


def _tan_of_any(x: Float) -> Float:
    return rarely(is_huge(abs(x)), _tan_of_huge, [x], _tan_at(reduced(x))[0])


def _sin_of_huge(x: Float) -> Float:
    found, _ = _of_one(reduced_huge(abs(x)), _SINE)
    return with_sign(found, x.bits) + (x - x)  # of infinity, NaN


def _cos_of_huge(x: Float) -> Float:
    return _of_one(reduced_huge(abs(x)), _COSINE)[0] + (x - x)


def _tan_of_huge(x: Float) -> Float:
    return with_sign(_tan_at(reduced_huge(abs(x)))[0], x.bits) + (x - x)


def _of_one(angle: Angle, parts: _Parts) -> tuple[Float, Truth]:
    """Return the sine or the cosine, and whether the angle is a doubtful one.

    The sine of the angle or of its half is computed times a power of two, with which the excess
    tells whether the angle is doubtful.
    """
    times = DISTINCT[angle.high.dtype]
    right = Quadrant(angle.quadrant)

    def halved(factor: float) -> tuple[float, float]:
        """Return a factor, half of it for a cosine."""
        even, odd = parts.cosine
        return factor * (1.0 - even / 2), factor * (1.0 - odd / 2)

    part = angle.high * right.constant(*halved(1.0))
    square = part * part
    # + 0.0 makes zeros positive: subtracted they keep the sign of a zero
    excess = fma(angle.excess, right.constant(*halved(times * angle.unit)), 0.0)
    series = [-times * c for c in coefficients.SIN[part.dtype]]
    small = fma(square * part, polynomial(square, series), excess)
    sine = fma(angle.base, right.constant(*halved(times)), -small)

    doubled = [-2.0 / times**2 * c for c in parts.cosine]
    single = [s / times for s in parts.sine]
    slope = fma(sine, right.signed(*doubled), right.signed(*single))
    constant = right.signed(*(c or -0.0 for c in parts.cosine))
    found = right.with_sign(fma(slope, sine, constant))
    return found, is_doubtful(square, excess)


def _of_both(angle: Angle, parts: _Parts) -> tuple[Float, Truth]:
    """Return what :func:`_of_one` does, to the bit, by way of both."""
    high, excess = angle.high, fma(angle.excess, angle.unit, 0.0)
    dtype = high.dtype
    square = high * high
    cube = square * high
    series = [-c for c in coefficients.SIN[dtype]]
    sine = angle.base - fma(cube, polynomial(square, series), excess)
    # twice the sine of half the angle
    halved = [c / 4 ** (k + 1) for k, c in enumerate(series)]
    twice = angle.base - fma(cube, polynomial(square, halved), excess)
    cosine = fma(twice * -0.5, twice, 1.0)

    odd = angle.quadrant.is_odd
    found = odd.select(cosine, sine) if parts is _SINE else odd.select(-sine, cosine)
    found = with_sign(found, angle.quadrant << (high.format.width - 2))
    return found, is_doubtful(square, excess * DISTINCT[dtype])


def _tan_at(angle: Angle) -> tuple[Float, Truth]:
    """Return the tangent, of which each right angle makes the negative inverse; as above."""
    high, dtype = angle.high, angle.high.dtype
    _, *above = coefficients.TAN_ABOVE[dtype]  # both constants are 1
    _, *below = coefficients.TAN_BELOW[dtype]
    square = high * high
    rest = horner(square, below)
    under = fma(square, rest, 1.0)
    excess = fma(angle.excess, angle.unit, 0.0)
    # what rounding lost of it, as if the other one had it, by nearly the tangent; 2 - under is
    # nearly one over under
    lost = fma(square, rest, 1.0 - under)
    lost = fma(high * lost, 2.0 - under, excess)
    over = angle.base - fma(square * high, horner(square, [-c for c in above]), lost)
    # beyond an odd right angle they change places: faster than choosing each
    change = (over.bits ^ under.bits) & (0 - (angle.quadrant & 1))
    quotient = (over.bits ^ change).number / (under.bits ^ change).number
    found = with_sign(quotient, angle.quadrant << (high.format.width - 1))
    return found, is_doubtful(square, excess * DISTINCT[dtype])
