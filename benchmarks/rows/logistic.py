"""Logistic regression: the loss of labelled rows of a matrix; it can be done in one reading."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks.rows.row import Array, Row, Sizes


def logistic(w: Any, a: Any, y: Any) -> Any:
    """Return the loss of labels -1 and 1."""
    return np.sum(np.log1p(np.exp(-y * (a @ w))))


def by_hand(w: Array, a: Array, y: Array) -> tuple[Any, ...]:
    """Return value and gradient."""
    e = np.exp(-y * (a @ w))
    return np.sum(np.log1p(e)), a.T @ (-y * (e / (1 + e)))


def in_loops(w: Array, a: Array, y: Array) -> tuple[Any, ...]:
    """Return value and gradient, a row at a time."""
    n, m = a.shape
    gradient = np.zeros(m, a.dtype)
    value = 0.0
    for i in range(n):
        z = w[0] * a[i, 0]
        for j in range(1, m):
            z += a[i, j] * w[j]
        e = math.exp(-y[i] * z)
        value += math.log1p(e)
        slope = -y[i] * (e / (1 + e))
        for j in range(m):
            gradient[j] += slope * a[i, j]
    return value, gradient


def data(random: np.random.Generator, sizes: Sizes) -> tuple[Array, ...]:
    """Return weights, a matrix and labels."""
    n, m = sizes["n"], sizes["m"]
    return (
        random.normal(size=m),
        0.3 * random.normal(size=(n, m)),
        random.choice([-1.0, 1.0], size=n),
    )


ROW = Row(
    name="logistic",
    function=logistic,
    wrt=(0,),
    sizes=({"n": 1_000, "m": 50}, {"n": 400_000, "m": 50}),
    tiny={"n": 37, "m": 5},
    data=data,
    flops=lambda sizes: sizes["n"] * (4.0 * sizes["m"] + 8),
    by_hand=by_hand,
    dtypes=("f64", "f32"),
    numpy=True,
    numba=in_loops,
    cpp="logistic",
)
