"""Multivariate distributions of scipy.stats: their densities, for traced points or parameters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradc import special
from gradc.scipy.linalg.equations import solve_triangular
from gradc.special.recording import in_double, numpy, quietly, where
from gradc.tracing.building.by_name import array, refuse
from gradc.tracing.core.as_tracer import as_tracer
from gradc.tracing.core.source import shape_error
from gradc.tracing.core.table import AnyFunction


def _squeezed(x: Any) -> Any:
    """Return an array without its axes of length 1, as SciPy does."""
    found = array(x)
    return found.reshape(tuple(size for size in found.shape if not _is_one(size)))


def _is_one(size: Any) -> bool:
    return isinstance(size, int) and size == 1


def _exponential(logarithm: AnyFunction) -> AnyFunction:
    def density(*args: Any, **kwargs: Any) -> Any:
        return numpy("exp", logarithm(*args, **kwargs))

    # keyword arguments are checked against what the logarithm takes
    density.__wrapped__ = logarithm  # type: ignore[attr-defined]
    return density


def _check(fits: bool, what: str, *arrays: Any) -> None:
    if not fits:
        raise shape_error(
            f"scipy.stats.{what}: the shapes do not fit",
            found="    ".join(str(as_tracer(x).type) for x in arrays),
        )


def normal_logpdf(x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
    """Record ``multivariate_normal.logpdf``, by the Cholesky factor of the covariance.

    The result is nan where the covariance is not positive definite.
    """
    if allow_singular:
        raise refuse(
            "scipy.stats.multivariate_normal with allow_singular=True",
            "leave it out, for a covariance that is positive definite",
        )
    points, covariance = array(in_double(x)), array(in_double(cov))
    center = None if mean is None else array(in_double(mean))
    dimension = _dimension(covariance, center)
    if not points.ndim or (points.ndim == 1 and _is_one(dimension)):
        points = points.reshape((*points.shape, 1))
    _check(covariance.ndim < 3, "multivariate_normal", covariance)
    apart = points if center is None else points - center
    if covariance.ndim == 2 and not _is_one(dimension):
        distance, volume = _by_cholesky(array(apart), covariance)
    else:
        variances = covariance.reshape(()) if _is_one(dimension) else covariance
        variances = variances + numpy("zeros", (dimension,))
        distance = numpy("sum", apart * apart / variances, axis=-1)
        volume = numpy("sum", where(variances > 0, numpy("log", variances), math.nan))
    return _squeezed(-0.5 * (dimension * math.log(2 * math.pi) + volume + distance))


def _dimension(covariance: Any, mean: Any) -> Any:
    shapes = [array(each).shape for each in (covariance, mean) if each is not None]
    return next((shape[0] for shape in shapes if shape), 1)


def _by_cholesky(apart: Any, covariance: Any) -> tuple[Any, Any]:
    """Return the squared distances that a covariance measures, and the log of its determinant."""
    # the lower triangle alone is read, as SciPy does
    factor = numpy("linalg.cholesky", covariance)
    rows = apart.reshape((-1, apart.shape[-1]))
    whitened = solve_triangular(factor, rows.T, lower=True)
    distance = array(numpy("sum", whitened * whitened, axis=0)).reshape(apart.shape[:-1])
    return distance, 2.0 * numpy("sum", numpy("log", numpy("diagonal", factor)))


@quietly
def dirichlet_logpdf(x: Any, alpha: Any) -> Any:
    """Record ``dirichlet.logpdf``: nan for a point outside of the simplex."""
    points, powers = array(in_double(x)), array(in_double(alpha))
    _check(powers.ndim == 1 and points.ndim in (1, 2), "dirichlet", points, powers)
    if points.shape[0] + 1 == powers.shape[0]:
        last = 1.0 - numpy("sum", points, axis=0, keepdims=True)
        points = array(numpy("concatenate", [points, last], axis=0))
    total = numpy("sum", points, axis=0)
    inside = (numpy("abs", total - 1.0) <= 1e-9) & (points.min(0) >= 0)
    scale = numpy("sum", special.gammaln(powers)) - special.gammaln(numpy("sum", powers))
    column = powers if points.ndim == 1 else powers.reshape((-1, 1))
    found = numpy("sum", special.xlogy(column - 1.0, points), axis=0) - scale
    valid = inside & (powers.min() > 0)
    return _squeezed(where(valid, found, math.nan))


@quietly
def multinomial_logpmf(x: Any, n: Any, p: Any) -> Any:
    """Record ``multinomial.logpmf``: nan where the probabilities do not add up to 1."""
    counts, trials, shares = (array(in_double(each)) for each in (x, n, p))
    _check(counts.ndim > 0 and shares.ndim > 0, "multinomial", counts, trials, shares)
    terms = special.xlogy(counts, shares) - special.gammaln(counts + 1.0)
    found = special.gammaln(trials + 1.0) + numpy("sum", terms, axis=-1)
    whole = numpy("all", (counts >= 0) & (numpy("floor", counts) == counts), -1)
    possible = whole & (numpy("sum", counts, axis=-1) == trials)
    eps = 10 * float(np.finfo(np.float64).eps)
    whole_sum = numpy("abs", 1.0 - numpy("sum", shares, axis=-1)) <= eps
    valid = whole_sum & numpy("all", shares >= 0, -1)
    return where(valid & (trials >= 0), where(possible, found, -math.inf), math.nan)


def normal_entropy(mean: Any = None, cov: Any = 1) -> Any:
    """Record ``multivariate_normal.entropy``, of a covariance that is positive definite."""
    covariance = array(in_double(cov))
    dimension = _dimension(covariance, mean)
    # what the density is at the mean, and the expected distance from it
    return 0.5 * dimension - normal_logpdf(numpy("zeros", (1, dimension)), None, covariance)


MULTIVARIATE: dict[str, dict[str, AnyFunction]] = {
    "multivariate_normal": {
        "logpdf": normal_logpdf,
        "pdf": _exponential(normal_logpdf),
        "entropy": normal_entropy,
    },
    "dirichlet": {
        "logpdf": dirichlet_logpdf,
        "pdf": _exponential(dirichlet_logpdf),
    },
    "multinomial": {
        "logpmf": multinomial_logpmf,
        "pmf": _exponential(multinomial_logpmf),
    },
}
