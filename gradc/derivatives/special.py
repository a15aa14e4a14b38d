"""Partial derivatives of the special functions, in forms that neither cancel nor overflow.

Where nothing else is said, formulas are from the Digital Library of Mathematical Functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from gradc.autodiff.cotangents.masks import Partials
from gradc.autodiff.table import partials
from gradc.autodiff.zeros import is_number
from gradc_ir import build, ops
from gradc_ir.core.graph import Value
from gradc_ir.core.op import Op
from gradc_ir.graphs.rearrange import scalar_constant

ROOT_PI, ROOT_TWO_PI = math.sqrt(math.pi), math.sqrt(2 * math.pi)
_PARAMETER = "is differentiated in its last operand; for this one no accurate formula is known"

# -- the gamma function ---------------------------------------------------------------------------


@partials(ops.lgamma)
def lgamma(out: Value, x: Value) -> Partials:
    """log |gamma(x)|."""
    return [build.digamma(x)]


@partials(ops.gamma)
def gamma(out: Value, x: Value) -> Partials:
    """The gamma function."""
    return [out * build.digamma(x)]


@partials(ops.rgamma)
def rgamma(out: Value, x: Value) -> Partials:
    """1 / gamma(x); left of 1/2 by reflection, because digamma has poles at the zeros."""
    left = build.lt(x, 0.5)
    mirrored = build.select(left, 1 - x, x)
    sine, cosine = _sine_and_cosine(x)
    psi = build.digamma(mirrored)
    reflected = build.gamma(build.select(left, mirrored, 1)) * (cosine - psi * sine / math.pi)
    return [build.select(left, reflected, -out * psi)]


def _sine_and_cosine(x: Value) -> tuple[Value, Value]:
    """Return sin(pi x) and cos(pi x), exact at whole and half numbers."""
    nearest = build.stop_gradient(build.floor(x + 0.5))
    odd = build.ne(build.stop_gradient(2 * build.floor(nearest / 2)), nearest)
    angle = math.pi * (x - nearest)
    sign = build.select(odd, build.full_like(x, -1), build.ones_like(x))
    return sign * build.sin(angle), sign * build.cos(angle)


@partials(ops.digamma)
def digamma(out: Value, x: Value) -> Partials:
    """The trigamma function; of negative numbers by reflection, since its series starts there."""
    left = build.lt(x, 0)
    right = build.zeta(2, build.select(left, 1 - x, x))
    sine, _ = _sine_and_cosine(x)
    cosecant = math.pi / build.select(left, sine, 1)
    return [build.select(left, cosecant * cosecant - right, right)]


@partials(ops.zeta, refused={0: "is differentiated in q; for s no accurate formula is known"})
def zeta(out: Value, s: Value, q: Value) -> Partials:
    """The sum of (q + k) ** -s."""
    return [None, -s * build.zeta(_moved(s, 1), q)]


def _moved(order: Value, by: int) -> Value:
    """Return an order moved by a whole number; a number stays a number."""
    number = scalar_constant(order)
    return order + by if number is None else build.full_like(order, number + by)


@partials(ops.beta)
def beta(out: Value, a: Value, b: Value) -> Partials:
    """gamma(a) gamma(b) / gamma(a + b)."""
    return [
        lambda: out * -build.digamma_difference(a, b),
        lambda: out * -build.digamma_difference(b, a),
    ]


@partials(ops.betaln)
def betaln(out: Value, a: Value, b: Value) -> Partials:
    """log |beta(a, b)|."""
    return [
        lambda: -build.digamma_difference(a, b),
        lambda: -build.digamma_difference(b, a),
    ]


@partials(ops.binom)
def binom(out: Value, n: Value, k: Value) -> Partials:
    """gamma(n + 1) / (gamma(k + 1) gamma(n - k + 1))."""
    rest = build.digamma(n - k + 1)
    return [
        lambda: out * (build.digamma(n + 1) - rest),
        lambda: out * (rest - build.digamma(k + 1)),
    ]


@partials(ops.poch)
def poch(out: Value, x: Value, m: Value) -> Partials:
    """gamma(x + m) / gamma(x)."""
    return [
        lambda: out * build.digamma_difference(x, m),
        lambda: out * build.digamma(x + m),
    ]


def _times_log(factor: Value, log: Value) -> Value:
    """Return a factor times a logarithm that may be infinite where the factor is 0."""
    return build.select(build.eq(factor, 0), build.zeros_like(log), factor * log)


def _log_gamma_density(a: Value, x: Value) -> Value:
    return _times_log(a - 1, build.log(x)) - x - build.lgamma(a)


def _log_beta_density(a: Value, b: Value, x: Value) -> Value:
    left = _times_log(a - 1, build.log(x))
    return left + _times_log(b - 1, build.log1p(-x)) - build.betaln(a, b)


def _log_student_density(df: Value, t: Value) -> Value:
    tails = (df + 1) / 2 * build.log1p(t * t / df)
    return -build.log(df) / 2 - build.betaln(0.5, df / 2) - tails


def _distribution(op: Op, inverse: Op, log_density: Callable[..., Value], sign: int = 1) -> None:
    """Declare a distribution function, or 1 less it, and its inverse: the density, or one over it.

    Both are differentiated by their last operand, a point or a probability.
    """
    refused = dict.fromkeys(range((op.operands or 0) - 1), _PARAMETER)

    @partials(op, refused=refused)
    def density(out: Value, *operands: Value) -> Partials:
        return [*(None for _ in refused), lambda: signed(log_density(*operands))]

    @partials(inverse, refused=refused)
    def over_density(out: Value, *operands: Value) -> Partials:
        return [*(None for _ in refused), lambda: signed(-log_density(*operands[:-1], out))]

    def signed(logarithm: Value) -> Value:
        return build.exp(logarithm) if sign > 0 else -build.exp(logarithm)


_distribution(ops.gammainc, ops.gammaincinv, _log_gamma_density)
_distribution(ops.gammaincc, ops.gammainccinv, _log_gamma_density, sign=-1)
_distribution(ops.betainc, ops.betaincinv, _log_beta_density)
_distribution(ops.stdtr, ops.stdtrit, _log_student_density)


# -- the error function ---------------------------------------------------------------------------

# From here on 2 x * x terms of the asymptotic series are the last bit or less.
_FAR, _TERMS = 8.0, 20


@partials(ops.erfcx)
def erfcx(out: Value, x: Value) -> Partials:
    """2 x erfcx(x) - 2 / sqrt(pi), a difference of equal numbers for large x: there its series."""
    far = build.lt(_FAR, x)
    near = 2 * (x * out - 1 / ROOT_PI)
    return [build.select(far, 2 / ROOT_PI * _tail(build.select(far, x, _FAR), -1), near)]


@partials(ops.dawsn)
def dawsn(out: Value, x: Value) -> Partials:
    """1 - 2 x dawsn(x), a difference of equal numbers for large x: there its series."""
    far = build.lt(_FAR, build.abs(x))
    near = 1 - 2 * x * out
    return [build.select(far, -_tail(build.select(far, x, _FAR), 1), near)]


def _tail(x: Value, sign: int) -> Value:
    """Return the sum over k > 0 of sign ** k (2 k - 1)!! / (2 x * x) ** k."""
    ratio = 0.5 / x / x
    double_factorials = [1.0]
    for k in range(1, _TERMS + 1):
        double_factorials.append(double_factorials[-1] * (2 * k - 1) * sign)
    return ratio * _polynomial(double_factorials[1:], ratio)


def _polynomial(coefficients: Sequence[float], x: Value) -> Value:
    """Return the polynomial of x with these coefficients, the constant one first."""
    found = build.full_like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        found = found * x + coefficient
    return found


@partials(ops.erfinv)
def erfinv(out: Value, x: Value) -> Partials:
    """One over the derivative of erf there."""
    return [ROOT_PI / 2 * build.exp(out * out)]


@partials(ops.ndtri)
def ndtri(out: Value, p: Value) -> Partials:
    """One over the density of the normal distribution there."""
    return [ROOT_TWO_PI * build.exp(out * out / 2)]


@partials(ops.ndtr)
def ndtr(out: Value, x: Value) -> Partials:
    """The density."""
    return [build.exp(-(x * x) / 2) / ROOT_TWO_PI]


@partials(ops.log_ndtr)
def log_ndtr(out: Value, x: Value) -> Partials:
    """The density over the distribution function: on the left both are scaled by exp(x * x / 2)."""
    left = build.lt(x, 0)
    scaled = build.erfcx(build.select(left, -math.sqrt(0.5) * x, 0))
    whole = build.erfc(build.select(left, 0, -math.sqrt(0.5) * x)) / 2
    density = build.exp(-(x * x) / 2) / ROOT_TWO_PI
    # far out the scaled one is subnormal, and the quotient the distance
    lower = build.select(build.lt(x, -1e9), -x, math.sqrt(2 / math.pi) / scaled)
    return [build.select(left, lower, density / whole)]


# -- Bessel functions -----------------------------------------------------------------------------

_ORDER = "is differentiated in x; for its order no accurate formula is known"


def _slope(op: Op, order: Value, x: Value, below: float, above: float) -> Value:
    """Return ``below`` f(order - 1, x) + ``above`` f(order + 1, x), without a division by x."""
    if is_number(order, 0):
        first = build.elementwise(op.name, 1, x)
        return first if above > 0 else -first
    lower, upper = (build.elementwise(op.name, _moved(order, by), x) for by in (-1, 1))
    return below * lower + above * upper


def _bessel(op: Op, below: float, above: float) -> None:
    @partials(op, refused={0: _ORDER})
    def slope(out: Value, order: Value, x: Value) -> Partials:
        return [None, lambda: _slope(op, order, x, below, above)]


_bessel(ops.bessel_j, 0.5, -0.5)  # DLMF 10.6.1
_bessel(ops.bessel_y, 0.5, -0.5)  # DLMF 10.6.1
_bessel(ops.bessel_i, 0.5, 0.5)  # DLMF 10.29.1
_bessel(ops.bessel_k, -0.5, -0.5)  # DLMF 10.29.1


@partials(ops.bessel_i_scaled, refused={0: _ORDER})
def bessel_i_scaled(out: Value, order: Value, x: Value) -> Partials:
    """As of I, and exp(-|x|) has its derivative; about abs(x) roundings of the result are lost."""
    decay = build.sign(x) * out
    return [None, lambda: _slope(ops.bessel_i_scaled, order, x, 0.5, 0.5) - decay]


@partials(ops.bessel_k_scaled, refused={0: _ORDER})
def bessel_k_scaled(out: Value, order: Value, x: Value) -> Partials:
    """As of K, and exp(x) has its derivative; about x roundings of the result are lost."""
    return [None, lambda: out + _slope(ops.bessel_k_scaled, order, x, -0.5, -0.5)]


# -- integrals ------------------------------------------------------------------------------------


@partials(ops.spence)
def spence(out: Value, x: Value) -> Partials:
    """log(x) / (1 - x), near 1 by its series."""
    distance = 1 - x
    near = build.lt(build.abs(distance), 0.1)
    series = _polynomial([-1 / (k + 1) for k in range(17)], distance)
    return [build.select(near, series, build.log(x) / build.select(near, 1, distance))]


# The series of K(m) - E(m), divided by m, in m: DLMF 19.5.1 and 19.5.2.
_BINOMIALS = [(math.comb(2 * k, k) / 4**k) ** 2 for k in range(28)]
_DIFFERENCE = [math.pi / 2 * b * 2 * k / (2 * k - 1) for k, b in enumerate(_BINOMIALS) if k]


def _difference(first: Value, second: Value, m: Value) -> Value:
    """Return (K(m) - E(m)) / m, near 0 by its series."""
    near = build.lt(build.abs(m), 0.25)
    quotient = (first - second) / build.select(near, 1, m)
    return build.select(near, _polynomial(_DIFFERENCE, build.select(near, m, 0)), quotient)


@partials(ops.ellipkm1)
def ellipkm1(out: Value, x: Value) -> Partials:
    """-(E(m) - x K(m)) / (2 m x) for m = 1 - x, DLMF 19.4.1, without a difference near m = 0."""
    m = 1 - x
    return [-(out - _difference(out, build.ellipe(m), m)) / (2 * x)]


@partials(ops.ellipe)
def ellipe(out: Value, m: Value) -> Partials:
    """(E(m) - K(m)) / (2 m), DLMF 19.4.2."""
    return [-_difference(build.ellipkm1(1 - m), out, m) / 2]


@partials(ops.expi)
def expi(out: Value, x: Value) -> Partials:
    """exp(x) / x."""
    return [build.exp(x) / x]


@partials(ops.exp1)
def exp1(out: Value, x: Value) -> Partials:
    """-exp(-x) / x."""
    return [-build.exp(-x) / x]


@partials(ops.sine_integral)
def sine_integral(out: Value, x: Value) -> Partials:
    """sin(x) / x, near 0 by its series."""
    near = build.lt(build.abs(x), 1)
    inside = build.select(near, x, 0)
    coefficients = [(-1) ** k / math.factorial(2 * k + 1) for k in range(10)]
    series = _polynomial(coefficients, inside * inside)
    return [build.select(near, series, build.sin(x) / build.select(near, 1, x))]


@partials(ops.cosine_integral)
def cosine_integral(out: Value, x: Value) -> Partials:
    """cos(x) / x."""
    return [build.cos(x) / x]


@partials(ops.fresnel_sine)
def fresnel_sine(out: Value, x: Value) -> Partials:
    """sin(pi / 2 x * x)."""
    return [build.sin(math.pi / 2 * (x * x))]


@partials(ops.fresnel_cosine)
def fresnel_cosine(out: Value, x: Value) -> Partials:
    """cos(pi / 2 x * x)."""
    return [build.cos(math.pi / 2 * (x * x))]
