"""Batching of gather and scatter: where indices vary, the point is one more index.

For points that are not at work an index that varies is 0. Some point is at work, and reads or
writes at indices of the same shape, so an axis without a place 0 is an error in any case. An index
that does not vary is the index of a point at work.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradc.autodiff.batching.points import Mapped, Points, ValueRule
from gradc.autodiff.batching.shape import shifted
from gradc_ir import build
from gradc_ir.core.graph import Node, Value
from gradc_ir.core.types import Axes


def _gather(points: Points, node: Node, operands: list[Mapped]) -> Sequence[Value]:
    x, *indices = operands
    axes: Axes = node.attributes["axes"]
    if not any(index.varies for index in indices):
        # the axis of points comes after the index axes: move it to the front
        taken = build.gather(x.value, [index.value for index in indices], shifted(axes))
        rank = indices[0].value.type.rank
        rest = [axis for axis in range(taken.type.rank) if axis != rank]
        return [build.transpose(taken, (rank, *rest))]
    spread = _harmless(points, indices)
    if not x.varies:
        return [build.gather(x.value, spread, axes)]
    return [build.gather(x.value, [_places(points, spread), *spread], (0, *shifted(axes)))]


def _scatter(points: Points, node: Node, operands: list[Mapped]) -> Sequence[Value]:
    x, part = points.spread_all(operands[:2])
    indices = operands[2:]
    axes = shifted(node.attributes["axes"])
    axis = 0
    if any(index.varies for index in indices):
        places = _harmless(points, indices)
        places, axes = [_places(points, places), *places], (0, *axes)
    else:
        places = [index.value for index in indices]
        axis = places[0].type.rank
        order = (*range(1, axis + 1), 0, *range(axis + 1, part.type.rank))
        part = build.transpose(part, order)
    if points.mask is not None:
        part = points.at_work(part, _nothing(node, x, places, axes), axis)
    written = build.apply(node.op.name, x, part, *places, axes=axes)
    points.note_base(written, x)
    return [written]


def _nothing(node: Node, x: Value, places: list[Value], axes: Axes) -> Value | float:
    """Return the part that, when it is written, leaves every bit of x as it is."""
    if node.op.name == "scatter_set":
        return build.gather(x, places, axes)
    return -0.0 if x.type.dtype.is_float else 0


def _harmless(points: Points, indices: Sequence[Mapped]) -> list[Value]:
    return [
        points.at_work(points.spread(*index), 0) if index.varies else points.spread(*index)
        for index in indices
    ]


def _places(points: Points, spread: Sequence[Value]) -> Value:
    return points.numbers(spread[0].type.dtype, spread[0].type.shape[1:])


RULES: dict[str, ValueRule] = {
    "gather": _gather,
    "scatter_set": _scatter,
    "scatter_add": _scatter,
}
