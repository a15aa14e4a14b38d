"""erf: a polynomial near zero, and 1 - exp(log(erfc(x))) with a polynomial for the logarithm."""

from __future__ import annotations

from gradc_codegen.math.emitted import coefficients
from gradc_codegen.math.emitted.builder import Float, fast_sum, fma, polynomial
from gradc_codegen.math.emitted.exponential import exp
from gradc_ir.types import DType

# From here on it is 1 to the last place.
_SATURATED = {DType.F64: 6.0, DType.F32: 4.0}


def erf(x: Float) -> Float:
    """Return the error function."""
    dtype = x.format.dtype
    size = abs(x)
    near = fma(size, polynomial(size * size, coefficients.ERF[dtype]), size)

    away = size.at_most(_SATURATED[dtype]) - 1.0  # exact from 1 on
    at_one, *further = coefficients.LOG_ERFC[dtype]
    logarithm, lost = fast_sum(at_one, away * polynomial(away, further))
    complement = exp(logarithm)
    far = 1.0 - fma(complement, lost, complement)
    return (size < 1.0).select(near, far).with_sign_of(x)
