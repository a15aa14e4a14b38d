"""Points and the centres they are labelled with: the labels are an argmin, rows are gathered."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.rows.row import Array, Function, Row, Sizes


def labels(centres: Any, points: Any, scores: Any) -> Any:
    """Return the sum of squared distances to the centre with the least score."""
    return np.sum((points - centres[np.argmin(scores, axis=1)]) ** 2)


def in_jax(jax: Any) -> Function:
    """Return the same for JAX."""
    np = jax.numpy
    return lambda centres, points, scores: np.sum(
        (points - centres[np.argmin(scores, axis=1)]) ** 2
    )


def by_hand(centres: Array, points: Array, scores: Array) -> tuple[Any, ...]:
    """Return value and gradient."""
    chosen = np.argmin(scores, axis=1)
    apart = points - centres[chosen]
    gradient = np.zeros_like(centres)
    np.add.at(gradient, chosen, -2 * apart)
    return np.sum(apart**2), gradient


def data(random: np.random.Generator, sizes: Sizes) -> tuple[Array, ...]:
    """Return centres, points and scores."""
    n, k, d = sizes["n"], sizes["k"], sizes["d"]
    return random.normal(size=(k, d)), random.normal(size=(n, d)), random.random((n, k))


ROW = Row(
    name="labels",
    function=labels,
    wrt=(0,),
    sizes=({"n": 10_000, "k": 16, "d": 8},),
    tiny={"n": 37, "k": 4, "d": 3},
    data=data,
    flops=lambda sizes: sizes["n"] * (sizes["k"] + 5.0 * sizes["d"]),
    by_hand=by_hand,
    jax=in_jax,
    cpp="labels",
)
