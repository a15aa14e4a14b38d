"""sinh and cosh: argument = n log(2) + r, and polynomials in r."""

from __future__ import annotations

from dataclasses import dataclass

from gradc_codegen.math.emitted import coefficients
from gradc_codegen.math.emitted.builder import Float, fma
from gradc_codegen.math.emitted.exponential import LOG_2, remainder, rounded_quotient
from gradc_codegen.math.emitted.polynomials import horner


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
    sine, cosine = of.half - of.inverse, of.half + of.inverse
    series = fma(cosine * of.r, of.sine, sine * of.cosine)
    result = fma(of.square, series, fma(cosine, of.r, sine))
    # half of a subnormal number may be none
    is_own_sine = abs(x) < 2.0 ** -(x.format.fraction // 2 + 1)
    return is_own_sine.select(x, (result + result).with_sign_of(x))


def cosh(x: Float) -> Float:
    """Return the hyperbolic cosine: cosh(n log(2)) cosh(r) + sinh(n log(2)) sinh(r)."""
    of = _halves(x)
    sine, cosine = of.half - of.inverse, of.half + of.inverse
    series = fma(sine * of.r, of.sine, cosine * of.cosine)
    result = fma(sine, of.r, of.half) + fma(of.square, series, of.inverse)
    return result + result
