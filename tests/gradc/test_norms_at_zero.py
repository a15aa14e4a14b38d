"""Norms, however they are spelled: at zero their slope is zero, by convention, and never nan."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradc

ZERO, SAME = np.zeros(3), np.full(3, 0.5)
POINTS = np.array([[0.0, 1.0], [2.0, 3.0], [0.0, 1.0]])


def distances(x: Any) -> Any:
    apart = x[:, None] - x[None]
    return np.sum(np.sqrt(np.sum(apart * apart, axis=-1)))


NORMS: dict[str, tuple[Any, Any]] = {
    "sum of squares": (lambda x: np.sqrt(np.sum(x**2)), ZERO),
    "product with itself": (lambda x: np.sqrt(x @ x), ZERO),
    "to the power of a half": (lambda x: np.sum(x * x) ** 0.5, ZERO),
    "root of the mean": (lambda x: np.sqrt(np.mean(np.square(x))), ZERO),
    "weighted": (lambda x: np.sqrt(2 * x[0] ** 2 + x[1] ** 2 / 3 + x[2] ** 4), ZERO),
    "standard deviation": (lambda x: np.sqrt(np.var(x)), SAME),
    "deviation by hand": (lambda x: np.sqrt(np.sum((x - x.mean()) ** 2) / (len(x) - 1)), SAME),
    "of matrices": (lambda x: np.sqrt(np.sum(np.outer(x, x) ** 2)), ZERO),
}


@pytest.mark.parametrize(("function", "x"), NORMS.values(), ids=NORMS.keys())
def test_slope_at_zero(function: Any, x: Any) -> None:
    np.testing.assert_array_equal(gradc.grad(function)(x), 0.0)
    assert gradc.jvp(function, (x,), (np.arange(3.0),))[1] == 0
    plain = gradc.compile(gradc.grad(function), stable=False)
    np.testing.assert_array_equal(plain(x), 0.0)


@pytest.mark.parametrize(("function", "x"), NORMS.values(), ids=NORMS.keys())
def test_slope_elsewhere(function: Any, x: Any) -> None:
    at = x + np.array([0.25, -1.0, 2.0])
    steps = 1e-6 * np.eye(3)
    wanted = [(function(at + step) - function(at - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(gradc.grad(function)(at), wanted, rtol=1e-8, atol=1e-9)


def test_distances_of_all_pairs() -> None:
    """Every point is at distance zero from itself, and here from another one."""
    root = np.sqrt(2)
    np.testing.assert_allclose(
        gradc.grad(distances)(POINTS), [[-root, -root], [2 * root, 2 * root], [-root, -root]]
    )


def test_what_is_no_sum_of_squares_keeps_its_infinite_slope() -> None:
    assert gradc.grad(lambda x: np.sqrt(np.sum(x)))(np.zeros(2))[0] == np.inf
