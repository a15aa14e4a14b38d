"""Means, variances and entropies of the standard distributions, as formulas of their shapes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from gradc import special
from gradc.special.recording import numpy


class Moments(NamedTuple):
    """The mean, the variance, and the entropy where it has a formula."""

    mean: Callable[..., Any]
    variance: Callable[..., Any]
    entropy: Callable[..., Any] | None = None


def _gamma_entropy(a: Any) -> Any:
    return a + special.gammaln(a) + (1.0 - a) * special.digamma(a)


def _beta_entropy(a: Any, b: Any) -> Any:
    spread = (a + b - 2.0) * special.digamma(a + b)
    own = (a - 1.0) * special.digamma(a) + (b - 1.0) * special.digamma(b)
    return special.betaln(a, b) - own + spread


def _beta_variance(a: Any, b: Any) -> Any:
    return a * b / ((a + b) * (a + b) * (a + b + 1.0))


def _log_normal_variance(s: Any) -> Any:
    return numpy("expm1", s * s) * numpy("exp", s * s)


MOMENTS: dict[str, Moments] = {
    "norm": Moments(lambda: 0.0, lambda: 1.0, lambda: 0.5 * math.log(2 * math.pi * math.e)),
    "chi2": Moments(
        lambda df: df,
        lambda df: 2.0 * df,
        lambda df: _gamma_entropy(0.5 * df) + math.log(2),
    ),
    "gamma": Moments(lambda a: a, lambda a: a, _gamma_entropy),
    "beta": Moments(lambda a, b: a / (a + b), _beta_variance, _beta_entropy),
    "expon": Moments(lambda: 1.0, lambda: 1.0, lambda: 1.0),
    "uniform": Moments(lambda: 0.5, lambda: 1 / 12, lambda: 0.0),
    "laplace": Moments(lambda: 0.0, lambda: 2.0, lambda: math.log(2) + 1.0),
    "logistic": Moments(lambda: 0.0, lambda: math.pi**2 / 3, lambda: 2.0),
    "lognorm": Moments(
        lambda s: numpy("exp", 0.5 * s * s),
        _log_normal_variance,
        lambda s: 0.5 * math.log(2 * math.pi * math.e) + numpy("log", s),
    ),
    "poisson": Moments(lambda mu: mu, lambda mu: mu),
    "binom": Moments(lambda n, p: n * p, lambda n, p: n * p * (1.0 - p)),
    "bernoulli": Moments(lambda p: p, lambda p: p * (1.0 - p)),
}
