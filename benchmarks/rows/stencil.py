"""The energy of a field on a grid: differences of neighbours and a double well."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.rows.row import Array, Row, Sizes


def stencil(u: Any) -> Any:
    """Return the energy of Ginzburg and Landau."""
    down, right = u[1:] - u[:-1], u[:, 1:] - u[:, :-1]
    return 0.5 * (np.sum(down**2) + np.sum(right**2)) + 0.25 * np.sum((1 - u**2) ** 2)


def by_hand(u: Array) -> tuple[Any, ...]:
    """Return value and gradient."""
    down, right, well = u[1:] - u[:-1], u[:, 1:] - u[:, :-1], 1 - u**2
    gradient = -u * well
    gradient[1:] += down
    gradient[:-1] -= down
    gradient[:, 1:] += right
    gradient[:, :-1] -= right
    value = 0.5 * (np.sum(down**2) + np.sum(right**2)) + 0.25 * np.sum(well**2)
    return value, gradient


def data(random: np.random.Generator, sizes: Sizes) -> tuple[Array, ...]:
    """Return a rough field."""
    return (random.normal(size=(sizes["n"], sizes["n"])),)


ROW = Row(
    name="stencil",
    function=stencil,
    wrt=(0,),
    sizes=({"n": 512},),
    tiny={"n": 9},
    data=data,
    flops=lambda sizes: 16.0 * sizes["n"] ** 2,
    by_hand=by_hand,
    numpy=True,
)
