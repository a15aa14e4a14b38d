"""erfcx: a polynomial in (x - 3) / (x + 3) over x + 7/8, of negative x 2 exp(x²) less that.

The polynomial is that of M. Shepherd, J. Laframboise, *Chebyshev approximation of (1 + 2 x) exp(x²)
erfc x in 0 <= x < ∞*, 1981. The distribution of the normal is made of it, too.
"""

from __future__ import annotations

import math

from gradc_codegen.math.emitted import special_coefficients
from gradc_codegen.math.emitted.builder import Float, exact_sum, fast_sum, fma
from gradc_codegen.math.emitted.exponential import exp_as_sum, scaled
from gradc_codegen.math.emitted.polynomials import polynomial
from gradc_codegen.math.emitted.power import Sum
from gradc_codegen.math.emitted.rare import sometimes
from gradc_codegen.math.emitted.sums import series
from gradc_ir.core.types import DType

CENTRE = 3.0
# With this one the polynomial is flat at x = 0, where the variable's rounding errors are largest.
OFFSET = 0.875
# From here on exp(x²) is infinite.
_GROWN = {DType.F64: 26.7, DType.F32: 9.5}
# One over the polynomial is nearly this one.
_INVERSE = (1.45, 0.31)


def tail(q: Float, below: Sum) -> Sum:
    """Return (x + 7/8) erfcx(x) over a number, as a sum, where q is (x - 3) / (x + 3)."""
    above, above_low = series(q, special_coefficients.ERFCX[q.dtype])
    quotient = above / below[0]
    missing = fma(-quotient, below[0], above) + fma(-quotient, below[1], above_low)
    # a rough reciprocal is enough for what is missing
    return quotient, missing * quotient * polynomial(q, _INVERSE)


def _of_size(size: Float) -> Sum:
    limited = size.at_most(2.0**60)
    return tail((limited - CENTRE) / (limited + CENTRE), exact_sum(OFFSET, size))


def erfcx(x: Float) -> Float:
    """Return exp(x²) erfc(x)."""
    x = x.settled
    high, low = _of_size(x)
    tiny = abs(x) < 2.0 ** -(x.format.fraction + 3)
    usual = tiny.select(1.0, x.equals(math.inf).select(0.0, high + low))
    return sometimes(x < 0.0, _erfcx_of_negative, [x], usual)


def _erfcx_of_negative(x: Float) -> Float:
    size = abs(x).at_most(_GROWN[x.dtype])
    square = size * size
    high, low, shifted = exp_as_sum(square, fma(size, size, -square))
    grown, grown_low = scaled(high * 2.0, shifted), scaled(low * 2.0, shifted)
    other, other_low = _of_size(size)
    total, lost = fast_sum(grown, -other)
    return grown.equals(math.inf).select(grown, total + (lost + (grown_low - other_low)))
