"""Continuous distributions of scipy.stats, as formulas of the standard ones."""

from __future__ import annotations

import functools
import math
from typing import Any

from gradc import special
from gradc.scipy.stats.distributions import Family
from gradc.special.recording import numpy, where
from gradc.tracing.core.table import AnyFunction

LOG_TWO = math.log(2)
HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


exp, log, log1p, expm1 = (
    functools.partial(numpy, name) for name in ("exp", "log", "log1p", "expm1")
)


def _positive(*shapes: Any) -> Any:
    found = shapes[0] > 0
    for shape in shapes[1:]:
        found = found & (shape > 0)
    return found


def _normal(y: Any) -> Any:
    return -0.5 * y * y - HALF_LOG_TWO_PI


def _student(y: Any, df: Any) -> Any:
    tails = 0.5 * (df + 1.0) * log1p(y * y / df)
    return -0.5 * log(df) - special.betaln(0.5 * df, 0.5) - tails


def _chi_square(y: Any, df: Any) -> Any:
    half = 0.5 * df
    return special.xlogy(half - 1.0, y) - 0.5 * y - special.gammaln(half) - half * LOG_TWO


def _gamma(y: Any, a: Any) -> Any:
    return special.xlogy(a - 1.0, y) - y - special.gammaln(a)


def _inverse_gamma(y: Any, a: Any) -> Any:
    found = -(a + 1.0) * log(y) - special.gammaln(a) - 1.0 / y
    return where(y > 0, found, -math.inf)


def _beta(y: Any, a: Any, b: Any) -> Any:
    left = special.xlogy(a - 1.0, y)
    return special.xlog1py(b - 1.0, -y) + left - special.betaln(a, b)


def _fisher(y: Any, dfn: Any, dfd: Any) -> Any:
    n, m = 0.5 * dfn, 0.5 * dfd
    scaled = dfn * y / dfd
    powers = special.xlogy(n - 1.0, scaled) - (n + m) * log1p(scaled)
    return powers + log(dfn / dfd) - special.betaln(n, m)


def _laplace_quantile(q: Any) -> Any:
    return where(q > 0.5, -log(2.0 * (1.0 - q)), log(2.0 * q))


def _logistic(y: Any) -> Any:
    size = numpy("abs", y)
    return -size - 2.0 * log1p(exp(-size))


def _log_normal(y: Any, s: Any) -> Any:
    root = log(y) / s
    found = -0.5 * root * root - log(s * y) - HALF_LOG_TWO_PI
    return where(y > 0, found, -math.inf)


def _weibull(y: Any, c: Any) -> Any:
    return log(c) + special.xlogy(c - 1.0, y) - numpy("power", y, c)


def _von_mises(y: Any, kappa: Any) -> Any:
    return kappa * special.cosm1(y) - math.log(2 * math.pi) - log(special.i0e(kappa))


def _log_mass(low: Any, high: Any) -> Any:
    """Return the logarithm of the normal distribution's mass between two numbers."""

    def lower(small: Any, large: Any) -> Any:
        top = special.log_ndtr(large)
        return top + special.log1mexp(special.log_ndtr(small) - top)

    left, right = lower(low, high), lower(-high, -low)
    across = log1p(-special.ndtr(low) - special.ndtr(-high))
    return where(high <= 0, left, where(low > 0, right, across))


def _gamma_entropy(a: Any) -> Any:
    return a + special.gammaln(a) + (1.0 - a) * special.digamma(a)


def _beta_entropy(a: Any, b: Any) -> Any:
    spread = (a + b - 2.0) * special.digamma(a + b)
    own = (a - 1.0) * special.digamma(a) + (b - 1.0) * special.digamma(b)
    return special.betaln(a, b) - own + spread


def _beta_variance(a: Any, b: Any) -> Any:
    return a * b / ((a + b) * (a + b) * (a + b + 1.0))


