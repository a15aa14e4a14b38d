"""log, log1p, log2 and log10: x = 2**k (1 + f) with 1 + f between √½ and √2, then s = f / (2 + f).

log(1 + f) = f - f²/2 + s (f²/2 + s² R(s²)), as in *fdlibm* by K. C. Ng of Sun Microsystems, 1993;
what rounding k log(2) + f loses is kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from gradc_codegen.math.emitted import coefficients
from gradc_codegen.math.emitted.builder import Bits, Float, exact_sum, fast_sum, fma, polynomial


@dataclass(frozen=True)
class Parts:
    """A positive number as 2**k (1 + f), and the logarithm of 1 + f.

    Parameters
    ----------
    exponent: k.
    fraction: f.
    quotient: f / (2 + f).
    rest: log(1 + f) - f.
    biased: bits whose lowest hold k + bias, k being that of a normal number.
    """

    exponent: Float
    fraction: Float
    quotient: Float
    rest: Float
    biased: Bits


def parts(x: Float) -> Parts:
    """Return the parts of a positive number; anything for what is none."""
    exponent, f, biased = decomposed(x)
    s = f / (f + 2.0)
    square = s * s
    half = f * f * 0.5
    series = fma(square, polynomial(square, coefficients.LOG[x.format.dtype]), half)
    return Parts(exponent, f, s, fma(s, series, -half), biased)


def decomposed(x: Float) -> tuple[Float, Float, Bits]:
    """Return the exponent, the fraction and the biased exponent, as :class:`Parts` has them."""
    format_ = x.format
    raised = 2.0 ** (format_.fraction + 2)
    subnormal = x < format_.smallest_normal
    normal = subnormal.select(x * raised, x)
    unit = 2.0**format_.fraction
    zero = subnormal.select(format_.fraction + 2.0, 0.0)

    root = ((format_.bias - 1) << format_.fraction) + int((math.sqrt(2) - 1) * unit)
    moved = normal.bits + (format_.one_bits - root)
    biased = moved >> format_.fraction
    # below the bits of this power of two an integer is its own value
    exponent = (
        (biased | ((format_.bias + format_.fraction) << format_.fraction)).number
        - (unit + format_.bias)
        - zero
    )
    return exponent, ((moved & format_.fraction_mask) + root).number - 1.0, biased


def _with_borders(x: Float, zero: float, result: Float) -> Float:
    """Return a logarithm's result where x is above its zero of the argument, else what C says."""
    outside = x.equals(zero).select(-math.inf, math.nan)
    return x.equals(math.inf).select(math.inf, (x > zero).select(result, outside))


def borders(x: Float) -> Float:
    """Return what makes of any finite number the logarithm of an argument that has none, or zero.

    Selecting something or zero takes one instruction, selecting something or else takes three.
    """
    pole = x.equals(0.0).select(-math.inf, 0.0)
    outside = x.is_not_at_least(0.0).select(math.nan, 0.0)
    return pole + outside + x.equals(math.inf).select(math.inf, 0.0)


def log(x: Float) -> Float:
    """Return the natural logarithm."""
    found = parts(x)
    high, low = coefficients.LOG_2[x.format.dtype]
    total, lost = fast_sum(found.exponent * high, found.fraction)  # the product is exact
    return total + (lost + fma(found.exponent, low, found.rest) + borders(x))


def log_of_sum(u: Float, u_low: Float, doublings: Float | None = None) -> Float:
    """Return log(u + u_low) where the second is what rounding lost of the first; u is positive.

    With ``doublings``, an integer, that many times log(2) more.
    """
    format_ = u.format
    found = parts(u)
    high, low = coefficients.LOG_2[format_.dtype]
    exponent = found.exponent if doublings is None else found.exponent + doublings
    total, lost = fast_sum(exponent * high, found.fraction)
    # log(u + u_low) - log(u) = u_low / u = 2 u_low 2**-k (1 - 2 s + 2 s² - …) / 2; twice the power,
    # because that of the largest k is no normal number
    power = ((2 * format_.bias + 1 - found.biased) << format_.fraction).number
    s = found.quotient
    correction = u_low * power * fma(s, s - 1.0, 0.5)
    return total + (lost + (fma(exponent, low, found.rest) + correction))


def log1p(x: Float) -> Float:
    """Return log(1 + x)."""
    tiny = abs(x) < 2.0 ** -(x.format.fraction + 2)
    return tiny.select(x, _with_borders(x, -1.0, log_of_sum(*exact_sum(1.0, x))))


def _to_base(x: Float, factor: tuple[float, ...], of_two: tuple[float, ...]) -> Float:
    """Return a logarithm times a factor, where the logarithm of two times it is given."""
    found = parts(x)
    k = found.exponent
    high, low = fast_sum(found.fraction, found.rest)
    product = high * factor[0]
    rest = fma(low, factor[0], fma(high, factor[1], fma(high, factor[0], -product)))
    if of_two[1:]:
        rest = fma(k, of_two[1], rest)
        k = k * of_two[0]  # exact
    total, lost = fast_sum(k, product)
    return total + (lost + rest + borders(x))


def log2(x: Float) -> Float:
    """Return the logarithm to base 2, of a power of two exactly."""
    return _to_base(x, coefficients.INVERSE_LOG_2[x.format.dtype], (1.0,))


def log10(x: Float) -> Float:
    """Return the logarithm to base 10, of a power of ten exactly."""
    dtype = x.format.dtype
    return _to_base(x, coefficients.INVERSE_LOG_10[dtype], coefficients.LOG10_2[dtype])
