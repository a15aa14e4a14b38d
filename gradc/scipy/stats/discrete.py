"""Discrete distributions of scipy.stats: the logarithms of their probabilities, and their sums."""

from __future__ import annotations

from typing import Any

from gradc import special
from gradc.scipy.stats.distributions import Family
from gradc.special.recording import numpy


def _is_probability(p: Any) -> Any:
    return (p >= 0) & (p <= 1)


def _count_and_probability(n: Any, p: Any) -> Any:
    return (n >= 0) & _is_probability(p)


def _poisson(k: Any, mu: Any) -> Any:
    return special.xlogy(k, mu) - special.gammaln(k + 1.0) - mu


def _choices(n: Any, k: Any) -> Any:
    """Return the logarithm of the number of choices."""
    factorials = special.gammaln(k + 1.0) + special.gammaln(n - k + 1.0)
    return special.gammaln(n + 1.0) - factorials


def _binomial(k: Any, n: Any, p: Any) -> Any:
    return _choices(n, k) + special.xlogy(k, p) + special.xlog1py(n - k, -p)


def _bernoulli(k: Any, p: Any) -> Any:
    return special.xlogy(k, p) + special.xlog1py(1.0 - k, -p)


def _negative_binomial(k: Any, n: Any, p: Any) -> Any:
    choices = special.gammaln(n + k) - special.gammaln(k + 1.0) - special.gammaln(n)
    return choices + n * numpy("log", p) + special.xlog1py(k, -p)


def _geometric(k: Any, p: Any) -> Any:
    return special.xlog1py(k - 1.0, -p) + numpy("log", p)


DISCRETE: dict[str, Family] = {
    "poisson": Family(
        _poisson,
        ("mu",),
        low=0.0,
        valid=lambda mu: mu >= 0,
        distribution=lambda k, mu: special.pdtr(k, mu),
        survival=lambda k, mu: special.pdtrc(k, mu),
        discrete=True,
        mean=lambda mu: mu,
        variance=lambda mu: mu,
    ),
    "binom": Family(
        _binomial,
        ("n", "p"),
        low=0.0,
        high=lambda n, p: n,
        valid=_count_and_probability,
        distribution=lambda k, n, p: special.betaincc(k + 1.0, n - k, p),
        survival=lambda k, n, p: special.betainc(k + 1.0, n - k, p),
        discrete=True,
        mean=lambda n, p: n * p,
        variance=lambda n, p: n * p * (1.0 - p),
    ),
    "bernoulli": Family(
        _bernoulli,
        ("p",),
        low=0.0,
        high=1.0,
        valid=_is_probability,
        distribution=lambda k, p: 1.0 - p + 0.0 * k,
        survival=lambda k, p: p + 0.0 * k,
        discrete=True,
        mean=lambda p: p,
        variance=lambda p: p * (1.0 - p),
    ),
    "nbinom": Family(
        _negative_binomial,
        ("n", "p"),
        low=0.0,
        valid=lambda n, p: (n > 0) & ((p > 0) & (p <= 1)),
        distribution=lambda k, n, p: special.betainc(n, k + 1.0, p),
        survival=lambda k, n, p: special.betaincc(n, k + 1.0, p),
        discrete=True,
    ),
    "geom": Family(
        _geometric,
        ("p",),
        low=1.0,
        valid=lambda p: (p > 0) & (p <= 1),
        distribution=lambda k, p: -numpy("expm1", k * numpy("log1p", -p)),
        survival=lambda k, p: numpy("exp", k * numpy("log1p", -p)),
        log_survival=lambda k, p: k * numpy("log1p", -p),
        discrete=True,
    ),
}
