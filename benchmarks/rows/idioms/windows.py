"""Windows that slide over a signal: a filter, and what it makes of the signal through a curve."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from benchmarks.rows.row import Array, Row, Sizes

_LENGTH = 64


def windows(x: Any, weights: Any) -> Any:
    """Return the sum of the curve of all windows times weights."""
    return np.sum(np.tanh(sliding_window_view(x, _LENGTH) @ weights))


def by_hand(x: Array, weights: Array) -> tuple[Any, ...]:
    """Return value and gradient."""
    curve = np.tanh(np.correlate(x, weights))
    slope = 1 - curve * curve
    return np.sum(curve), np.convolve(slope, weights), np.correlate(x, slope)


def data(random: np.random.Generator, sizes: Sizes) -> tuple[Array, ...]:
    """Return a signal and weights."""
    return random.normal(size=sizes["n"]), random.normal(size=_LENGTH) / 8


ROW = Row(
    name="windows",
    function=windows,
    wrt=(0, 1),
    sizes=({"n": 20000},),
    tiny={"n": 70},
    data=data,
    flops=lambda sizes: 6.0 * _LENGTH * sizes["n"],
    by_hand=by_hand,
)
