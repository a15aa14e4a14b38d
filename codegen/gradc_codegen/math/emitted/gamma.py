"""log |gamma| and its first two derivatives; of negative numbers by reflection.

Between 1 and 3 the logarithm and digamma are the distances of x from their zeros times a polynomial
in (x - 2) / (x + 2), below by the step from x + 1, beyond by Stirling's series: Digital Library of
Mathematical Functions, 5.5 and 5.11. Trigamma of x + 1 is one polynomial over x + 3/2.
"""

from __future__ import annotations

import math

from gradc_codegen.math.emitted import special_coefficients, sums
from gradc_codegen.math.emitted.builder import Float, Truth, exact_sum, fast_sum, fma
from gradc_codegen.math.emitted.logarithm import log_and_rest
from gradc_codegen.math.emitted.polynomials import polynomial
from gradc_codegen.math.emitted.power import Sum, multiple, product
from gradc_codegen.math.emitted.rare import rarely

# From here on Stirling's series are used.
_FAR = 3.0
# The centre of trigamma's polynomial.
_CENTRE = 1.5


def gammaln(x: Float) -> Float:
    """Return the logarithm of the size of the gamma function."""
    x = x.settled
    return rarely(x < 0.0, _log_gamma_of_negative, [x], _log_gamma_of_positive(x))


def psi(x: Float) -> Float:
    """Return digamma, the derivative of the logarithm of the gamma function."""
    x = x.settled
    return rarely(x < 0.0, _digamma_of_negative, [x], _digamma_of_positive(x))


def trigamma(x: Float) -> Float:
    """Return the derivative of digamma, which is Hurwitz's zeta function of 2 and x."""
    x = x.settled
    return rarely(x < 0.0, _trigamma_of_negative, [x], _trigamma_of_positive(x))


def _from_integer(size: Float) -> Float:
    """Return the distance of a positive number from the nearest integer, with its sign; exact."""
    fraction = size - size.floor
    return (fraction > 0.5).select(fraction - 1.0, fraction)


def _from_one(size: Float) -> tuple[Truth, Float, Sum, Float]:
    """Return what the polynomials between 1 and 3 are of, where below 1 they are of one more.

    Whether the number is below 1; the distance of that or of one more from 1; as a sum that from 2;
    and the argument of the polynomials.
    """
    small = size < 1.0
    distance = small.select(size, size - 1.0)
    from_two = fast_sum(-1.0, distance)  # without an error from 1 on
    return small, distance, from_two, from_two[0] / (distance + 3.0)


# -- the logarithm --------------------------------------------------------------------------------


def _log_gamma(size: Float) -> tuple[Sum, Sum, Truth]:
    """Return log(gamma) of a positive number, below 1 that of one more, as a sum.

    And the logarithm of the number, and whether it is below 1.
    """
    dtype = size.dtype
    small, from_one, from_two, q = _from_one(size)
    series = sums.series(q, special_coefficients.LOG_GAMMA[dtype])
    near = product(multiple(from_two, from_one), series)

    logarithm = log_and_rest(size)
    half, half_low = fast_sum(size, size.number(-0.5))
    # exact, as the logarithm is more than 1; (x - 1/2) (log(x) - 1) + (log(2 π) - 1) / 2 + …
    main, main_low = product((half, half_low), (logarithm[0] - 1.0, logarithm[1]))
    constant, constant_low = special_coefficients.HALF_LOG_2_PI[dtype]
    inverse = 1.0 / size
    series_far = polynomial(inverse * inverse, special_coefficients.LOG_GAMMA_FAR[dtype])
    rest = fma(inverse, series_far, constant) + (main_low + constant_low)
    return sums.chosen(size < _FAR, near, (main, rest)), logarithm, small


def _log_gamma_of_positive(x: Float) -> Float:
    found, logarithm, small = _log_gamma(x)
    result = sums.total(found, sums.only_where(small, sums.negative(logarithm)))
    infinite = x.equals(0.0) | x.equals(math.inf) | found[0].equals(math.inf)
    return infinite.select(math.inf, result)


