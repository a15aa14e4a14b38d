"""erf: a series from the next of many steps on; in f32 1 - exp(…). erfc: exp(-x²) times a quotient.

Quotients for erfc are those of W. Cody, *Rational Chebyshev approximations for the error function*,
1969, with one for all numbers.
"""

from __future__ import annotations

from math import factorial

from gradc_codegen.math.emitted import coefficients
from gradc_codegen.math.emitted.builder import Bits, Float, fma
from gradc_codegen.math.emitted.error_function_steps import ERROR_FUNCTION_STEPS
from gradc_codegen.math.emitted.exponential import (
    added_to_exponent,
    rounded_quotient,
    scaled,
)
from gradc_codegen.math.emitted.lookup import pairs
from gradc_codegen.math.emitted.polynomials import horner, paired
from gradc_codegen.math.emitted.rare import sometimes
from gradc_ir.core.types import DType

# From here on erf is 1 to the last place, and erfc 0.
_SATURATED = {DType.F64: 6.0, DType.F32: 4.0}
_VANISHED = {DType.F64: 27.3, DType.F32: 10.2}
# Up to here erfc is surely a normal number.
_NORMAL = {DType.F64: 26.0, DType.F32: 9.0}

_STEPS = 64
# the step that a NaN is on may be any
_TABLE = [*ERROR_FUNCTION_STEPS, *[(1.0, 0.0)] * (512 - len(ERROR_FUNCTION_STEPS))]
# How many powers of r d count beside each power of d², from the constant on.
_TERMS = (6, 4, 2, 1)


def erf(x: Float) -> Float:
    """Return the error function."""
    dtype = x.dtype
    size = abs(x.settled).at_most(_SATURATED[dtype])
    found = _erf_between_steps(size) if dtype is DType.F64 else _erf_by_exponential(size)
    return found.with_sign_of(x)


def _erf_between_steps(size: Float) -> Float:
    """Return erf(r) + erf'(r) d (1 - r d + …), where r is the nearest step and d what is beyond.

    The series is the integral of exp(-2 r d t - d² t²) for t from 0 to 1.
    """
    shift = size.format.unit_shift / _STEPS
    moved = size + shift
    step = moved - shift
    beyond = size - step
    value, slope = pairs("steps", _TABLE, moved.bits)
    product, square = step * beyond, beyond * beyond
    *others, last = (
        horner(product, [_term(k, power) for k in range(count)])
        for power, count in enumerate(_TERMS)
    )
    for series in reversed(others):
        last = fma(square, last, series)
    return fma(slope * beyond, last, value)


def _term(k: int, power: int) -> float:
    """Return what stands before (r d)**k (d²)**power."""
    sign = -1.0 if (k + power) % 2 else 1.0
    return sign * (1 << k) / (factorial(k) * factorial(power) * (k + 2 * power + 1))


def _erf_by_exponential(size: Float) -> Float:
    """Return 1 - exp(log(erfc(x))), by way of what the exponential is less than 1."""
    dtype = size.dtype
    negative = -fma(size, horner(size, coefficients.ERF[dtype]), size)
    n, bits = rounded_quotient(negative, size.format.bias)
    # what a log(2) in one float loses is small beside 2**n
    r = fma(n, -coefficients.LOG_2_NEAREST[dtype][0], negative)
    less_one = fma(r * r, horner(r, coefficients.EXPM1[dtype]), r)
    power = (bits << size.format.fraction).number
    return fma(-power, less_one, 1.0 - power)


def _exponential_less_one(r: Float) -> Float:
    """Return e**r - 1, for r at most log(2) / 2 in size."""
    return fma(r * r, paired(r, coefficients.EXP[r.dtype]), r)


def erfc(x: Float) -> Float:
    """Return 1 - erf(x), which for large x is small."""
    x = x.settled
    size = abs(x)
    part, n = _erfc_as_product(size)
    usual = _reflected(x, added_to_exponent(part, n))
    large = (x.number(_NORMAL[x.dtype]).bits - size.bits).is_negative
    return sometimes(large, _erfc_of_large, [x], usual)


def _erfc_of_large(x: Float) -> Float:
    size = abs(x)
    vanishes = size > _VANISHED[x.dtype]
    part, n = _erfc_as_product(vanishes.select(0.0, size))
    return _reflected(x, vanishes.select(0.0, scaled(part, n + 2 * x.format.bias)))


def _reflected(x: Float, of_size: Float) -> Float:
    """Return erfc(x), where that of the size of x is known."""
    return x.bits.is_negative.select(2.0 - of_size, of_size)


def _erfc_as_product(size: Float) -> tuple[Float, Bits]:
    """Return y and n, whose lowest bits count, such that y 2**n is erfc of a positive number."""
    dtype = size.dtype
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
