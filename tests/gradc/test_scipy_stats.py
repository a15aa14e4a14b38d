"""Distributions of scipy.stats in traced code: SciPy's values, right gradients, clear refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.constants
import scipy.stats
from scipy.stats import gamma, multivariate_normal, norm

import gradc
from gradc import NoGradientError, TraceError, on_need
from gradc.scipy.stats.discrete import DISCRETE
from gradc.testing import check_grads
from gradc.tracing.registry.scipy_function import OBJECTS as STAND_INS
from gradc.tracing.registry.scipy_function import names_in

on_need.load("scipy.stats")
OBJECTS = names_in("scipy.stats", STAND_INS)
# distribution -> shape parameters, and points inside its support
SHAPES: dict[str, tuple[float, ...]] = {
    "norm": (), "t": (3.5,), "chi2": (3.0,), "gamma": (2.5,), "invgamma": (2.5,),
    "beta": (2.5, 1.5), "f": (3.0, 4.0), "expon": (), "uniform": (), "laplace": (),
    "logistic": (), "cauchy": (), "lognorm": (0.7,), "halfnorm": (), "halfcauchy": (),
    "weibull_min": (1.7,), "pareto": (2.5,), "gumbel_r": (), "gumbel_l": (), "skewnorm": (1.5,),
    "vonmises": (2.0,), "rayleigh": (), "maxwell": (), "powerlaw": (1.7,),
    "truncnorm": (-0.5, 1.2), "poisson": (2.5,), "binom": (7.0, 0.3), "bernoulli": (0.3,),
    "nbinom": (3.5, 0.4), "geom": (0.3,),
}  # fmt: skip
POINTS = {"pareto": np.array([1.3, 2.8]), "bernoulli": np.array([0.0, 1.0])}
INSIDE, COUNTS = np.array([0.35, 0.8]), np.array([1.0, 3.0])
EDGES = np.array([-np.inf, -3.0, -0.5, 0.0, 0.2, 0.5, 1.0, 1.3, 3.0, 7.0, 40.0, np.inf, np.nan])
SHARES = np.array([-0.1, 0.0, 1e-9, 0.2, 0.5, 0.8, 1.0, 1.1, np.nan])
QUANTILES = ("ppf", "isf")
MOMENTS = ("mean", "var", "std", "entropy")
USES = [(n, m) for n in SHAPES for m in OBJECTS[n].recorders if m not in MOMENTS]
OF_SHAPES = [(n, m) for n in SHAPES for m in OBJECTS[n].recorders if m in MOMENTS]
EACH = pytest.mark.parametrize(("name", "method"), USES)


def test_every_distribution_has_its_row() -> None:
    assert {*SHAPES, "multivariate_normal", "dirichlet", "multinomial"} == set(OBJECTS)


@EACH
def test_value(name: str, method: str) -> None:
    compute = getattr(getattr(scipy.stats, name), method)
    points = SHARES if method in QUANTILES else EDGES
    moved = [(1,), ()] if name in DISCRETE else [(0.3, 1.7), (), (0.3, -1.0)]
    # the others treat place and scale the same way
    moved = moved if method.startswith("logp") else moved[:1]
    for position in moved:
        with np.errstate(all="ignore"):
            want = compute(points, *SHAPES[name], *position)
        found = gradc.compile(lambda x, p=position: compute(x, *SHAPES[name], *p))(points)
        assert found.dtype == want.dtype
        np.testing.assert_allclose(found, want, rtol=1e-13, atol=1e-16)


@pytest.mark.slow
@EACH
def test_gradients(name: str, method: str) -> None:
    """By the point, place and scale, and by the shapes where those have a derivative."""
    compute = getattr(getattr(scipy.stats, name), method)
    shapes = SHAPES[name]
    if method in ("logpdf", "pdf", "logpmf", "pmf"):
        if name in DISCRETE:
            points = POINTS.get(name, COUNTS)
            check_grads(lambda *shapes: compute(points, *shapes), shapes, order=2)
            return
        points = POINTS.get(name, INSIDE)
        check_grads(lambda *a: compute(*a), (1.7 * points + 0.1, *shapes, 0.1, 1.7), order=2)
    elif name in DISCRETE:
        if name not in ("bernoulli", "geom"):
            check_grads(lambda p: compute(COUNTS, *shapes[:-1], p), shapes[-1:])
    else:
        points = INSIDE if method in QUANTILES else 1.7 * POINTS.get(name, INSIDE) + 0.1
        check_grads(lambda x, m, s: compute(x, *shapes, m, s), (points, 0.1, 1.7))


@pytest.mark.parametrize(("name", "method"), OF_SHAPES)
def test_moments(name: str, method: str) -> None:
    compute = getattr(getattr(scipy.stats, name), method)
    parameters = (*SHAPES[name], 0.3) if name in DISCRETE else (*SHAPES[name], 0.3, 1.7)
    found = gradc.compile(lambda *a: compute(*a))(*parameters)
    np.testing.assert_allclose(found, compute(*parameters), rtol=1e-13)
    check_grads(lambda *a: compute(*a), parameters)


SUMMARIES: dict[str, Callable[[Any], Any]] = {
    "zscore": lambda x: scipy.stats.zscore(x, ddof=1),
    "gmean": lambda x: scipy.stats.gmean(x, axis=1),
    "gmean, weights": lambda x: scipy.stats.gmean(x, weights=x * x),
    "hmean": lambda x: scipy.stats.hmean(x, axis=None),
    "sem": lambda x: scipy.stats.sem(x, axis=1),
    "skew": lambda x: scipy.stats.skew(x),
    "skew, unbiased": lambda x: scipy.stats.skew(x, axis=1, bias=False),
    "kurtosis": lambda x: scipy.stats.kurtosis(x, axis=None),
    "kurtosis, unbiased": lambda x: scipy.stats.kurtosis(x, axis=1, fisher=False, bias=False),
    "entropy": lambda x: scipy.stats.entropy(x, base=2),
    "entropy, relative": lambda x: scipy.stats.entropy(x, x[::-1], axis=1),
}


@pytest.mark.parametrize("name", SUMMARIES)
def test_summaries(name: str) -> None:
    x = np.random.default_rng(1).uniform(0.5, 2.0, (4, 6))
    found, want = gradc.compile(SUMMARIES[name])(x), SUMMARIES[name](x)
    np.testing.assert_allclose(found, want, rtol=1e-12)
    assert np.shape(found) == np.shape(want)
    check_grads(SUMMARIES[name], (x,))


def test_far_tails_have_gradients() -> None:
    slope = gradc.grad(lambda x: norm.logcdf(x))
    np.testing.assert_allclose(slope(-1e5), 1e5, rtol=1e-9)
    assert gradc.grad(lambda x: norm.logsf(x))(-60.0) == 0.0
    np.testing.assert_allclose(gradc.grad(lambda q: norm.ppf(q))(1e-300), 2.7e298, rtol=0.05)


RANDOM = np.random.default_rng(0)
ROOT = RANDOM.normal(size=(3, 3))
COVARIANCE, MEAN = ROOT @ ROOT.T + np.eye(3), RANDOM.normal(size=3)
X = RANDOM.normal(size=(5, 3))
MULTIVARIATE: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "matrix": (
        lambda x, m, c: scipy.stats.multivariate_normal.logpdf(x, m, c),
        (X, MEAN, COVARIANCE),
    ),
    "one point": (
        lambda x, m, c: multivariate_normal.pdf(x, mean=m, cov=c),
        (X[0], MEAN, COVARIANCE),
    ),
    "number": (lambda x, m: multivariate_normal.logpdf(x, m, 2.0), (X, MEAN)),
    "diagonal": (
        lambda x, m, v: multivariate_normal.logpdf(x, m, v),
        (X, MEAN, np.array([0.5, 1.0, 2.0])),
    ),
    "one axis": (lambda x: multivariate_normal.logpdf(x), (X[:, 0],)),
    "one by one": (
        lambda x, m, c: multivariate_normal.logpdf(x, m, c),
        (X[:, 0], MEAN[:1], np.array([[2.0]])),
    ),
    "entropy": (lambda c: multivariate_normal.entropy(cov=c), (COVARIANCE,)),
    "frozen": (lambda x, m, c: multivariate_normal(m, c).logpdf(x), (X, MEAN, COVARIANCE)),
    "dirichlet": (
        lambda a: scipy.stats.dirichlet.logpdf(np.array([0.2, 0.3, 0.5]), a),
        (np.array([0.7, 1.5, 3.0]),),
    ),
    "dirichlet, one left out": (
        lambda x: scipy.stats.dirichlet.pdf(x, [0.7, 1.5, 3.0]),
        (np.array([0.2, 0.3]),),
    ),
    "multinomial": (
        lambda p: scipy.stats.multinomial.logpmf([1, 2, 3], 6, p / p.sum()),
        (np.array([0.2, 0.3, 0.6]),),
    ),
}


@pytest.mark.parametrize("name", MULTIVARIATE)
def test_multivariate(name: str) -> None:
    function, args = MULTIVARIATE[name]
    found, want = gradc.compile(function)(*args), function(*args)
    np.testing.assert_allclose(found, want, rtol=1e-12)
    assert np.shape(found) == np.shape(want)
    check_grads(function, args, order=2)


def test_outside_of_the_domain() -> None:
    logpdf = gradc.compile(lambda x, a: scipy.stats.dirichlet.logpdf(x, a))
    assert np.isnan(logpdf(np.array([0.7, 0.7]), np.array([1.0, 2.0])))
    logpmf = gradc.compile(lambda p: scipy.stats.multinomial.logpmf([1, 2], 4, p))
    assert logpmf(np.array([0.25, 0.75])) == -np.inf


def test_parameters_fixed_outside_and_inside() -> None:
    prior = gamma(2.5, scale=3.0)
    density = gradc.compile(lambda x: prior.logpdf(x))
    assert density(1.5) == pytest.approx(prior.logpdf(1.5))
    prior = gamma(2.5, scale=4.0)
    assert density(1.5) == pytest.approx(prior.logpdf(1.5))
    check_grads(lambda x, m, s: norm(m, scale=s).sf(x), (X, MEAN, 1.7))
    assert gradc.compile(lambda x: x * prior.mean())(1.5) == pytest.approx(15.0)


def test_a_method_under_a_name_of_its_own() -> None:
    logpdf = norm.logpdf
    assert gradc.grad(lambda x: logpdf(x, 1.0, 2.0))(3.0) == pytest.approx(-0.5)


REFUSED = {
    "norm.rvs inside a traced function": lambda x: x + norm.rvs(),
    "norm.fit is not supported": lambda x: norm.fit(x),
    "logpdf: too many positional": lambda x: norm.logpdf(x, 1, 2, 3),
    "triang.logpdf is not supported": lambda x: scipy.stats.triang.logpdf(x, 0.5),
    "ttest_1samp is not supported": lambda x: scipy.stats.ttest_1samp(x, 0.0),
    "allow_singular=True": lambda x: multivariate_normal.logpdf(x, allow_singular=True),
}


@pytest.mark.parametrize("message", REFUSED)
def test_refusals(message: str) -> None:
    with pytest.raises(TraceError, match=message):
        gradc.compile(REFUSED[message])(np.array([1.5, 2.0]))


def test_a_shape_without_a_derivative_says_so() -> None:
    with pytest.raises(NoGradientError, match="gammainc has no derivative with respect to"):
        gradc.grad(lambda a: gamma.cdf(2.0, a))(1.5)


def test_constants_of_scipy_are_numbers() -> None:
    """The rest of SciPy is itself, also when its distributions are loaded."""

    def energy(x: Any) -> Any:
        return scipy.constants.h * x

    assert gradc.grad(energy)(1.0) == scipy.constants.h