def _log_normal_variance(s: Any) -> Any:
    return expm1(s * s) * exp(s * s)


def _mirrored(family: Family) -> Family:
    """Return the distribution of -y for the one of y."""

    def at_minus(formula: AnyFunction | None) -> AnyFunction | None:
        return formula and (lambda y, *shapes: formula(-y, *shapes))

    def minus(formula: AnyFunction | None) -> AnyFunction | None:
        return formula and (lambda q, *shapes: -formula(q, *shapes))

    return family._replace(
        log_density=lambda y, *shapes: family.log_density(-y, *shapes),
        distribution=at_minus(family.survival),
        survival=at_minus(family.distribution),
        log_distribution=at_minus(family.log_survival),
        log_survival=at_minus(family.log_distribution),
        quantile=minus(family.upper_quantile),
        upper_quantile=minus(family.quantile),
    )


def _symmetric(log_density: AnyFunction, shapes: tuple[str, ...] = (), **formulas: Any) -> Family:
    """Return a distribution that is its own mirror image."""
    family = Family(log_density, shapes, **formulas)
    mirror = _mirrored(family)
    return family._replace(
        survival=mirror.survival,
        log_survival=mirror.log_survival,
        upper_quantile=mirror.upper_quantile,
    )


def _by_hazard(
    log_density: AnyFunction, hazard: AnyFunction, inverse: AnyFunction, **facts: Any
) -> Family:
    """Return a distribution by its cumulative hazard, minus the logarithm of its survival."""
    return Family(
        log_density,
        distribution=lambda y, *shapes: -expm1(-hazard(y, *shapes)),
        survival=lambda y, *shapes: exp(-hazard(y, *shapes)),
        log_survival=lambda y, *shapes: -hazard(y, *shapes),
        quantile=lambda q, *shapes: inverse(-log1p(-q), *shapes),
        upper_quantile=lambda q, *shapes: inverse(-log(q), *shapes),
        **facts,
    )


