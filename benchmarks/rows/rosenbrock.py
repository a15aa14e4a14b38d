"""Rosenbrock's function: neighbours in a row, no function."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.rows.row import Array, Row, Sizes


def rosenbrock(x: Any) -> Any:
    """Return Rosenbrock's function."""
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def by_hand(x: Array) -> tuple[Any, ...]:
    """Return value and gradient."""
    valley, slope = x[1:] - x[:-1] ** 2, 1 - x[:-1]
    gradient = np.zeros_like(x)
    gradient[:-1] = -400.0 * x[:-1] * valley - 2 * slope
    gradient[1:] += 200.0 * valley
    return np.sum(100.0 * valley**2 + slope**2), gradient


def data(random: np.random.Generator, sizes: Sizes) -> tuple[Array, ...]:
    """Return a point near the valley."""
    return (1 + 0.3 * random.normal(size=sizes["n"]),)


ROW = Row(
    name="rosenbrock",
    function=rosenbrock,
    wrt=(0,),
    sizes=({"n": 3}, {"n": 100_000}),
    tiny={"n": 37},
    data=data,
    flops=lambda sizes: 13.0 * (sizes["n"] - 1),
    by_hand=by_hand,
    numpy=True,
    cpp="rosenbrock",
)
