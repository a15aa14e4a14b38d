"""Batching of ops that move elements, and of those along axes: their axes are one further back."""

from __future__ import annotations

from collections.abc import Sequence

from gradc.autodiff.batching.points import Mapped, Points, ValueRule
from gradc_ir import build
from gradc_ir.core.graph import Node, Value


def shifted(axes: Sequence[int]) -> tuple[int, ...]:
    """Return the axes of one point as axes of all points."""
    return tuple(axis + 1 for axis in axes)


def _broadcast(points: Points, node: Node, operands: list[Mapped]) -> Sequence[Value]:
    shape = (points.size, *node.attributes["shape"])
    return [build.broadcast(operands[0].value, shape, (0, *shifted(node.attributes["axes"])))]


def _reshape(points: Points, node: Node, operands: list[Mapped]) -> Sequence[Value]:
    return [build.reshape(operands[0].value, (points.size, *node.attributes["shape"]))]


def _transpose(points: Points, node: Node, operands: list[Mapped]) -> Sequence[Value]:
    return [build.transpose(operands[0].value, (0, *shifted(node.attributes["permutation"])))]


def _concatenate(points: Points, node: Node, operands: list[Mapped]) -> Sequence[Value]:
    return [build.concatenate(points.spread_all(operands), node.attributes["axis"] + 1)]


def _window(points: Points, node: Node, operands: list[Mapped]) -> Sequence[Value]:
    given = node.attributes
    make = build.slice if node.op.name == "slice" else build.pad
    shape = (points.size, *given["shape"])
    return [make(operands[0].value, (0, *given["starts"]), shape, (1, *given["steps"]))]


def _set_slice(points: Points, node: Node, operands: list[Mapped]) -> Sequence[Value]:
    x, part = points.spread_all(operands)
    starts, steps = (0, *node.attributes["starts"]), (1, *node.attributes["steps"])
    if points.mask is not None:
        part = points.at_work(part, build.slice(x, starts, part.type.shape, steps))
    written = build.set_slice(x, part, starts, steps)
    points.note_base(written, x)
    return [written]


def reduction(points: Points, node: Node, operands: list[Mapped]) -> Sequence[Value]:
    """Reduce over the axes of each point."""
    axes = shifted(node.attributes["axes"])
    return [build.apply(node.op.name, operands[0].value, axes=axes)]


def along_axis(points: Points, node: Node, operands: list[Mapped]) -> Sequence[Value]:
    """Go along the axis of each point."""
    attributes = {**node.attributes, "axis": node.attributes["axis"] + 1}
    return build.apply_all(node.op.name, *points.spread_all(operands), **attributes)


RULES: dict[str, ValueRule] = {
    "broadcast": _broadcast,
    "reshape": _reshape,
    "transpose": _transpose,
    "concatenate": _concatenate,
    "slice": _window,
    "pad": _window,
    "set_slice": _set_slice,
}
