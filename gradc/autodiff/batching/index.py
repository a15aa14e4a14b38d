"""Batching of gather and scatter: where indices vary, the point is one more index.

For points that are not at work an index that varies is 0, unless it surely is inside. Some point is
at work, and reads or writes at indices of the same shape, so an axis without a place 0 is an error
in any case. An index that does not vary is the index of a point at work. Where branches run that no
point takes, it is like the others.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradc.autodiff.batching.points import Mapped, Points, ValueRule
from gradc.autodiff.batching.shape import shifted
from gradc_ir import build
from gradc_ir.core.graph import Node, Value
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import Axes
from gradc_ir.graphs.rearrange import scalar_constant
from gradc_ir.ranges.knowledge import is_within


def _gather(points: Points, node: Node, operands: list[Mapped]) -> Sequence[Value]:
    x, *indices = operands
    axes: Axes = node.attributes["axes"]
    if _are_shared(points, indices, _sizes(node.operands[0], axes)):
        # the axis of points comes after the index axes: move it to the front
        taken = build.gather(x.value, [index.value for index in indices], shifted(axes))
        rank = indices[0].value.type.rank
        rest = [axis for axis in range(taken.type.rank) if axis != rank]
        return [build.transpose(taken, (rank, *rest))]
    if not x.varies:
        source, indices, axes = _picked(x.value, indices, axes)
        return [build.gather(source, _harmless(points, indices, _sizes(source, axes)), axes)]
    spread = _harmless(points, indices, _sizes(node.operands[0], axes))
    return [build.gather(x.value, [_places(points, spread), *spread], (0, *shifted(axes)))]


def _picked(x: Value, indices: Sequence[Mapped], axes: Axes) -> tuple[Value, list[Mapped], Axes]:
    """Return the part of an array at numbers that are the same for all points, and what is left."""
    at: list[int | None] = [None] * x.type.rank
    for index, axis in zip(indices, axes):
        number, size = scalar_constant(index.value), x.type.shape[axis]
        if index.value.type.rank or not isinstance(number, int) or not isinstance(size, int):
            continue
        if not index.varies and -size <= number < size:
            at[axis] = number % size
    if all(place is None for place in at):
        return x, list(indices), axes
    kept = [axis for axis in range(len(at)) if at[axis] is None]
    left = [(index, kept.index(axis)) for index, axis in zip(indices, axes) if at[axis] is None]
    shape = x.type.shape
    window = tuple(1 if place is not None else size for place, size in zip(at, shape))
    part = build.slice(x, tuple(place or 0 for place in at), window, (1,) * len(at))
    found = build.reshape(part, tuple(shape[axis] for axis in kept))
    return found, [index for index, _ in left], tuple(axis for _, axis in left)


def _scatter(points: Points, node: Node, operands: list[Mapped]) -> Sequence[Value]:
    x, part = points.spread_all(operands[:2])
    indices = operands[2:]
    sizes = _sizes(node.operands[0], node.attributes["axes"])
    axes = shifted(node.attributes["axes"])
    axis = 0
    if not _are_shared(points, indices, sizes):
        places = _harmless(points, indices, sizes)
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


def _harmless(points: Points, indices: Sequence[Mapped], sizes: Sequence[Size]) -> list[Value]:
    """Return indices of axes of these sizes; 0 of points not at work, if they may be outside."""
    return [
        points.spread(*index)
        if _is_inside(index.value, size) or not (index.varies or points.runs_both)
        else points.at_work(points.spread(*index), 0)
        for index, size in zip(indices, sizes)
    ]


def _is_inside(index: Value, size: Size) -> bool:
    """Whether an index surely is one of an axis."""
    return isinstance(size, int) and is_within(index, -size, size - 1)


def _sizes(x: Value, axes: Axes) -> list[Size]:
    return [x.type.shape[axis] for axis in axes]


def _are_shared(points: Points, indices: Sequence[Mapped], sizes: Sequence[Size]) -> bool:
    """Whether indices are the same for all points, and read as they are."""
    if any(index.varies for index in indices):
        return False
    if points.mask is None or not points.runs_both:
        return True
    return all(_is_inside(index.value, size) for index, size in zip(indices, sizes))


def _places(points: Points, spread: Sequence[Value]) -> Value:
    return points.numbers(spread[0].type.dtype, spread[0].type.shape[1:])


RULES: dict[str, ValueRule] = {
    "gather": _gather,
    "scatter_set": _scatter,
    "scatter_add": _scatter,
}