def _log_gamma_of_negative(x: Float) -> Float:
    """log(π / |sin(π x)|) - log(gamma(1 - x))."""
    size = abs(x)
    found, logarithm, small = _log_gamma(size)
    r = _from_integer(size)
    square = r * r
    sine = square * polynomial(square, special_coefficients.LOG_SINE[x.dtype])
    following = sums.chosen(small, (x.number(0.0), x.number(0.0)), logarithm)
    total = sums.total(
        sums.negative(log_and_rest(abs(r))), sums.negative(found), sums.negative(following), -sine
    )
    return x.equals(-math.inf).select(x, r.equals(0.0).select(math.inf, total))


# -- its derivative -------------------------------------------------------------------------------


def _digamma(size: Float) -> tuple[Sum, Sum, Truth]:
    """Return digamma of a positive number, below 1 that of one more, as a sum.

    And one over the number, and whether it is below 1.
    """
    dtype = size.dtype
    small, _, _, q = _from_one(size)
    series = sums.series(q, special_coefficients.DIGAMMA[dtype])
    root, root_low = special_coefficients.DIGAMMA_ROOT[dtype]
    distance, lost = exact_sum(small.select(1.0 - root, -root), size)
    near = product((distance, lost - root_low), series)

    inverse = sums.reciprocal(size)
    high, low = log_and_rest(size)
    square = inverse[0] * inverse[0]
    series_far = polynomial(square, special_coefficients.DIGAMMA_FAR[dtype])
    far = fast_sum(high, low - fma(square, series_far, inverse[0] * 0.5))
    return sums.chosen(size < _FAR, near, far), inverse, small


def _digamma_of_positive(x: Float) -> Float:
    found, inverse, small = _digamma(x)
    result = sums.total(found, sums.only_where(small, sums.negative(inverse)))
    infinite = abs(inverse[0]).equals(math.inf) | x.equals(math.inf)
    return infinite.select(x.equals(math.inf).select(x, -inverse[0]), result)


def _digamma_of_negative(x: Float) -> Float:
    """digamma(1 - x) - π / tan(π x), of x = -a with digamma(1 + a) + π / tan(π a)."""
    size = abs(x)
    found, inverse, small = _digamma(size)
    following = sums.chosen(small, (x.number(0.0), x.number(0.0)), inverse)
    r = _from_integer(size)
    pole = sums.reciprocal(r)
    square = r * r
    third, third_low = special_coefficients.THIRD_PI_SQUARE[x.dtype]
    high = r * third
    series = polynomial(square, special_coefficients.COTANGENT[x.dtype])
    low = fma(r, fma(square, series, third_low), fma(r, third, -high))
    result = sums.total(pole, (-high, -low), found, following)
    # of the smallest numbers infinite, at the poles not a number
    result = abs(pole[0]).equals(math.inf).select(pole[0], result)
    return r.equals(0.0).select(math.nan, result)


# -- the derivative of that -----------------------------------------------------------------------


def _trigamma_following(size: Float) -> Sum:
    """Return trigamma of 1 + x of a positive number, as a sum."""
    below, below_low = exact_sum(_CENTRE, size)
    inverse = 1.0 / below
    lost = fma(-inverse, below_low, fma(-inverse, below, 1.0))
    q = fma(inverse, -2.0 * _CENTRE, 1.0)
    series = sums.series(q, special_coefficients.TRIGAMMA[size.dtype])
    return product((inverse, inverse * lost), series)


def _trigamma_of_positive(x: Float) -> Float:
    """1 / x² + trigamma(1 + x)."""
    inverse = sums.reciprocal(x)
    square, square_low = product(inverse, inverse)
    result = sums.total((square, square_low), _trigamma_following(x))
    return square.equals(math.inf).select(square, x.equals(math.inf).select(0.0, result))


def _trigamma_of_negative(x: Float) -> Float:
    """(π / sin(π x))² - trigamma(1 - x)."""
    r = _from_integer(abs(x))
    pole = sums.reciprocal(r)
    square, square_low = product(pole, pole)
    series = polynomial(r * r, special_coefficients.COSECANT[x.dtype])
    right = sums.negative(_trigamma_following(abs(x)))
    total = sums.total((square, square_low), series, right)
    return (square < math.inf).select(total, math.inf)
