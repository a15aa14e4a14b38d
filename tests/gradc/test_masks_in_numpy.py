"""Gradients through branches not taken, in the spellings for which other systems give nan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc


def untaken_log(x):
    return np.sum(np.where(x > 0, np.log(x), 0.0))


def untaken_root(x):
    return np.sum(np.where(x >= 0, x, np.sqrt(-x)))


def norms(x):
    r = np.sqrt((x**2).sum(1))
    return np.sum(np.where(r > 0.5, r, 1))


def angle(a):
    t = np.array([0.0, 1.0, 0.0])
    return np.sum(np.where(t > 0.5, 0.0, np.arctan2(a, a)))


def untaken_power(x):
    return np.sum(np.where(x > 0, x**0.5, 0.0))


def taken_root(x):
    return np.sum(np.where(x > 0, np.sqrt(x), 0.0))


def distance(y):
    r = np.array([1.0, 2.0])
    square = np.sum((y - r) ** 2)
    return 0.5 * np.where(square == 0, 0.0, np.sqrt(square)) ** 2


def product(x):
    return np.sum(np.where(x == 0, 0, x * np.sqrt(x)))


def masked(x):
    d = np.array([0, 1]) * x
    return np.where(d > 0, d**0.5, 0.0).sum()


def clipped(x):
    return np.sum(np.clip(np.log(x), -5.0, 5.0))


def part(x):
    return np.sum(np.sqrt(x)[1:])


def assigned(x):
    y = np.sqrt(x)
    y[0] = 3.0
    return np.sum(y)


def selected_log(x):
    return np.sum(np.log(x[x > 0]))


def selected_root(x):
    return np.mean(np.sqrt(x[x >= 0.5]) ** 3)


def selected_spread(x):
    return np.std(np.log(x[x > 0]))


def selected_norm(x):
    return np.linalg.norm(np.log(x[x > 0])) + np.max(1 / x[x != 0])


def assigned_log(x):
    y = np.zeros_like(x)
    m = x > 0
    y[m] = np.log(x[m])
    y[~m] += 1
    return np.sum(y)


def augmented_root(x):
    y = np.sqrt(x)
    y[x <= 0] = 0
    y[x > 0] *= 2
    return np.sum(y)


def selected_rows(x):
    rows = x[:, 0] > 0
    return np.sum(np.log(x[rows]) @ np.ones(2))


LENGTH = np.hypot(1, np.log(2))

CORPUS: list[tuple[Callable[..., Any], Any, Any]] = [
    (untaken_log, 0.0, 0.0),
    (untaken_root, 1.0, 1.0),
    (norms, [[1.0, 2.0], [3.0, 4.0], [0.0, 0.0]], [[0.2**0.5, 0.8**0.5], [0.6, 0.8], [0, 0]]),
    (angle, [3.0, 0.0, -5.0], [0, 0, 0]),
    (untaken_power, [-1.0, -3.0, 4.0], [0, 0, 0.25]),
    (taken_root, [-1.0, 0.0, 1.0], [0, 0, 0.5]),
    (distance, [1.0, 2.0], [0, 0]),
    (product, [0.0, 4.0], [0, 3]),
    (masked, 1.0, 0.5),
    (clipped, [0.0, 1.0], [0, 1]),
    (part, [0.0, 1.0], [0, 0.5]),
    (assigned, [0.0, 1.0], [0, 0.5]),
    (selected_log, [-1.0, 0.0, 2.0], [0, 0, 0.5]),
    (selected_root, [-1.0, 0.0, 4.0, 1.0], [0, 0, 1.5, 0.75]),
    (selected_spread, [0.0, np.e, 1 / np.e], [0, 0.5 / np.e, -0.5 * np.e]),
    (
        selected_norm,
        [0.0, np.e, 0.5],
        [0, np.log(np.e) / LENGTH / np.e, -np.log(2) / LENGTH * 2 - 4],
    ),
    (assigned_log, [-1.0, 0.0, 2.0], [0, 0, 0.5]),
    (augmented_root, [-1.0, 0.0, 4.0], [0, 0, 0.5]),
    (selected_rows, [[1.0, 2.0], [0.0, 3.0], [-1.0, 0.0]], [[1, 0.5], [0, 0], [0, 0]]),
]


@pytest.mark.parametrize(("loss", "at", "wanted"), CORPUS, ids=lambda v: getattr(v, "__name__", ""))
def test_both_modes_and_both_orders(loss: Callable[..., Any], at: Any, wanted: Any) -> None:
    x = np.asarray(at)[()]
    np.testing.assert_allclose(gradc.grad(loss)(x), wanted, rtol=1e-14)
    pushed = gradc.jvp(loss, (x,), (np.ones_like(x),))[1]
    np.testing.assert_allclose(pushed, np.sum(wanted), rtol=1e-14, atol=1e-15)
    assert np.isfinite(gradc.hessian(loss)(x)).all()


def test_the_second_derivative_of_the_untaken_power() -> None:
    second = gradc.grad(gradc.grad(untaken_power))
    assert (second(-1.0), second(-3.0)) == (0.0, 0.0)


def test_a_literal_zero_has_no_gradient() -> None:
    assert gradc.grad(lambda x: 0 * np.sqrt(x))(0.0) == 0.0


def test_one_of_two_arguments_matters() -> None:
    pullback = gradc.vjp(lambda x, y: y * 2, 1.0, 2.0)[1]
    assert pullback(1.0) == (0.0, 2.0)
