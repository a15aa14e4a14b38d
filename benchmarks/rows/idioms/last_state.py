"""Differential equations in a chain, of which the last state is read at the last time."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.rows.row import Array, Row, Sizes

_STEPS = 50
_H = 2 / _STEPS


def last_state(rates: Any) -> Any:
    """Return y[-1] at time 2 where y[0]' = rates[0] and y[i]' = rates[i] y[i - 1]."""

    def slope(y: Any) -> Any:
        return rates * np.concatenate([np.ones(1), y[:-1]])

    y = np.zeros_like(rates)
    for _ in range(_STEPS):
        a = slope(y)
        b = slope(y + _H / 2 * a)
        c = slope(y + _H / 2 * b)
        d = slope(y + _H * c)
        y = y + _H / 6 * (a + 2 * b + 2 * c + d)
    return y[-1]


def _before(y: Array) -> Array:
    return np.concatenate([np.ones(1), y[:-1]])


def _behind(y: Array) -> Array:
    return np.concatenate([y[1:], np.zeros(1)])


def by_hand(rates: Array) -> tuple[Any, ...]:
    """Return value and gradient: each step is run again on the way back."""
    parts, weights = (0, _H / 2, _H / 2, _H), (_H / 6, _H / 3, _H / 3, _H / 6)
    y, steps = np.zeros_like(rates), []
    for _ in range(_STEPS):
        slope, read, total = np.zeros_like(rates), [], y
        for part, weight in zip(parts, weights, strict=True):
            read.append(_before(y + part * slope))
            slope = rates * read[-1]
            total = total + weight * slope
        steps.append(read)
        y = total
    g_y, g = np.zeros_like(rates), np.zeros_like(rates)
    g_y[-1] = 1
    for read in reversed(steps):
        total, g_slope = g_y, np.zeros_like(rates)
        for part, weight, before in zip(parts[::-1], weights, read[::-1], strict=True):
            g_slope = g_slope + weight * g_y
            g += g_slope * before
            g_state = _behind(rates * g_slope)
            total = total + g_state
            g_slope = part * g_state
        g_y = total
    return y[-1], g


def data(random: np.random.Generator, sizes: Sizes) -> tuple[Array, ...]:
    """Return rates that let the last state be neither large nor small."""
    return (sizes["n"] / (2 * np.e) * random.uniform(0.9, 1.1, sizes["n"]),)


ROW = Row(
    name="last_state",
    function=last_state,
    wrt=(0,),
    sizes=({"n": 100},),
    tiny={"n": 7},
    data=data,
    flops=lambda sizes: 48.0 * _STEPS * sizes["n"],
    by_hand=by_hand,
    cpp="last_state",
)
