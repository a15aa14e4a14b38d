"""Short loops within steps of recorded ones: rolled where the step would be long without."""

from __future__ import annotations

import numpy as np
import pytest

import gradc


def forces(x, m):
    """Return how bodies pull at each other, pair by pair."""
    f = np.zeros_like(x)
    for i in range(len(m)):
        for j in range(len(m)):
            if i != j:
                d = x[j] - x[i]
                r = np.sum(d * d) + 0.1
                f[i] += m[j] * d / (r * np.sqrt(r))
    return f


def once(x, m):
    """Return what one step makes."""
    return np.sum(forces(x, m) ** 2)


def often(x, m):
    """Return where many steps lead, each of the loops over pairs."""
    v = np.zeros_like(x)
    for _ in range(40):
        v = v + 0.01 * forces(x, m)
        x = x + 0.01 * v
    return np.sum(x * x)


def sums(x, m):
    """Return what many steps of few operations lead to."""
    total = 0.0
    for _ in range(40):
        for i in range(len(m)):
            total = 0.9 * total + x[i, 0] * m[i]
    return total


RANDOM = np.random.default_rng(2)
X, M = RANDOM.normal(size=(5, 3)), RANDOM.uniform(0.5, 1, 5)


@pytest.mark.parametrize(("function", "rolled"), [(once, 0), (often, 3), (sums, 1)])
def test_how_many_are_one_operation(function, rolled):
    compiled = gradc.compile(function, spec="x: f64[5,3], m: f64[5]")
    assert str(compiled.explain()).count(": rolled, ") == rolled


def test_the_numbers_are_those_of_python():
    compiled = gradc.compile(often)
    value, gradient = compiled.value_and_grad(X, M)
    np.testing.assert_allclose(value, often(X, M), rtol=1e-13)
    direction = RANDOM.normal(size=X.shape)
    ends = [often(X + step * direction, M) for step in (1e-6, -1e-6)]
    np.testing.assert_allclose(np.sum(gradient * direction), (ends[0] - ends[1]) / 2e-6, rtol=1e-7)
