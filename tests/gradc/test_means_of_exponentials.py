"""Logarithms of means of exponentials, means by softmax weights and entropies, in any spelling."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import special

import gradc

Function = Callable[..., Any]

MEANS: dict[str, Function] = {
    "sum over three": lambda a, b, c: np.log((np.exp(a) + np.exp(b) + np.exp(c)) / 3),
    "thirds": lambda a, b, c: np.log(np.exp(a) / 3 + np.exp(b) / 3 + np.exp(c) / 3),
    "factor": lambda a, b, c: np.log((1 / 3) * (np.exp(c) + (np.exp(a) + np.exp(b)))),
    "less a logarithm": lambda a, b, c: np.log(np.exp(a) + np.exp(b) + np.exp(c)) - np.log(3.0),
    "mean of an array": lambda a, b, c: np.log(np.mean(np.exp(np.stack([a, b, c])), axis=0)),
    "sum of an array": lambda a, b, c: np.log(np.sum(np.exp(np.stack([a, b, c])), axis=0) / 3),
    "logsumexp": lambda a, b, c: special.logsumexp(np.stack([a, b, c]), axis=0) - np.log(3),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", MEANS)
def test_small_and_large_exponents(name: str, dtype: Any) -> None:
    function = gradc.compile(MEANS[name])
    eps = float(np.finfo(dtype).eps)
    small = [dtype(x) for x in (3e-15, -1e-15, 2.5e-15)]
    want = sum(float(x) for x in small) / 3
    if name == "factor":
        want += float(3 * Fraction(float(dtype(1 / 3))) - 1)
    if name not in ("less a logarithm", "logsumexp"):  # the number is rounded as it stands
        np.testing.assert_allclose(function(*small), want, rtol=8 * eps, atol=eps * eps)
    large = [dtype(x) for x in (2000.0, 2001.0, -3000.0)]
    want = 2001 + np.log1p(np.exp(-1)) - np.log(3)
    np.testing.assert_allclose(function(*large), want, rtol=4 * eps)
    slopes = gradc.compile(gradc.grad(MEANS[name], (0, 1, 2)))(*large)
    share = 1 / (1 + np.exp(-1))
    np.testing.assert_allclose(slopes, (1 - share, share, 0), rtol=8 * eps)


def test_sizes_that_are_not_known() -> None:
    function = gradc.compile(lambda x: np.log(np.mean(np.exp(x))), spec="x: f64[n]")
    x = np.array([1e-16, 2e-16, -1e-16, 6e-16])
    np.testing.assert_allclose(function(x), 2e-16, rtol=1e-14)


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b, k: np.log(0.5 * np.exp(k * a) + 0.5 * np.exp(k * b)) / k,
        lambda a, b, k: -np.log((np.exp(-k * -a) + np.exp(b * k)) / 2) / -k,
        lambda a, b, k: np.log((np.exp(a * k) + np.exp(b * k)) * 0.5) / k,
    ],
)
def test_parameters_that_divide_the_logarithm(function: Function) -> None:
    a, b, k = 2.0, -1.0, 1e-9
    by_k = gradc.compile(gradc.grad(function, 2))(a, b, k)
    np.testing.assert_allclose(by_k, (a - b) ** 2 / 8, rtol=1e-8)


WEIGHTED: dict[str, Function] = {
    "scalars": lambda a, b: (a * np.exp(a) + b * np.exp(b)) / (np.exp(a) + np.exp(b)),
    "with a constant": lambda a, b: (a * np.exp(a) + b * np.exp(b)) / (np.exp(a) + np.exp(b) + 1),
    "array": lambda a, b: (
        np.sum(np.stack([a, b]) * np.exp(np.stack([a, b])), axis=0)
        / np.sum(np.exp(np.stack([a, b])), axis=0)
    ),
}


@pytest.mark.parametrize("a", [1e4, 1e17, 1e200, 1e305])
@pytest.mark.parametrize("name", WEIGHTED)
def test_means_by_softmax_weights(name: str, a: float) -> None:
    value, slopes = gradc.compile(gradc.value_and_grad(WEIGHTED[name], (0, 1)))(a, a / 2)
    np.testing.assert_allclose(value, a, rtol=1e-15)
    np.testing.assert_allclose(slopes, (1, 0), rtol=1e-11)


def test_entropy_of_equal_logits() -> None:
    def entropy(x):
        logs = x - special.logsumexp(x)
        return -np.sum(np.exp(logs) * logs)

    x = np.array([1e-12, 3e-12, -4e-12])
    found = gradc.compile(gradc.grad(entropy))(x)
    np.testing.assert_allclose(found, -x / 3, rtol=1e-9)


def test_log_odds_have_no_normaliser() -> None:
    def odds(x):
        logs = x - special.logsumexp(x, axis=0)
        return logs[1] - logs[0]

    x = np.array([[1e-20, 5.0], [3e-20, -7e200], [2.0, 1e205]])
    np.testing.assert_array_equal(gradc.compile(odds)(x), x[1] - x[0])
    scores = (1e-20, 3e-20, 5.0)

    def scalars(a, b, c):
        z = np.log(np.exp(a) + np.exp(b) + np.exp(c))
        return (a - z) - (b - z)

    assert gradc.compile(scalars)(*scores) == scores[0] - scores[1]


@pytest.mark.parametrize("x", [np.inf, -np.inf])
def test_scaled_mixture_of_equal_infinities(x: float) -> None:
    """It is what both are, and each has the slope of its weight."""

    def mixture(a: Any, b: Any) -> Any:
        return 2.0 * np.log(0.25 * np.exp(a / 2.0) + 0.75 * np.exp(b / 2.0))

    def scaled(k: Any, a: Any, b: Any) -> Any:
        return k * np.log(0.25 * np.exp(a / k) + 0.75 * np.exp(b / k))

    value, slopes = gradc.compile(gradc.value_and_grad(scaled, (0, 1, 2)))(2.0, x, x)
    assert value == x == gradc.compile(mixture)(x, x)
    assert np.isnan(slopes[0])
    assert tuple(slopes[1:]) == (0.25, 0.75)
