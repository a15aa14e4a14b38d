"""tanh, sinh and cosh: argument = n log(2) + r, and polynomials in r that keep what they lose."""

from __future__ import annotations

from dataclasses import dataclass

from gradc_codegen.math.emitted import coefficients
from gradc_codegen.math.emitted.builder import Float, fast_sum, fma, horner
from gradc_codegen.math.emitted.exponential import LOG_2, remainder, rounded_quotient


def tanh(x: Float) -> Float:
    """Return the hyperbolic tangent.

    With |x| = (n log(2)) / 2 + r and p = (e**(2 r) - 1) / 2 it is (a + p) / (b + p), where b is
    (1 + 2**-n) / 2 and a is b - 2**-n. So near 0, where n is 0, p alone decides.
    """
    format_ = x.format
    dtype = format_.dtype
    size = abs(x).at_most((format_.fraction + 4) * LOG_2 / 2)  # it is 1 there
    n, bits = rounded_quotient(size, -format_.bias, 2)
    inverse = ((bits.of(0) - bits) << format_.fraction).number
    high, low = coefficients.HALF_LOG_2[dtype]
    r = fma(n, -high, size)  # exact, for n has six bits at most
    p, p_low = fast_sum(r, fma(r * r, horner(r, coefficients.TANH[dtype]), n * -low))

    b = fma(inverse, 0.5, 0.5)
    a = b - inverse  # so what is lost of b is lost of both, and matters little
    above, above_low = fast_sum(a, p)
    below, below_low = fast_sum(b, p)
    inverse_below = 1.0 / below
    quotient = above * inverse_below
    missing = fma(-quotient, below, above) + (above_low + p_low)
    missing = fma(-quotient, below_low, missing)
    return fma(missing, inverse_below, quotient).with_sign_of(x)


@dataclass(frozen=True)
class Halves:
    """The halves of e**(n log(2)) and its inverse, and the polynomials of what is left of |x|.

    Parameters
    ----------
    half, inverse: 2**(n - 2) and 2**(-n - 2), as far as that is a normal number, or 0.
    r: |x| - n log(2).
    square: that of r.
    sine: (sinh(r) - r) / r³.
    cosine: (cosh(r) - 1) / r².
    """

    half: Float
    inverse: Float
    r: Float
    square: Float
    sine: Float
    cosine: Float


def _halves(x: Float) -> Halves:
    format_ = x.format
    bias, fraction, dtype = format_.bias, format_.fraction, format_.dtype
    size = abs(x).at_most((bias + 2.02) * LOG_2)
    n, bits = rounded_quotient(size, bias - 2)
    half = bits << fraction
    inverse = (((2 * bias - 4) << fraction) - half).number.at_least(0.0)
    r = remainder(size, n)
    square = r * r
    sine = horner(square, coefficients.SINH[dtype])
    cosine = horner(square, coefficients.COSH[dtype])
    return Halves(half.number, inverse, r, square, sine, cosine)


def sinh(x: Float) -> Float:
    """Return the hyperbolic sine: sinh(n log(2)) cosh(r) + cosh(n log(2)) sinh(r)."""
    of = _halves(x)
    sine, lost = fast_sum(of.half, -of.inverse)
    cosine = of.half + of.inverse
    series = fma(cosine * of.r, of.sine, sine * of.cosine)
    result = fma(cosine, of.r, sine) + fma(of.square, series, lost)
    return (result + result).with_sign_of(x)


def cosh(x: Float) -> Float:
    """Return the hyperbolic cosine: cosh(n log(2)) cosh(r) + sinh(n log(2)) sinh(r)."""
    of = _halves(x)
    sine, cosine = of.half - of.inverse, of.half + of.inverse
    series = fma(sine * of.r, of.sine, cosine * of.cosine)
    result = fma(sine, of.r, of.half) + fma(of.square, series, of.inverse)
    return result + result
