"""pow: the exponential of a logarithm that is known to twice the precision or nearly so."""

from __future__ import annotations

import math

from gradc_codegen.math.emitted import coefficients
from gradc_codegen.math.emitted.builder import Float, fast_sum, fma, polynomial
from gradc_codegen.math.emitted.exponential import exp_of_sum
from gradc_codegen.math.emitted.logarithm import borders, decomposed


def log_as_sum(x: Float) -> tuple[Float, Float]:
    """Return the logarithm of a positive number as a sum.

    log(1 + f) = 2 s + s³ (2/3 + s² R(s²)) with s = f / (2 + f); all but R are sums.
    """
    dtype = x.format.dtype
    k, f, _ = decomposed(x)
    below, below_low = fast_sum(2.0, f)
    inverse = 1.0 / below
    s = f * inverse
    s_low = fma(-s, below_low, fma(-s, below, f)) * inverse
    twice, twice_low = s + s, s_low + s_low

    square = s * s
    square_low = fma(twice, s_low, fma(s, s, -square))
    series = polynomial(square, coefficients.LOG_OF_POWER[dtype])
    third, third_low = coefficients.TWO_THIRDS[dtype]
    u, u_low = fast_sum(third, square * series)
    v, v_low = product((square, square_low), (u, u_low + third_low))
    w, w_low = product((s, s_low), (v, v_low))

    high, low = coefficients.LOG_2[dtype]
    total, lost = fast_sum(k * high, twice)  # the product is exact
    total, lost_then = fast_sum(total, w)
    rest = (lost + lost_then) + (fma(k, low, twice_low) + w_low)
    return fast_sum(total, rest)


def product(x: tuple[Float, Float], y: tuple[Float, Float]) -> tuple[Float, Float]:
    """Return the product of two numbers of twice the precision."""
    total = x[0] * y[0]
    return total, fma(x[0], y[1], fma(x[1], y[0], fma(x[0], y[0], -total)))


def pow(x: Float, y: Float) -> Float:
    """Return x to the power y."""
    # beyond, a power is 0, 1 or infinite
    limit = 2.0 ** (x.format.fraction + 13)
    exponent = y.at_most(limit).at_least(-limit)
    size = abs(x)
    logarithm, logarithm_low = log_as_sum(size)
    logarithm = logarithm + borders(size)
    high = exponent * logarithm
    low = fma(exponent, logarithm_low, fma(exponent, logarithm, -high))
    found = exp_of_sum(high, low)

    half = y * 0.5
    fractional = y.floor.differs_from(y)
    odd = half.floor.differs_from(half)
    # the half of an integer that is large is one too
    signed = fractional.select(1.0, odd.select(x, 1.0))
    undefined = (x < 0.0) & (size < math.inf) & fractional
    found = undefined.select(math.nan, found.with_sign_of(signed))
    return (x.equals(1.0) | y.equals(0.0)).select(1.0, found)
