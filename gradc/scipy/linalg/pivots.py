"""Orders of rows, as the op ``lu`` gives them, and exchanges of rows, as LAPACK does."""

from __future__ import annotations

from typing import Any

from gradc.tracing.building.by_name import array, number
from gradc.tracing.core.tracer import read
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.core.types import DType


def pivots_of(order: Value, steps: int) -> Value:
    """Return for each step which row is exchanged with the one of its number, as an i32."""
    place, rows = _start(order)
    pivots = []
    for step in range(steps):
        wanted = _spread(_element(order, step), order)
        here = build.logical_and(build.le(step, place), build.eq(rows, wanted))
        at = _last_sum(build.select(here, place, build.zeros_like(place)))
        pivots.append(build.reshape(at, (*at.type.shape, 1)))
        rows = build.select(
            build.eq(place, _spread(at, order)), _spread(_element(rows, step), order), rows
        )
    if not pivots:
        return build.full((*order.type.shape[:-1], 0), 0, DType.I32)
    return build.cast(build.concatenate(pivots, order.type.rank - 1), DType.I32)


def order_of(pivots: Any) -> Value:
    """Return the order of rows after all exchanges, without a loop for those of ``pivots_of``."""
    given = array(pivots)
    number(given.shape[-1], "scipy.linalg.lu_solve")
    value = read(given)
    source = _lu_order(value)
    if source is not None and pivots_of(source, int(given.shape[-1])) is value:
        return source
    exchanges = build.cast(value, DType.I64)
    place, rows = _start(exchanges)
    for step in range(int(given.shape[-1])):
        at = build.eq(place, _spread(_element(exchanges, step), rows))
        other = _last_sum(build.select(at, rows, build.zeros_like(rows)))
        moved = build.select(at, _spread(_element(rows, step), rows), rows)
        rows = build.select(build.eq(place, step), _spread(other, rows), moved)
    return rows


def _lu_order(value: Value) -> Value | None:
    """Return the order of an ``lu`` from which a value is made by one operand after another."""
    for _ in range(12):
        if value.op.name == "lu" and value.index == 1:
            return value
        if not value.operands:
            return None
        value = value.operands[-1 if value.op.name in ("eq", "logical_and") else 0]
    return None


def _start(like: Value) -> tuple[Value, Value]:
    shape = like.type.shape
    place = build.index_along(shape, len(shape) - 1)
    return place, place


def _element(x: Value, place: int) -> Value:
    rank = x.type.rank
    starts = (*(0,) * (rank - 1), place)
    part = build.slice(x, starts, (*x.type.shape[:-1], 1), (1,) * rank)
    return build.reshape(part, x.type.shape[:-1])


def _spread(x: Value, like: Value) -> Value:
    return build.broadcast(x, like.type.shape, tuple(range(x.type.rank)))


def _last_sum(x: Value) -> Value:
    return build.reduce_sum(x, (x.type.rank - 1,))
