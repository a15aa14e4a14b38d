"""An elementwise chain of four functions and its sum: the vector functions decide."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks.rows.row import Array, Row, Sizes


def chain(x: Any) -> Any:
    """Return the sum of the chain."""
    return np.sum(np.exp(-x * x) * np.sin(x) + np.tanh(x))


def by_hand(x: Array) -> tuple[Any, ...]:
    """Return value and gradient."""
    e, s, t = np.exp(-x * x), np.sin(x), np.tanh(x)
    return np.sum(e * s + t), e * (np.cos(x) - 2 * x * s) + 1 - t * t


def in_loops(x: Array) -> tuple[Any, ...]:
    """Return value and gradient, an element at a time."""
    gradient = np.empty_like(x)
    value = 0.0
    for i in range(x.size):
        e, s, t = math.exp(-x[i] * x[i]), math.sin(x[i]), math.tanh(x[i])
        value += e * s + t
        gradient[i] = e * (math.cos(x[i]) - 2 * x[i] * s) + 1 - t * t
    return value, gradient


def data(random: np.random.Generator, sizes: Sizes) -> tuple[Array, ...]:
    """Return numbers around 0.5: the sum is no small difference of large ones."""
    return (0.5 + random.normal(size=sizes["n"]),)


ROW = Row(
    name="chain",
    function=chain,
    wrt=(0,),
    sizes=tuple({"n": 10**power} for power in range(3, 8)),
    tiny={"n": 37},
    data=data,
    flops=lambda sizes: 16.0 * sizes["n"],
    by_hand=by_hand,
    dtypes=("f64", "f32"),
    numpy=True,
    numba=in_loops,
    cpp="chain",
)
