"""erfinv: x times a polynomial in log(1 - x²), or close to 1 in the root of that.

M. Giles, *Approximating the erfinv function*, 2010, has the variables.
"""

from __future__ import annotations

import math

from gradc_codegen.math.emitted import special_coefficients
from gradc_codegen.math.emitted.builder import Float, fast_sum, fma
from gradc_codegen.math.emitted.logarithm import log_and_rest
from gradc_codegen.math.emitted.polynomials import horner
from gradc_codegen.math.emitted.rare import sometimes
from gradc_codegen.math.emitted.sums import series

# Up to here -log(1 - x²) itself is the variable, and this is its centre.
_NEAR, _CENTRE = 5.0, 2.5
# About how fast it grows with that, over x.
_SLOPE = 0.24
_CENTRE_OF_ROOT = 4.0


def erfinv(x: Float) -> Float:
    """Return the number whose error function is x."""
    x = x.settled
    rest = fma(-x, x, 1.0)
    logarithm, logarithm_low = log_and_rest(rest)
    w = -logarithm
    at_zero, lost = special_coefficients.HALF_ROOT_PI[x.dtype]
    rise = horner(w - _CENTRE, special_coefficients.ERFINV[x.dtype])
    product = w * rise
    high, low = fast_sum(at_zero, product)
    low = low + fma(logarithm_low, -_SLOPE, fma(w, rise, -product) + lost)
    usual = fma(x, high, x * low).with_sign_of(x)
    return sometimes(rest < math.exp(-_NEAR), _erfinv_of_nearly_one, [x], usual)


def _erfinv_of_nearly_one(x: Float) -> Float:
    rest = fma(-x, x, 1.0)
    logarithm, logarithm_low = log_and_rest(rest)
    root = x.body.intrinsic("sqrt", -logarithm)
    # what the root lost, relative to it; the result grows as the root does
    lost = (fma(-root, root, -logarithm) - logarithm_low) / (logarithm * -2.0)
    q = (root - _CENTRE_OF_ROOT) / (root + _CENTRE_OF_ROOT)
    high, low = series(q, special_coefficients.ERFINV_FAR[x.dtype])
    result = fma(x, high, x * fma(high, lost, low))
    outside = rest.equals(0.0).select(math.inf, math.nan)
    return (rest > 0.0).select(result, outside.with_sign_of(x))
