"""I0 and I1 times exp(-|x|): a polynomial in (|x| - 10) / (|x| + 10), a root and a quotient.

In the right half of the plane both are bounded, which that variable makes the unit disk: so the
coefficients are small and few enough.
"""

from __future__ import annotations

import math

from gradc_codegen.math.emitted import special_coefficients
from gradc_codegen.math.emitted.builder import Float, exact_sum, fast_sum, fma
from gradc_codegen.math.emitted.polynomials import horner
from gradc_codegen.math.emitted.power import Sum, product
from gradc_codegen.math.emitted.sums import series

_CENTRE = 10.0
# With these the polynomials are flat at x = 0, where the variable's rounding errors are largest.
_OFFSET_OF_ZERO, _OFFSET_OF_ONE = 61 / 64, 61 / 32


def _variable(size: Float) -> Float:
    """Return q + 1, which is not rounded to a multiple of anything where x is small."""
    limited = size.at_most(2.0**60)
    return (limited + limited) / (limited + _CENTRE)


def _root(size: Float) -> Sum:
    """Return √(x + 10)."""
    square, square_low = exact_sum(_CENTRE, size)
    root = square.body.intrinsic("sqrt", square)
    return root, (fma(-root, root, square) + square_low) / (root * 2.0)


def _over(x: Sum, size: Float, offset: float) -> tuple[Sum, Float, Float]:
    """Return a number over another one plus an offset.

    What the reciprocal has lost is not part of it: the reciprocal comes behind, and what it has
    lost, relative to it, which no underflow takes away.
    """
    below, below_low = exact_sum(offset, size)
    inverse = 1.0 / below
    high = x[0] * inverse
    low = fma(x[1], inverse, fma(x[0], inverse, -high))
    return (high, low), inverse, fma(-inverse, below_low, fma(-inverse, below, 1.0))


def i0e(x: Float) -> Float:
    """Return exp(-|x|) I0(x)."""
    size, dtype = abs(x), x.dtype
    t = _variable(size)
    at_zero, at_zero_low = special_coefficients.BESSEL_ZERO_AT_ZERO[dtype]
    rise = horner(t - 1.0, special_coefficients.BESSEL_ZERO[dtype])
    above = product(_root(size), fast_sum(at_zero, fma(t, rise, at_zero_low)))
    (high, low), _, lost = _over(above, size, _OFFSET_OF_ZERO)
    return size.equals(math.inf).select(0.0, high + fma(high, lost, low))


def i1e(x: Float) -> Float:
    """Return exp(-|x|) I1(x)."""
    size = abs(x)
    factor = series(_variable(size) - 1.0, special_coefficients.BESSEL_ONE[x.dtype])
    quotient, inverse, lost = _over(product(_root(size), factor), size, _OFFSET_OF_ONE)
    ratio = size * inverse
    high, low = product(quotient, (ratio, fma(size, inverse, -ratio)))
    result = high + fma(high, lost * 2.0, low)
    return size.equals(math.inf).select(0.0, result).with_sign_of(x)
