"""erf: a polynomial near zero, beyond it 1 less erfc; erfc: exp(-x²) times a quotient.

Quotients for erfc are those of W. Cody, *Rational Chebyshev approximations for the error function*,
1969, with one for all numbers.
"""

from __future__ import annotations

from gradc_codegen.math.emitted import coefficients
from gradc_codegen.math.emitted.builder import Bits, Float, fma, horner, paired
from gradc_codegen.math.emitted.exponential import (
    added_to_exponent,
    rounded_quotient,
    scaled,
)
from gradc_codegen.math.emitted.rare import sometimes
from gradc_ir.types import DType

# From here on erf is 1 to the last place, and erfc 0.
_SATURATED = {DType.F64: 6.0, DType.F32: 4.0}
_VANISHED = {DType.F64: 27.3, DType.F32: 10.2}
# Up to here erfc is surely a normal number.
_NORMAL = {DType.F64: 26.0, DType.F32: 9.0}
# From here on erf is 1 less erfc, whose error counts little.
_FAR = 0.85


def erf(x: Float) -> Float:
    """Return the error function."""
    dtype = x.format.dtype
    size = abs(x).at_most(_SATURATED[dtype])
    square = size * size
    near = fma(size, paired(square, coefficients.ERF[dtype]), size)
    n, bits = rounded_quotient(-square, x.format.bias)
    over = horner(size, coefficients.ERFC_AWAY_ABOVE[dtype])
    over = over * (bits << x.format.fraction).number
    # what a log(2) in one float loses is small beside 2**n
    r = fma(n, -coefficients.LOG_2_NEAREST[dtype][0], -square)
    grown = fma(over, _exponential_less_one(r), over)
    far = 1.0 - grown / horner(size, coefficients.ERFC_AWAY_BELOW[dtype])
    return (size > _FAR).select(far, near).with_sign_of(x)


def _exponential_less_one(r: Float) -> Float:
    """Return e**r - 1, for r at most log(2) / 2 in size."""
    return fma(r * r, paired(r, coefficients.EXP[r.format.dtype]), r)


def erfc(x: Float) -> Float:
    """Return 1 - erf(x), which for large x is small."""
    x = x.settled
    size = abs(x)
    part, n = _erfc_as_product(size)
    usual = _reflected(x, added_to_exponent(part, n))
    large = x.number(_NORMAL[x.format.dtype]).is_not_at_least(size)
    return sometimes(large, _erfc_of_large, [x], usual)


def _erfc_of_large(x: Float) -> Float:
    part, n = _erfc_as_product(abs(x).at_most(_VANISHED[x.format.dtype]))
    return _reflected(x, scaled(part, n + 2 * x.format.bias))


def _reflected(x: Float, of_size: Float) -> Float:
    """Return erfc(x), where that of the size of x is known."""
    return (x < 0.0).select(2.0 - of_size, of_size)


def _erfc_as_product(size: Float) -> tuple[Float, Bits]:
    """Return y and n, whose lowest bits count, such that y 2**n is erfc of a positive number."""
    dtype = size.format.dtype
    square = size * size
    n, bits = rounded_quotient(-square)
    high, low = coefficients.LOG_2[dtype]
    lost = fma(size, size, -square)
    r = fma(n, -high, -square) + fma(n, -low, -lost)  # the first is exact
    less_one = _exponential_less_one(r)
    constant = coefficients.ERFC_ABOVE[dtype][0]
    part = _from_constant(size, coefficients.ERFC_ABOVE[dtype])
    slope = coefficients.ROOT_PI[dtype][0]
    rest = fma(part, slope, _from_constant(size, coefficients.ERFC_BELOW[dtype]))
    over, under = fma(part, less_one, part), fma(size, rest, constant)
    over_low = fma(part, less_one, part - over)
    under_low = fma(size, rest, constant - under)
    inverse = 1.0 / under
    quotient = over * inverse
    missing = fma(-quotient, under_low, fma(-quotient, under, over) + over_low)
    return fma(missing, inverse, quotient), bits


def _from_constant(x: Float, series: tuple[float, ...]) -> Float:
    """Return a polynomial that for small x is rounded little more than once."""
    first, *further = series
    return fma(x, paired(x, further), first)
