"""asinh, acosh and atanh: log(1 + y) of what is computed without cancellation, or of a quotient."""

from __future__ import annotations

import math

from gradc_codegen.math.emitted import coefficients
from gradc_codegen.math.emitted.builder import Float, fast_sum, fma
from gradc_codegen.math.emitted.logarithm import (
    binary_logarithm,
    log_of_large,
    log_of_one_and,
    plus_multiple_of_log_2,
    series_of,
)
from gradc_codegen.math.emitted.rare import sometimes


def _large(x: Float) -> float:
    """Return a number whose square is finite, but to which 1 adds nothing."""
    return float(2.0 ** (x.format.bias // 2))


def asinh(x: Float) -> Float:
    """Return the inverse hyperbolic sine: log(1 + y) with y = |x| + x² / (1 + √(x² + 1))."""
    x = x.settled
    size = abs(x)
    square = size * size
    root = x.body.intrinsic("sqrt", square + 1.0)
    y, lost = fast_sum(size, square / (root + 1.0))
    usual = log_of_one_and(y, y + 1.0, lost).with_sign_of(x)
    return sometimes(x.number(_large(x)).is_not_at_least(size), _asinh_of_large, [x], usual)


def _asinh_of_large(x: Float) -> Float:
    return log_of_large(abs(x), 1.0).with_sign_of(x)


def acosh(x: Float) -> Float:
    """Return the inverse hyperbolic cosine: log(1 + y) with y = t + √(t (t + 2)), t = x - 1."""
    x = x.settled
    t = x - 1.0
    root = x.body.intrinsic("sqrt", fma(t, t, t + t))
    y, lost = fast_sum(root, t)
    usual = log_of_one_and(y, y + 1.0, lost)
    rare = (x < 1.0) | x.number(_large(x)).is_not_at_least(x)
    return sometimes(rare, _acosh_of_extremes, [x], usual)


def _acosh_of_extremes(x: Float) -> Float:
    return (x < 1.0).select(math.nan, log_of_large(x, 1.0))


def atanh(x: Float) -> Float:
    """Return the inverse hyperbolic tangent: log((1 + x) / (1 - x)) / 2.

    The quotient is about 2**k, and atanh((q - 1) / (q + 1)) is half the logarithm of q / 2**k.
    """
    x = x.settled
    size, format_ = abs(x), x.format
    # differences of bits are nearly those of binary logarithms
    apart = (1.0 - size).bits - (size + 1.0).bits
    half_way = 1 << (format_.fraction - 1)
    power = (apart + (format_.one_bits + half_way)) & ~format_.fraction_mask
    more, less = power.number + 1.0, 1.0 - power.number
    s = fma(size, more, -less) / fma(size, -less, more)
    square = s * s
    series = series_of(square, [c / 2 for c in coefficients.LOG_WIDER[format_.dtype]])
    total, lost = plus_multiple_of_log_2(s, binary_logarithm(power), 0.5)
    usual = total + fma(s * square, series, lost)
    # one added to a power that is smaller would be rounded
    limit = x.number(1.0 - 2.0 ** (2 - format_.fraction))
    return sometimes(limit.is_not_at_least(size), _atanh_of_nearly_one, [x], usual.with_sign_of(x))


def _atanh_of_nearly_one(x: Float) -> Float:
    size = abs(x)
    # log((1 + x) / (1 - x)) = log(2 / (1 - x)) nearly
    result = log_of_large(1.0 / (1.0 - size), 1.0) * 0.5
    outside = size.equals(1.0).select(math.inf, math.nan)
    return (size < 1.0).select(result, outside).with_sign_of(x)
