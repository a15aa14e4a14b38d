"""A mesh of which a few vertices are asked for: rows of a long array that is computed."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.rows.row import Array, Row, Sizes


def rows_looked_up(theta: Any, points: Any, corners: Any) -> Any:
    """Return some of the vertices that parameters make of points, f64[m,3]."""
    vertices = np.tanh(points @ theta)
    return vertices[corners]


def by_hand(theta: Array, points: Array, corners: Array) -> tuple[Any, ...]:
    """Return the Jacobian, f64[m,3,p,3]: a column of theta moves one coordinate."""
    chosen = points[corners]
    slopes = 1 - np.tanh(chosen @ theta) ** 2
    return (np.einsum("rc,ri,cj->rcij", slopes, chosen, np.eye(3)),)


def data(random: np.random.Generator, sizes: Sizes) -> tuple[Array, ...]:
    """Return parameters, points and which of them are asked for."""
    n, m, p = sizes["n"], sizes["m"], sizes["p"]
    return (
        random.normal(size=(p, 3)) / np.sqrt(p),
        random.normal(size=(n, p)),
        random.integers(0, n, m),
    )


ROW = Row(
    name="rows_looked_up",
    function=rows_looked_up,
    wrt=(0,),
    of="jacobian",
    sizes=({"n": 10_000, "m": 300, "p": 6},),
    tiny={"n": 37, "m": 5, "p": 3},
    data=data,
    flops=lambda sizes: sizes["m"] * 3.0 * (3 * sizes["p"] + 3),
    by_hand=by_hand,
    cpp="rows_looked_up",
)
