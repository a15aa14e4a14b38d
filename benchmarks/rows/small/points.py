"""A function of one point as rows: alone, and over a leading axis of many points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import gradc
from benchmarks.rows.row import Array, Function, Row, Sizes
from benchmarks.rows.row import Point as OfOne

MANY = 1000
# a step along the imaginary axis, whose square no float sees
_STEP = 1e-30


@dataclass(frozen=True)
class Point:
    """A function of small arrays, which of its derivatives is asked for, and the peers' texts.

    Parameters
    ----------
    name, function, wrt, of, casadi, cpp: as of a row.
    data: from a random generator to the arguments of one point.
    by_hand: value and derivatives of one point, as a flat tuple.
    flops: additions, multiplications, divisions and functions, written by hand.
    jax: from the module ``jax`` to the function; None where the NumPy text is JAX's too.
    batched: whether there are rows of many points.
    """

    name: str
    function: Function
    of: str
    data: Callable[[np.random.Generator], tuple[Array, ...]]
    by_hand: Function
    flops: float
    casadi: Callable[[Any], tuple[list[Any], list[Any]]]
    wrt: tuple[int, ...] = (0,)
    cpp: bool = True
    jax: Callable[[Any], Function] | None = None
    batched: bool = True


def rows_of(point: Point) -> tuple[Row, ...]:
    """Return the rows of a function of one point."""
    alone = Row(
        name=point.name,
        function=point.function,
        wrt=point.wrt,
        of=point.of,
        sizes=({"points": 1},),
        tiny={"points": 1},
        data=lambda random, sizes: point.data(random),
        flops=lambda sizes: point.flops,
        by_hand=point.by_hand,
        jax=point.jax,
        casadi=point.casadi,
        cpp=point.name if point.cpp else "",
    )
    if not point.batched:
        return (alone,)
    many = replace(
        alone,
        name=f"{point.name}_batch",
        function=_over_points(gradc, point),
        wrt=None,
        of="value",
        sizes=({"points": MANY},),
        tiny={"points": 11},
        data=lambda random, sizes: _each(point.data, random, sizes),
        flops=lambda sizes: point.flops * sizes["points"],
        by_hand=lambda *arrays: _stacked(point.by_hand, arrays),
        point=OfOne(point.function, point.of, point.wrt, point.jax),
    )
    return alone, many, replace(many, name=f"{point.name}_symbolic", symbolic=True)


def _over_points(module: Any, point: Point) -> Function:
    """Return value and derivatives of every point, by a module that has gradc's transforms."""
    if point.of == "value":
        return module.vmap(point.function)  # type: ignore[no-any-return]
    wrt = point.wrt if len(point.wrt) > 1 else point.wrt[0]
    return module.vmap(getattr(module, point.of)(point.function, wrt))  # type: ignore[no-any-return]


def _each(
    data: Callable[[np.random.Generator], tuple[Array, ...]],
    random: np.random.Generator,
    sizes: Sizes,
) -> tuple[Array, ...]:
    return tuple(map(np.array, zip(*(data(random) for _ in range(sizes["points"])))))


def _stacked(by_hand: Function, arrays: tuple[Array, ...]) -> tuple[Array, ...]:
    return tuple(map(np.array, zip(*(by_hand(*point) for point in zip(*arrays)))))


def complex_steps(function: Function, wrt: tuple[int, ...], *arguments: Any) -> tuple[Array, ...]:
    """Return the Jacobians of analytic functions by complex steps: exact, with nothing derived."""
    found = []
    for position in wrt:
        at = np.asarray(arguments[position])
        columns = []
        for place in np.ndindex(at.shape):
            stepped = at.astype(complex)
            stepped[place] += _STEP * 1j
            given = [*arguments]
            given[position] = stepped
            columns.append(np.asarray(function(*given)).imag / _STEP)
        shape = np.shape(columns[0]) + at.shape
        found.append(np.stack(columns, axis=-1).reshape(shape))
    return tuple(found)


def matrix(casadi: Any, name: str, rows: int, columns: int) -> tuple[Any, Any]:
    """Return a symbol of a matrix's elements row by row, and the matrix, for CasADi."""
    symbol = casadi.SX.sym(name, rows * columns)
    return symbol, casadi.reshape(symbol, columns, rows).T