# Of positive numbers, with parameters that are positive.
_of_positive = functools.partial(Family, low=0.0, valid=_positive)
_LEAST_EXTREME = _by_hazard(lambda y: y - exp(y), hazard=exp, inverse=log)
CONTINUOUS: dict[str, Family] = {
    "norm": _symmetric(
        _normal,
        distribution=special.ndtr,
        log_distribution=special.log_ndtr,
        quantile=special.ndtri,
        mean=lambda: 0.0,
        variance=lambda: 1.0,
        entropy=lambda: 0.5 * math.log(2 * math.pi * math.e),
    ),
    "t": _symmetric(
        _student,
        ("df",),
        valid=_positive,
        distribution=lambda y, df: special.stdtr(df, y),
        quantile=lambda q, df: special.stdtrit(df, q),
    ),
    "chi2": _of_positive(
        _chi_square,
        ("df",),
        distribution=lambda y, df: special.chdtr(df, y),
        survival=lambda y, df: special.chdtrc(df, y),
        quantile=lambda q, df: 2.0 * special.gammaincinv(0.5 * df, q),
        upper_quantile=lambda q, df: 2.0 * special.gammainccinv(0.5 * df, q),
        mean=lambda df: df,
        variance=lambda df: 2.0 * df,
        entropy=lambda df: _gamma_entropy(0.5 * df) + LOG_TWO,
    ),
    "gamma": _of_positive(
        _gamma,
        ("a",),
        distribution=lambda y, a: special.gammainc(a, y),
        survival=lambda y, a: special.gammaincc(a, y),
        quantile=lambda q, a: special.gammaincinv(a, q),
        upper_quantile=lambda q, a: special.gammainccinv(a, q),
        mean=lambda a: a,
        variance=lambda a: a,
        entropy=_gamma_entropy,
    ),
    "invgamma": _of_positive(
        _inverse_gamma,
        ("a",),
        distribution=lambda y, a: special.gammaincc(a, 1.0 / y),
        survival=lambda y, a: special.gammainc(a, 1.0 / y),
        quantile=lambda q, a: 1.0 / special.gammainccinv(a, q),
        upper_quantile=lambda q, a: 1.0 / special.gammaincinv(a, q),
    ),
    "beta": Family(
        _beta,
        ("a", "b"),
        low=0.0,
        high=1.0,
        valid=_positive,
        distribution=lambda y, a, b: special.betainc(a, b, y),
        survival=lambda y, a, b: special.betaincc(a, b, y),
        quantile=lambda q, a, b: special.betaincinv(a, b, q),
        upper_quantile=lambda q, a, b: 1.0 - special.betaincinv(b, a, q),
        mean=lambda a, b: a / (a + b),
        variance=_beta_variance,
        entropy=_beta_entropy,
    ),
    "f": _of_positive(
        _fisher,
        ("dfn", "dfd"),
        distribution=lambda y, n, m: special.fdtr(n, m, y),
        survival=lambda y, n, m: special.fdtrc(n, m, y),
    ),
    "expon": _by_hazard(
        lambda y: -y,
        hazard=lambda y: y,
        inverse=lambda hazard: hazard,
        low=0.0,
        log_distribution=lambda y: special.log1mexp(-y),
        mean=lambda: 1.0,
        variance=lambda: 1.0,
        entropy=lambda: 1.0,
    ),
    "uniform": Family(
        lambda y: 0.0 * y,
        low=0.0,
        high=1.0,
        distribution=lambda y: y,
        quantile=lambda q: q,
        mean=lambda: 0.5,
        variance=lambda: 1 / 12,
        entropy=lambda: 0.0,
    ),
    "laplace": Family(
        lambda y: -numpy("abs", y) - LOG_TWO,
        distribution=lambda y: where(y > 0, 1.0 - 0.5 * exp(-y), 0.5 * exp(y)),
        survival=lambda y: where(y > 0, 0.5 * exp(-y), 1.0 - 0.5 * exp(y)),
        log_distribution=lambda y: where(y > 0, log1p(-0.5 * exp(-y)), y - LOG_TWO),
        log_survival=lambda y: where(y > 0, -y - LOG_TWO, log1p(-0.5 * exp(y))),
        quantile=_laplace_quantile,
        upper_quantile=lambda q: -_laplace_quantile(q),
        mean=lambda: 0.0,
        variance=lambda: 2.0,
        entropy=lambda: LOG_TWO + 1.0,
    ),
    "logistic": _symmetric(
        _logistic,
        distribution=special.sigmoid,
        log_distribution=special.log_sigmoid,
        quantile=special.logit,
        mean=lambda: 0.0,
        variance=lambda: math.pi**2 / 3,
        entropy=lambda: 2.0,
    ),
    "cauchy": _symmetric(
        lambda y: -math.log(math.pi) - log1p(y * y),
        distribution=lambda y: numpy("arctan2", 1.0, -y) / math.pi,
        quantile=lambda q: -1.0 / numpy("tan", math.pi * q),
    ),
    "lognorm": _of_positive(
        _log_normal,
        ("s",),
        distribution=lambda y, s: special.ndtr(log(y) / s),
        survival=lambda y, s: special.ndtr(-log(y) / s),
        log_distribution=lambda y, s: special.log_ndtr(log(y) / s),
        log_survival=lambda y, s: special.log_ndtr(-log(y) / s),
        quantile=lambda q, s: exp(s * special.ndtri(q)),
        upper_quantile=lambda q, s: exp(-s * special.ndtri(q)),
        mean=lambda s: exp(0.5 * s * s),
        variance=_log_normal_variance,
        entropy=lambda s: 0.5 * math.log(2 * math.pi * math.e) + log(s),
    ),
    "halfnorm": Family(
        lambda y: _normal(y) + LOG_TWO,
        low=0.0,
        distribution=lambda y: special.erf(math.sqrt(0.5) * y),
        survival=lambda y: special.erfc(math.sqrt(0.5) * y),
        quantile=lambda q: special.ndtri(0.5 * (1.0 + q)),
        upper_quantile=lambda q: -special.ndtri(0.5 * q),
    ),
    "halfcauchy": Family(
        lambda y: math.log(2 / math.pi) - log1p(y * y),
        low=0.0,
        distribution=lambda y: 2 / math.pi * numpy("arctan", y),
        survival=lambda y: 2 / math.pi * numpy("arctan2", 1.0, y),
        quantile=lambda q: numpy("tan", 0.5 * math.pi * q),
        upper_quantile=lambda q: 1.0 / numpy("tan", 0.5 * math.pi * q),
    ),
    "weibull_min": _by_hazard(
        _weibull,
        hazard=lambda y, c: numpy("power", y, c),
        inverse=lambda hazard, c: numpy("power", hazard, 1.0 / c),
        shapes=("c",),
        low=0.0,
        valid=_positive,
    ),
    "pareto": Family(
        lambda y, b: log(b) - (b + 1.0) * log(y),
        ("b",),
        low=1.0,
        valid=_positive,
        distribution=lambda y, b: -expm1(-b * log(y)),
        survival=lambda y, b: numpy("power", y, -b),
        log_survival=lambda y, b: -b * log(y),
        quantile=lambda q, b: numpy("power", 1.0 - q, -1.0 / b),
        upper_quantile=lambda q, b: numpy("power", q, -1.0 / b),
    ),
    "gumbel_r": _mirrored(_LEAST_EXTREME),
    "gumbel_l": _LEAST_EXTREME,
    "rayleigh": _by_hazard(
        lambda y: where(y < math.inf, log(y) - 0.5 * y * y, -math.inf),
        hazard=lambda y: 0.5 * y * y,
        inverse=lambda hazard: numpy("sqrt", 2.0 * hazard),
        low=0.0,
    ),
    "maxwell": Family(
        lambda y: 2.0 * log(y) + _normal(y) + LOG_TWO,
        low=0.0,
        distribution=lambda y: special.gammainc(1.5, 0.5 * y * y),
        survival=lambda y: special.gammaincc(1.5, 0.5 * y * y),
        quantile=lambda q: numpy("sqrt", 2.0 * special.gammaincinv(1.5, q)),
        upper_quantile=lambda q: numpy("sqrt", 2.0 * special.gammainccinv(1.5, q)),
    ),
    "powerlaw": Family(
        lambda y, a: log(a) + special.xlogy(a - 1.0, y),
        ("a",),
        low=0.0,
        high=1.0,
        valid=_positive,
        distribution=lambda y, a: numpy("power", y, a),
        survival=lambda y, a: -expm1(a * log(y)),
        log_distribution=lambda y, a: a * log(y),
        quantile=lambda q, a: numpy("power", q, 1.0 / a),
    ),
    "truncnorm": Family(
        lambda y, a, b: _normal(y) - _log_mass(a, b),
        ("a", "b"),
        low=lambda a, b: a,
        high=lambda a, b: b,
        valid=lambda a, b: a < b,
        distribution=lambda y, a, b: exp(_log_mass(a, y) - _log_mass(a, b)),
        survival=lambda y, a, b: exp(_log_mass(y, b) - _log_mass(a, b)),
        log_distribution=lambda y, a, b: _log_mass(a, y) - _log_mass(a, b),
        log_survival=lambda y, a, b: _log_mass(y, b) - _log_mass(a, b),
    ),
    "skewnorm": Family(
        lambda y, a: LOG_TWO + _normal(y) + special.log_ndtr(a * y),
        ("a",),
    ),
    "vonmises": Family(_von_mises, ("kappa",), valid=lambda kappa: kappa >= 0),
}
