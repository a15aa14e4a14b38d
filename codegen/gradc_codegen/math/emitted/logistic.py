"""Logarithms of sums of exponentials: softplus, logaddexp and log1mexp.

The exponentials are sums of two numbers: the error of a rounded one would add to theirs.
"""

from __future__ import annotations

import math

from gradc_codegen.math.emitted import coefficients
from gradc_codegen.math.emitted.builder import Float, exact_sum, fast_sum, fma
from gradc_codegen.math.emitted.exponential import (
    LOG_2,
    bounded,
    normal_limit,
    power_of_two,
    reduced,
    remainder,
    rounded_quotient,
    scaled,
    unless_large,
)
from gradc_codegen.math.emitted.logarithm import log_of_one_and_as_sum, log_of_sum
from gradc_codegen.math.emitted.polynomials import horner
from gradc_codegen.math.emitted.rare import sometimes

# from here on softplus adds nothing that a float of this size holds
_LARGE = 50.0


def _of_moderate(size: Float) -> tuple[Float, Float]:
    """Return e**-size, which is a normal number, rounded, and most of what that loses."""
    n, bits = rounded_quotient(-size, size.format.bias)
    high, low = _exp_of_remainder(-size, n)
    power = (bits << size.format.fraction).number
    return high * power, low * power


def _of_any(size: Float) -> tuple[Float, Float]:
    """Return e**-size, of any size, as :func:`_of_moderate` does."""
    limited = bounded(-size, highest=math.inf)
    n, bits = rounded_quotient(limited.argument, 2 * size.format.bias)
    high, low = _exp_of_remainder(limited.argument, n)
    return limited.exponential(scaled(high, bits)), limited.exponential(scaled(low, bits))


def _exp_of_remainder(x: Float, n: Float) -> tuple[Float, Float]:
    """Return e to the power x - n log(2)."""
    r = remainder(x, n)
    square, series = r * r, horner(r, coefficients.EXP[r.dtype])
    less_one = fma(square, series, r)
    high, low = fast_sum(1.0, less_one)
    return high, low + fma(square, series, r - less_one)


def _exp_less_one(x: Float) -> tuple[Float, Float]:
    """Return e**x - 1, rounded, and most of what that loses; e**x is a normal number, at most 1."""
    split = reduced(x)
    r, scale = split.high, power_of_two(split.integer)
    base, lost = exact_sum(-1.0, scale)
    series = horner(r, coefficients.EXPM1[r.dtype])
    tail = fma(r * r, series, fma(split.low, r, split.low))
    high, low = fast_sum(base, scale * r)  # the product is exact
    return fast_sum(high, fma(scale, tail, low + lost))


def softplus(x: Float) -> Float:
    """Return log(1 + e**x), for positive numbers x + log(1 + e**-x)."""
    return unless_large(x.settled, normal_limit(x), _usual_softplus, _softplus_of_any)


def _usual_softplus(x: Float) -> Float:
    return _softplus(x, _plus_log_of_one_and(x.at_least(0.0), _of_moderate(abs(x))))


def _softplus_of_any(x: Float) -> Float:
    return _softplus(x, _plus_log_of_one_and(x.at_least(0.0), _of_any(abs(x))))


def _softplus(x: Float, result: Float) -> Float:
    # infinite, or NaN, too
    return x.number(_LARGE).is_not_at_least(x).select(x, result)


def logaddexp(x: Float, y: Float) -> Float:
    """Return log(e**x + e**y): the larger one plus log(1 + e**-|x - y|)."""
    largest = x.body.intrinsic("maximum", x, y)
    apart = x.equals(y).select(0.0, abs(x - y))
    result = _plus_log_of_one_and(largest, _of_any(apart))
    return (abs(largest) < math.inf).select(result, largest)


def _plus_log_of_one_and(x: Float, power: tuple[Float, Float]) -> Float:
    """Return x + log(1 + a power)."""
    high, low = power
    # of a tiny power, which log(1 + …) is, the series would underflow
    tiny = high < 2.0 ** -(x.format.fraction + 8)
    usual = tiny.select(0.0, high)
    total, rest = log_of_one_and_as_sum(usual, usual + 1.0, low)
    found, lost = exact_sum(x, total)
    return tiny.select(x + (high + low), found + (lost + rest))


def log1mexp(x: Float) -> Float:
    """Return log(1 - e**x) of a negative number: the logarithm of -expm1(x)."""
    x = x.settled
    # beyond it 1 adds nothing, and what is lost of 1 - e**x would become subnormal
    lowest = (8 - x.format.bias // 2) * LOG_2
    high, low = _exp_less_one(x.at_least(lowest))
    usual = (x < 0.0).select(log_of_sum(-high, -low), x.equals(0.0).select(-math.inf, math.nan))
    return sometimes(x < lowest, _log1mexp_of_large, [x], usual)


def _log1mexp_of_large(x: Float) -> Float:
    return -_of_any(-x)[0]
