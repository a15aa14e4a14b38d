"""tanh, sinh and cosh, of expm1 as a sum of two numbers."""

from __future__ import annotations

from gradc_codegen.math.emitted.builder import Float, exact_sum, fast_sum, fma
from gradc_codegen.math.emitted.exponential import LOG_2, Reduced, grown, power_of_two, reduced

# From this power of two on, e**x is all there is of sinh and cosh.
_ALONE = 64.0


def tanh(x: Float) -> Float:
    """Return the hyperbolic tangent: -E / (2 + E) with E = expm1(-2 |x|)."""
    saturated = (x.format.fraction + 4) * LOG_2 / 2  # it is 1 there
    split = reduced(abs(x).at_most(saturated) * -2.0)
    scale = power_of_two(split.integer)
    high, low = fast_sum(*grown(split, scale, fast_sum(-1.0, scale)))
    below, below_low = fast_sum(2.0, high)
    inverse = 1.0 / below
    quotient = -(high * inverse)
    missing = fma(quotient, below, high) + fma(quotient, below_low + low, low)
    return fma(-missing, inverse, quotient).with_sign_of(x)


def _half_grown(size: Float) -> tuple[Float, Float, Float]:
    """Return (e**size - 1) / 2 as a sum, and a power of two that it is to be multiplied by."""
    split: Reduced = reduced(size.at_most((size.format.bias + 2.02) * LOG_2))
    n = split.integer.at_most(_ALONE)
    scale = power_of_two(n, -1)
    high, low = fast_sum(*grown(split, scale, fast_sum(scale, n.number(-0.5))))
    return high, low, power_of_two(split.integer - n)


def sinh(x: Float) -> Float:
    """Return the hyperbolic sine: h + h / (1 + 2 h) with h = expm1(|x|) / 2."""
    size = abs(x)
    high, low, scale = _half_grown(size)
    twice = high * 2.0
    below, below_low = exact_sum(1.0, twice)
    inverse = 1.0 / below
    quotient = high * inverse
    missing = fma(-quotient, below, high) + fma(-quotient, fma(low, 2.0, below_low), low)
    total, lost = fast_sum(high, quotient)
    result = (total + (fma(missing, inverse, low) + lost)) * scale
    tiny = size < 2.0 ** -(x.format.fraction // 2 + 3)
    return tiny.select(size, result).with_sign_of(x)


def cosh(x: Float) -> Float:
    """Return the hyperbolic cosine: (e + 1 / e) / 2 with e = 1 + expm1(|x|)."""
    high, low, scale = _half_grown(abs(x))
    power, power_low = exact_sum(1.0, high * 2.0)
    power_low = fma(low, 2.0, power_low)
    inverse = 1.0 / power
    missing = fma(-power, inverse, 1.0) - power_low * inverse
    total, lost = fast_sum(power, inverse)
    return (total + (fma(missing, inverse, power_low) + lost)) * (scale * 0.5)
