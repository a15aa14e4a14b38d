"""asinh, acosh and atanh: logarithms of numbers that are taken with what rounding lost of them."""

from __future__ import annotations

import math

from gradc_codegen.math.emitted.builder import Float, exact_sum, fast_sum, fma
from gradc_codegen.math.emitted.logarithm import log_of_sum


def _root(square: Float, lost: Float) -> tuple[Float, Float]:
    """Return the square root of a sum, and what was lost; of zero and nothing, zero and nothing."""
    root = square.body.intrinsic("sqrt", square)
    twice = fma(root, square.number(2.0), square.format.smallest_normal)
    return root, (fma(-root, root, square) + lost) / twice


def asinh(x: Float) -> Float:
    """Return the inverse hyperbolic sine: log(|x| + √(x² + 1))."""
    format_ = x.format
    size = abs(x)
    large = size > 2.0 ** (format_.bias // 2)
    y = large.select(1.0, size)  # its square is finite
    square = y * y
    total, lost = exact_sum(1.0, square)
    root, root_low = _root(total, lost + fma(y, y, -square))
    u, u_low = exact_sum(y, root)
    # beyond, the root is |x|
    result = log_of_sum(
        large.select(size, u), large.select(0.0, u_low + root_low), large.select(1.0, 0.0)
    )
    small = size < 2.0 ** -(format_.fraction // 2 + 3)
    infinite = size.equals(math.inf)
    return infinite.select(size, small.select(size, result)).with_sign_of(x)


def acosh(x: Float) -> Float:
    """Return the inverse hyperbolic cosine: log(x + √(x² - 1))."""
    format_ = x.format
    large = x > 2.0 ** (format_.bias // 2)
    y = large.select(1.0, x)
    square = y * y
    less, less_low = fast_sum(square, x.number(-1.0))
    total, lost = fast_sum(less, less_low + fma(y, y, -square))
    root, root_low = _root(total, lost)
    u, u_low = fast_sum(y, root)
    result = log_of_sum(
        large.select(x, u), large.select(0.0, u_low + root_low), large.select(1.0, 0.0)
    )
    return x.equals(math.inf).select(x, (x < 1.0).select(math.nan, result))


def atanh(x: Float) -> Float:
    """Return the inverse hyperbolic tangent: log((1 + |x|) / (1 - |x|)) / 2."""
    format_ = x.format
    size = abs(x)
    above, above_low = fast_sum(1.0, size)
    below, below_low = fast_sum(1.0, -size)
    quotient = above / below
    missing = fma(-quotient, below, above) + fma(-quotient, below_low, above_low)
    result = log_of_sum(quotient, missing / below) * 0.5
    small = size < 2.0 ** -(format_.fraction // 2 + 3)
    inside = (size < 1.0).select(result, size.equals(1.0).select(math.inf, math.nan))
    return small.select(size, inside).with_sign_of(x)
