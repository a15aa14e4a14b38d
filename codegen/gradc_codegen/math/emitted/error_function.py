"""erf: a polynomial near zero, and 1 - exp(log(erfc(x))) with a polynomial for the logarithm.

erfc(x) = exp(-x²) P(q) / (1 + 2 x) with q = (x - 4) / (x + 4), as in M. Shepherd, J. Laframboise,
*Chebyshev approximation of (1 + 2 x) exp(x²) erfc x in 0 <= x < ∞*, 1981.
"""

from __future__ import annotations

from gradc_codegen.math.emitted import coefficients
from gradc_codegen.math.emitted.builder import Float, fast_sum, fma, polynomial
from gradc_codegen.math.emitted.exponential import exp, exp_as_sum, scaled
from gradc_codegen.math.emitted.power import product
from gradc_ir.types import DType

# From here on erf is 1 to the last place, and erfc 0.
_SATURATED = {DType.F64: 6.0, DType.F32: 4.0}
_VANISHED = {DType.F64: 27.3, DType.F32: 10.2}
# From here on erfc is computed by itself.
_AWAY = 0.5
_CENTRE = 4.0


def _near_zero(size: Float) -> Float:
    """Return erf of a number between 0 and 1."""
    return fma(size, polynomial(size * size, coefficients.ERF[size.format.dtype]), size)


def erf(x: Float) -> Float:
    """Return the error function."""
    dtype = x.format.dtype
    size = abs(x)
    near = _near_zero(size)
    away = size.at_most(_SATURATED[dtype]) - 1.0  # exact from 1 on
    at_one, *further = coefficients.LOG_ERFC[dtype]
    logarithm, lost = fast_sum(at_one, away * polynomial(away, further))
    complement = exp(logarithm)
    far = 1.0 - fma(complement, lost, complement)
    return (size < 1.0).select(near, far).with_sign_of(x)


def erfc(x: Float) -> Float:
    """Return 1 - erf(x), which for large x is small."""
    dtype = x.format.dtype
    size = abs(x).at_most(_VANISHED[dtype])
    inverse = 1.0 / (size + _CENTRE)
    q = (size - _CENTRE) * inverse
    # what rounding lost of it
    q = fma(inverse, fma(-q, size, fma(q + 1.0, -_CENTRE, size)), q)
    first, *further = coefficients.ERFC[dtype]
    series = fast_sum(first, q * polynomial(q, further))

    square = size * size
    high, low, shifted = exp_as_sum(-square, -fma(size, size, -square))
    above, above_low = product((high, low), series)
    below, below_low = fast_sum(size * 2.0, x.number(1.0))
    inverse = 1.0 / below
    quotient = above * inverse
    missing = fma(-quotient, below, above) + fma(-quotient, below_low, above_low)
    far = scaled(fma(missing, inverse, quotient), shifted)
    far = (x < 0.0).select(2.0 - far, far)
    return (size < _AWAY).select(1.0 - _near_zero(size).with_sign_of(x), far)
