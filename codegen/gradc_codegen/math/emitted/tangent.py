"""tanh, and the logistic function and its derivative: one polynomial and one reciprocal for all.

With x = n s + r, where s = log(2) / times, all are quotients of what is called below here,
(2**-n + e**(times r)) / times: in loops with more than one of them at the same number LLVM finds
what they share. What its rounding loses is known, and corrects the quotients.
"""

from __future__ import annotations

import math

from gradc_codegen.math.emitted import coefficients, wide
from gradc_codegen.math.emitted.builder import Float, fma
from gradc_codegen.math.emitted.exponential import (
    LOG_2,
    bounded,
    power_of_two,
    rounded_quotient,
    scaled,
    unless_large,
)
from gradc_codegen.math.emitted.polynomials import polynomial
from gradc_ir.classes.quick import dataclass

# times -> log(2) / times as a sum, and ((e**(times r) - 1) / times - r) / r²
_TABLES = {
    1: (coefficients.LOG_2_NEAREST, coefficients.EXP),
    2: (coefficients.HALF_LOG_2, coefficients.TANH),
}


@dataclass(frozen=True)
class Parts:
    """What the functions of a number that is not negative are made of.

    Parameters
    ----------
    negative: -n.
    power: 2**-n.
    below: (2**-n + e**(times r)) / times, rounded.
    below_low: what that loses, but for the share of ``step``.
    reciprocal: of below.
    step: by what s is more than the number that r is computed with.
    """

    negative: Float
    power: Float
    below: Float
    below_low: Float
    reciprocal: Float
    step: float


def _parts(x: Float, times: int, of_one: bool = False, any_size: bool = False) -> Parts:
    """Return the parts for a size; ``of_one`` where 2**-n counts although 1 + 2**-n is rounded."""
    format_ = x.format
    dtype = format_.dtype
    negative, bits = rounded_quotient(x, 0 if any_size else format_.bias, -times)
    if not any_size:
        power = (bits << format_.fraction).number
    elif wide.is_wide(x.body):
        power = wide.scaled_or_zero(x.number(1.0), negative, 1 - format_.bias)
    else:
        power = power_of_two(negative.at_least(1.0 - format_.bias))
    parts_of_log, table = _TABLES[times]
    high, low = parts_of_log[dtype]
    r = fma(negative, high, x)  # exact
    square, series = r * r, polynomial(r, table[dtype])
    share = 1 / times
    base = fma(power, share, share)
    below = fma(square, series, base + r)
    # both differences and the sum with r are exact
    rest = fma(power, share, share - below) if of_one else base - below
    return Parts(negative, power, below, fma(square, series, rest + r), 1.0 / below, low)


def _moderate(x: Float, times: int) -> float:
    """Return the number up to which e**(-times x) is surely a normal number."""
    return float(int((x.format.bias - 3) * LOG_2 / times))


def _largest(x: Float, times: int) -> float:
    """Return a number beyond which e**(-times x) is surely 0."""
    return float(int((x.format.bias + x.format.fraction + 3) * LOG_2 / times))


def tanh(x: Float) -> Float:
    """Return the hyperbolic tangent: 1 - 2**-n / below, of which for n < 2 nothing is rounded."""
    x = x.settled  # as in the others, with which it shares what follows
    size = abs(x)
    of = _parts_of_wide(size, 2) if wide.is_wide(x.body) else _moderate_parts(size, 2)
    lost = of.below_low
    if abs(of.step) > 2.0 ** -(x.format.fraction + 5):
        lost = fma(of.negative, of.step, lost)
    near = fma(-of.power, of.reciprocal, 1.0)
    rest = 1.0 - near  # exact
    missing = fma(rest, lost, fma(rest, of.below, -of.power))
    # tiny numbers are their own tangents, of which the correction has the square too
    return _smaller(fma(missing, of.reciprocal, near), x, size)


def _smaller(found: Float, x: Float, size: Float) -> Float:
    """Return a size, or that of x where it is smaller, with the sign of x."""
    if wide.is_wide(x.body):
        return wide.smaller(x, found)
    return (found < size).select(found, size).with_sign_of(x)


def sigmoid(x: Float) -> Float:
    """Return 1 / (1 + e**-x)."""
    x = x.settled
    return _sigmoid(x, _lower_sigmoid(abs(x), 1, of_one=True))


def sigmoid_of_double(x: Float) -> Float:
    """Return 1 / (1 + e**(-2 x))."""
    x = x.settled
    return _sigmoid(x, _lower_sigmoid(abs(x), 2, of_one=True))


def sigmoid_derivative(x: Float) -> Float:
    """Return e**x / (1 + e**x)**2."""
    return _derivative(_lower_sigmoid(abs(x.settled), 1, of_one=True))


def sigmoid_derivative_of_double(x: Float) -> Float:
    """Return e**(2 x) / (1 + e**(2 x))**2, a quarter of the derivative of tanh."""
    return _derivative(_lower_sigmoid(abs(x.settled), 2))


def _sigmoid(x: Float, lower: Float) -> Float:
    return (x > 0.0).select(1.0 - lower, lower)


def _derivative(lower: Float) -> Float:
    # the product of both sigmoids, of which the lower one is at most 1/2: nothing cancels
    return fma(-lower, lower, lower)


def _lower_sigmoid(x: Float, times: int, of_one: bool = False) -> Float:
    """Return 1 / (1 + e**(times x)) of a number that is not negative."""

    def usual(x: Float) -> Float:
        of = _moderate_parts(x, times, of_one)
        return _fraction(of, times) * of.power

    def lower_of_any(x: Float) -> Float:
        limited = bounded(-x, -_largest(x, times), math.inf)
        of = _parts(-limited.argument, times, of_one, any_size=True)
        shift = x.format.unit_shift + 2 * x.format.bias
        found = scaled(_fraction(of, times), (of.negative + shift).bits)
        return limited.exponential(found)

    if wide.is_wide(x.body):
        of = _parts_of_wide(x, times, of_one)
        return wide.scaled_or_zero(_fraction(of, times), of.negative)
    return unless_large(x, _moderate(x, times), usual, lower_of_any)


def _moderate_parts(x: Float, times: int, of_one: bool = False) -> Parts:
    limited = x.at_most(_moderate(x, times)) if times > 1 else x
    return _parts(limited, times, of_one)


def _parts_of_wide(x: Float, times: int, of_one: bool = False) -> Parts:
    return _parts(x.at_most(_largest(x, times)), times, of_one, any_size=True)


def _fraction(of: Parts, times: int) -> Float:
    """Return the lower sigmoid times 2**n."""
    # where n is large, below has the factor that e**(times r) lacks
    lost = fma(of.negative * (times * of.step), of.below, of.below_low)
    missing = fma(-lost, of.reciprocal, fma(-of.reciprocal, of.below, 1.0))
    fraction = fma(missing, of.reciprocal, of.reciprocal)
    return fraction * (1 / times) if times > 1 else fraction
