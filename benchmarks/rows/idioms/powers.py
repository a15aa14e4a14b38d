"""A polynomial fitted to observations: its basis is an array to the power of a range."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.rows.row import Array, Row, Sizes


def powers(weights: Any, t: Any, y: Any) -> Any:
    """Return the sum of squared errors of a polynomial of 16 weights."""
    return np.sum((t[:, None] ** np.arange(16) @ weights - y) ** 2)


def by_hand(weights: Array, t: Array, y: Array) -> tuple[Any, ...]:
    """Return value and gradient."""
    basis = np.vander(t, 16, increasing=True)
    error = basis @ weights - y
    return error @ error, 2 * error @ basis


def data(random: np.random.Generator, sizes: Sizes) -> tuple[Array, ...]:
    """Return weights, points from -1 to 1 and observations."""
    n = sizes["n"]
    return random.normal(size=16), random.uniform(-1, 1, n), random.normal(size=n)


ROW = Row(
    name="powers",
    function=powers,
    wrt=(0,),
    sizes=({"n": 10_000},),
    tiny={"n": 37},
    data=data,
    flops=lambda sizes: sizes["n"] * (14.0 + 32 + 32 + 4),
    by_hand=by_hand,
    numpy=True,
    cpp="powers",
)
