"""The normal's distribution function and its logarithm: exp(-x² / 2) times erfcx(x / √2) / 2."""

from __future__ import annotations

import math

from gradc_codegen.math.emitted import special_coefficients
from gradc_codegen.math.emitted.builder import Float, exact_sum, fast_sum, fma
from gradc_codegen.math.emitted.exponential import exp_as_sum, scaled
from gradc_codegen.math.emitted.logarithm import log_of_sum
from gradc_codegen.math.emitted.power import Sum, multiple, product
from gradc_codegen.math.emitted.scaled_error_function import OFFSET, tail
from gradc_ir.core.types import DType

# From here on the function of -x is 0.
_VANISHED = {DType.F64: 38.6, DType.F32: 14.4}


def _scaled_tail(size: Float) -> Sum:
    """Return exp(x² / 2) times the distribution function of -x, for positive x."""
    dtype = size.dtype
    centre, centre_low = special_coefficients.THREE_ROOTS_2[dtype]
    q = ((size - centre) - centre_low) / (size + centre)
    # erfcx(x / √2) / 2 = (x / √2 + offset) erfcx(x / √2) / (√2 x + 2 offset)
    root, root_low = special_coefficients.ROOT_2[dtype]
    high, low = multiple((root, root_low), size)
    below, lost = exact_sum(2.0 * OFFSET, high)
    return tail(q, (below, lost + low))


def _tail(size: Float, scaled_tail: Sum) -> Sum:
    """Return the distribution function of -x, for positive x."""
    square = size * size
    lost = fma(size, size, -square)
    high, low, shifted = exp_as_sum(square * -0.5, lost * -0.5)
    high, low = fast_sum(*product((high, low), scaled_tail))
    return scaled(high, shifted), scaled(low, shifted)


def ndtr(x: Float) -> Float:
    """Return the distribution function of the standard normal."""
    size = abs(x)
    tiny, vanishes = size < 2.0 ** -(x.format.fraction + 3), size > _VANISHED[x.dtype]
    # what underflows takes a hundred cycles
    limited = (tiny | vanishes).select(0.0, size)
    high, low = _tail(limited, _scaled_tail(limited))
    tail = vanishes.select(0.0, high + low)
    found = (x < 0.0).select(tail, 1.0 - tail)
    return tiny.select(0.5, found)


def log_ndtr(x: Float) -> Float:
    """Return the logarithm of the distribution function of the standard normal."""
    format_ = x.format
    negative = x < 0.0
    size = abs(x).at_most(2.0 ** (format_.bias // 2 + 3))
    found = _scaled_tail(size)
    vanishes = negative | (size > _VANISHED[format_.dtype])
    high, low = (vanishes.select(0.0, x) for x in _tail(vanishes.select(0.0, size), found))
    rest, lost = fast_sum(1.0, -high)
    logarithm = log_of_sum(negative.select(found[0], rest), negative.select(found[1], lost - low))
    # log(exp(-x² / 2) t)
    half = size * (size * 0.5)
    half_low = fma(size, size * 0.5, -half)
    left = (half < math.inf).select((logarithm - half_low) - half, -math.inf)
    right = (high < 2.0 ** -(format_.fraction + 2)).select(-high, logarithm)
    return negative.select(left, right)
