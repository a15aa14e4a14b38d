"""Log densities and mixtures, through the density or not: values and gradients, far out too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import special

import gradc

pytestmark = pytest.mark.slow

Function = Callable[..., Any]
BITS = 12  # what a difference of terms of some thousands may lose


def gamma(x: Any, a: Any) -> Any:
    return (a - 1) * mpmath.log(x) - x - mpmath.loggamma(a)


def poisson(k: Any, rate: Any) -> Any:
    return k * mpmath.log(rate) - rate - mpmath.loggamma(k + 1)


def beta(x: Any, a: Any, b: Any) -> Any:
    return (a - 1) * mpmath.log(x) + (b - 1) * mpmath.log(1 - x) - mpmath.log(mpmath.beta(a, b))


def binomial(n: Any, k: Any) -> Any:
    return mpmath.loggamma(n + 1) - mpmath.loggamma(k + 1) - mpmath.loggamma(n - k + 1)


def student(v: Any, t: Any) -> Any:
    scale = mpmath.loggamma((v + 1) / 2) - mpmath.loggamma(v / 2) - mpmath.log(v * mpmath.pi) / 2
    return scale - (v + 1) / 2 * mpmath.log(1 + t * t / v)


def mixture(a: Any, b: Any, t: Any) -> Any:
    return mpmath.log(t * mpmath.exp(a) + (1 - t) * mpmath.exp(b))


def weighted(a: Any, b: Any) -> Any:
    return mpmath.log(mpmath.exp(a) / 4 + 2 * mpmath.exp(b))


lgamma = special.gammaln
GAMMA = [(2.0, 3.0), (300.0, 200.0), (1000.0, 5.0), (1e-9, 0.5)]
POISSON = [(3.0, 2.5), (200.0, 180.0), (0.0, 800.0), (1000.0, 900.0)]
BETA = [(0.25, 2.0, 3.0), (1e-9, 0.5, 0.5), (0.3, 1e-6, 1e6), (0.7, 4e5, 3.0)]
BINOMIAL = [(10.0, 3.0), (1e6, 2.0), (1e6, 4e5), (5.0, 0.5)]
STUDENT = [(3.0, 1.5), (100.0, 0.5), (0.25, -40.0)]
MIXTURE = [
    (0.0, 1.0, 0.25),
    (1000.0, -1000.0, 0.25),
    (-1000.0, -1001.0, 0.5),
    (1e-9, -2e-8, 0.7),
    (1e-9, -1e-300, 1e-57),
    (710.0, 709.0, 0.9),
]

SPELLINGS: list[tuple[str, Function, Function, Sequence[tuple[float, ...]]]] = [
    ("gamma", lambda x, a: np.log(x ** (a - 1) * np.exp(-x) / special.gamma(a)), gamma, GAMMA),
    ("gamma, in another order",
     lambda x, a: np.log(np.exp(-x) * (1 / special.gamma(a) * np.power(x, a - 1))), gamma, GAMMA),
    ("gamma, rgamma",
     lambda x, a: -np.log(1 / (special.rgamma(a) * x ** (a - 1) / np.exp(x))), gamma, GAMMA),
    ("poisson", lambda k, m: np.log(m**k * np.exp(-m) / special.gamma(k + 1)), poisson, POISSON),
    ("beta", lambda x, a, b: lgamma(a + b) - lgamma(a) - lgamma(b)
     + ((a - 1) * np.log(x) + (b - 1) * np.log(1 - x)), beta, BETA),
    ("beta, sums first", lambda x, a, b: (a - 1) * np.log(x) + (b - 1) * np.log1p(-x)
     - (lgamma(a) + lgamma(b) - lgamma(a + b)), beta, BETA),
    ("beta, betaln", lambda x, a, b: (a - 1) * np.log(x) + (b - 1) * np.log1p(-x)
     - special.betaln(a, b), beta, BETA[:2]),
    ("binomial", lambda n, k: lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1), binomial,
     BINOMIAL),
    ("student", lambda v, t: lgamma((v + 1) / 2) - lgamma(v / 2) - 0.5 * np.log(v * np.pi)
     - (v + 1) / 2 * np.log(1 + t * t / v), student, STUDENT),
    ("mixture", lambda a, b, t: np.log(t * np.exp(a) + (1 - t) * np.exp(b)), mixture, MIXTURE),
    ("mixture, in another order",
     lambda a, b, t: np.log(np.exp(b) * (1 - t) + np.exp(a) * t), mixture, MIXTURE),
    ("weights", lambda a, b: np.log(0.25 * np.exp(a) + np.exp(b) * 2), weighted,
     [(0.0, 1.0), (1000.0, 999.0), (-900.0, -800.0), (800.0, -800.0)]),
]  # fmt: skip


@pytest.mark.parametrize("spelling", SPELLINGS, ids=[s[0] for s in SPELLINGS])
def test_values_and_gradients(spelling: Any) -> None:
    name, function, truth, points = spelling
    columns = [np.array(column) for column in zip(*points, strict=True)]
    places = tuple(range(len(columns)))
    value = gradc.compile(function)(*columns)
    gradients = gradc.grad(lambda *x: np.sum(function(*x)), places)(*columns)
    for i, point in enumerate(points):
        assert_near(value[i], derivative(truth, point, None), f"{name} at {point}")
        for place in places:
            wanted = derivative(truth, point, place)
            assert_near(gradients[place][i], wanted, f"{name} by {place} at {point}")
    scalar = gradc.value_and_grad(function, places)(*points[0])
    assert_near(scalar[0], derivative(truth, points[0], None), name)
    tangents = tuple(np.ones_like(column) for column in columns)
    _, pushed = gradc.jvp(function, tuple(columns), tangents)
    np.testing.assert_allclose(pushed, sum(gradients), rtol=1e-9, atol=1e-12)


def derivative(truth: Function, point: Sequence[float], place: int | None) -> Any:
    """Return the truth, or its derivative by one argument, in many digits."""
    with mpmath.workdps(900):
        numbers = [mpmath.mpf(number) for number in point]
        if place is None:
            return truth(*numbers)
        step = mpmath.mpf(10) ** -420
        ahead = [n + step * (i == place) for i, n in enumerate(numbers)]
        behind = [n - step * (i == place) for i, n in enumerate(numbers)]
        return (truth(*ahead) - truth(*behind)) / (2 * step)


def assert_near(found: Any, wanted: Any, what: str) -> None:
    error = abs(mpmath.mpf(float(found)) - wanted)
    assert error <= abs(wanted) * 2.0 ** (BITS - 53), (
        f"{what}: {found}, not {mpmath.nstr(wanted, 17)}"
    )


@pytest.mark.parametrize("weights", [[0.2, 0.3, 0.5], [1.0, -0.5, 2.0], [0.0, 1.0, 1e-300]])
def test_a_weighted_sum_along_an_axis(weights: list[float]) -> None:
    w, x = np.array(weights), np.array([[1000.0, 999.0, 998.5], [-1000.0, -1001.0, -999.0]])

    def total(x: Any) -> Any:
        return np.sum(np.log(np.sum(w * np.exp(x), axis=1)))

    value, gradient = gradc.value_and_grad(total)(x)
    parts = w * np.exp(x - x.max(axis=1, keepdims=True))
    sums = parts.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(
        value, np.sum(np.log(sums) + x.max(axis=1, keepdims=True)), rtol=1e-14
    )
    np.testing.assert_allclose(gradient, parts / sums, rtol=1e-12, atol=1e-300)


def test_signs_are_those_of_the_product() -> None:
    def function(x: Any, y: Any) -> Any:
        return np.log(x**3 * y * np.exp(x))

    found = gradc.compile(function)(np.array([-2.0, -2.0, 2.0, 2.0]), np.array([-1.0, 1, -1, 1]))
    np.testing.assert_allclose(found, [np.log(8) - 2, np.nan, np.nan, np.log(8) + 2], rtol=1e-15)

    def power(x: Any, k: Any) -> Any:
        return np.log(x**k * np.exp(x))

    k = np.array([2.0, 3.0, 2.5, 0.0])
    found = gradc.compile(power)(np.full(4, -2.0), k)
    np.testing.assert_allclose(found, [2 * np.log(2) - 2, np.nan, np.nan, -2], rtol=1e-15)

    def of_gamma(x: Any) -> Any:
        return np.log(special.gamma(x))

    found = gradc.compile(of_gamma)(np.array([-0.5, -1.5, 300.0, 0.5]))
    wanted = [np.nan, lgamma(-1.5), lgamma(300.0), lgamma(0.5)]
    np.testing.assert_allclose(found, wanted, rtol=1e-14)
