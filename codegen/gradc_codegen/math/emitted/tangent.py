"""tanh, and the logistic function and its derivative: one polynomial and one reciprocal for all.

With half = n log(2) / 2 + r and p = (e**(2 r) - 1) / 2 all are quotients of what is called below
here, (1 + e**(-2 half)) / 2 times e**(2 r): in loops with more than one of them at the same number
LLVM finds what they share.
"""

from __future__ import annotations

from dataclasses import dataclass

from gradc_codegen.math.emitted import coefficients, wide
from gradc_codegen.math.emitted.builder import Float, fast_sum, fma, horner
from gradc_codegen.math.emitted.exponential import (
    LOG_2,
    power_of_two,
    rounded_quotient,
    scaled,
    unless_large,
)


@dataclass(frozen=True)
class Parts:
    """What the functions of a number that is not negative are made of.

    Parameters
    ----------
    n: half / (log(2) / 2), rounded.
    inverse: 2**-n.
    small: what r is off by.
    p, p_low: (e**(2 r) - 1) / 2 as a sum, where n is small.
    base: (1 + 2**-n) / 2.
    below, below_low: base + p as a sum.
    reciprocal: of below.
    """

    n: Float
    inverse: Float
    small: Float
    p: Float
    p_low: Float
    base: Float
    below: Float
    below_low: Float
    reciprocal: Float


def _parts(half: Float, limit: float, any_size: bool = False) -> Parts:
    format_ = half.format
    dtype = format_.dtype
    half = half.at_most(limit)
    n, bits = rounded_quotient(half, -format_.bias, 2)
    if wide.is_wide(half.body):
        inverse = wide.scaled(half.number(1.0), -n)
    elif any_size:
        inverse = power_of_two(-n.at_most(format_.bias - 1.0))
    else:
        inverse = ((bits.of(0) - bits) << format_.fraction).number
    high, low = coefficients.HALF_LOG_2[dtype]
    r = fma(n, -high, half)  # exact
    small = n * -low
    p, p_low = fast_sum(r, fma(r * r, horner(r, coefficients.TANH[dtype]), small))
    base = fma(inverse, 0.5, 0.5)
    below, below_low = fast_sum(base, p)
    return Parts(n, inverse, small, p, p_low, base, below, below_low, 1.0 / below)


def _moderate(half: Float) -> float:
    """Return the number up to which e**(-2 half) is surely a normal number."""
    return float(int((half.format.bias - 3) * LOG_2 / 2))


def _largest(half: Float) -> float:
    """Return a number beyond which e**(-2 half) is surely 0."""
    return float(int((half.format.bias + half.format.fraction + 3) * LOG_2 / 2))


def tanh(x: Float) -> Float:
    """Return the hyperbolic tangent: (base - 2**-n + p) / below; near 0 n is 0, and p decides."""
    x = x.settled  # as in the others, with which it shares what follows
    size = abs(x)
    of = _parts(size, _largest(size) if wide.is_wide(x.body) else _moderate(size))
    # what is lost of the base is lost above and below, and matters little
    above, above_low = fast_sum(of.base - of.inverse, of.p)
    quotient = above * of.reciprocal
    missing = fma(-quotient, of.below, above) + (above_low + of.p_low)
    missing = fma(-quotient, of.below_low, missing)
    return fma(missing, of.reciprocal, quotient).with_sign_of(x)


def sigmoid(x: Float) -> Float:
    """Return 1 / (1 + e**-x)."""
    x = x.settled
    return _sigmoid(x, _lower_sigmoid(abs(x) * 0.5))


def sigmoid_of_double(x: Float) -> Float:
    """Return 1 / (1 + e**(-2 x))."""
    x = x.settled
    return _sigmoid(x, _lower_sigmoid(abs(x)))


def sigmoid_derivative(x: Float) -> Float:
    """Return e**x / (1 + e**x)**2."""
    return _derivative(_lower_sigmoid(abs(x.settled) * 0.5))


def sigmoid_derivative_of_double(x: Float) -> Float:
    """Return e**(2 x) / (1 + e**(2 x))**2, a quarter of the derivative of tanh."""
    return _derivative(_lower_sigmoid(abs(x.settled)))


def _sigmoid(x: Float, lower: Float) -> Float:
    return (x > 0.0).select(1.0 - lower, lower)


def _derivative(lower: Float) -> Float:
    # the product of both sigmoids, of which the lower one is at most 1/2: nothing cancels
    return fma(-lower, lower, lower)


def _lower_sigmoid(half: Float) -> Float:
    """Return 1 / (1 + e**(2 half)) of a number that is not negative."""
    if wide.is_wide(half.body):
        of = _parts(half, _largest(half))
        return wide.scaled(_fraction(of), -of.n)

    def usual(half: Float) -> Float:
        of = _parts(half, _moderate(half))
        return _fraction(of) * of.inverse

    return unless_large(half, _moderate(half), usual, _lower_of_any)


def _lower_of_any(half: Float) -> Float:
    of = _parts(half, _largest(half), any_size=True)
    shift = half.format.unit_shift + 2 * half.format.bias
    return scaled(_fraction(of), (shift - of.n).bits)


def _fraction(of: Parts) -> Float:
    """Return the lower sigmoid times 2**n."""
    # what the base was rounded by, and what p lacks where n is large
    lost = fma(of.small + of.small, of.p, fma(of.inverse, 0.5, 0.5 - of.base))
    lost = lost + (of.below_low + of.p_low)
    missing = fma(-lost, of.reciprocal, fma(-of.reciprocal, of.below, 1.0))
    return fma(missing, of.reciprocal, of.reciprocal) * 0.5
