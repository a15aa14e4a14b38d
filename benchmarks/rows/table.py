"""A decay fitted to a small table: three parameters, two hundred observations."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.rows.row import Array, Row, Sizes


def table(p: Any, t: Any, y: Any) -> Any:
    """Return the sum of squared errors of a decay to a level."""
    return np.sum((p[0] * np.exp(-p[1] * t) + p[2] - y) ** 2)


def by_hand(p: Array, t: Array, y: Array) -> tuple[Any, ...]:
    """Return value and gradient."""
    e = np.exp(-p[1] * t)
    error = p[0] * e + p[2] - y
    return error @ error, np.array([2 * error @ e, -2 * p[0] * (error @ (t * e)), 2 * error.sum()])


def data(random: np.random.Generator, sizes: Sizes) -> tuple[Array, ...]:
    """Return parameters, times and observations."""
    t = np.linspace(0, 5, sizes["n"])
    y = 2 * np.exp(-0.8 * t) + 0.5 + 0.05 * random.normal(size=sizes["n"])
    return np.array([1.5, 1.0, 0.3]), t, y


ROW = Row(
    name="table",
    function=table,
    wrt=(0,),
    sizes=({"n": 200},),
    tiny={"n": 37},
    data=data,
    flops=lambda sizes: 13.0 * sizes["n"],
    by_hand=by_hand,
    numpy=True,
)
