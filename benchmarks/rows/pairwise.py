"""The energy of Gaussians around every pair of points: all distances, never stored."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.rows.row import Array, Row, Sizes


def pairwise(x: Any) -> Any:
    """Return the sum over all pairs."""
    apart = x[:, None, :] - x[None, :, :]
    return np.sum(np.exp(-0.5 * np.sum(apart**2, axis=2)))


def by_hand(x: Array) -> tuple[Any, ...]:
    """Return value and gradient."""
    squares = np.sum(x**2, axis=1)
    e = np.exp(x @ x.T - 0.5 * squares[:, None] - 0.5 * squares)
    return np.sum(e), 2 * (e @ x - e.sum(1, keepdims=True) * x)


def data(random: np.random.Generator, sizes: Sizes) -> tuple[Array, ...]:
    """Return points."""
    return (random.normal(size=(sizes["n"], sizes["d"])),)


ROW = Row(
    name="pairwise",
    function=pairwise,
    wrt=(0,),
    sizes=({"n": 2_000, "d": 3},),
    tiny={"n": 37, "d": 3},
    data=data,
    flops=lambda sizes: sizes["n"] ** 2 * (5.0 * sizes["d"] + 3),
    by_hand=by_hand,
    numpy=True,
)
