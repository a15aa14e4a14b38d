"""Batching of ops that move elements, and of those along axes: their axes are one further back."""

from __future__ import annotations

from collections.abc import Sequence

from gradc.autodiff.batching.points import Mapped, Points, ValueRule
from gradc_ir import build
from gradc_ir.core.graph import Node, Value


def shifted(axes: Sequence[int]) -> tuple[int, ...]:
    """Return the axes of one point as axes of all points."""
    return tuple(axis + 1 for axis in axes)


def _moved(points: Points, node: Node, operands: list[Mapped]) -> Sequence[Value]:
    """Move the elements of each point; the axis of points is first, and stays what it is."""
    own = {"shape": points.size, "starts": 0, "steps": 1}
    given = {
        name: (own[name], *entries) if name in own else (0, *shifted(entries))
        for name, entries in node.attributes.items()
    }
    return [getattr(build, node.op.name)(operands[0].value, **given)]


def _concatenate(points: Points, node: Node, operands: list[Mapped]) -> Sequence[Value]:
    return [build.concatenate(points.spread_all(operands), node.attributes["axis"] + 1)]


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


def _element(points: Points, node: Node, operands: list[Mapped]) -> Sequence[Value]:
    return [build.element(operands[0].value, (None, *node.attributes["at"]))]


def _stack(points: Points, node: Node, operands: list[Mapped]) -> Sequence[Value]:
    shape, axes = (points.size, *node.attributes["shape"]), shifted(node.attributes["axes"])
    return [build.stack(points.spread_all(operands), shape, axes)]


RULES: dict[str, ValueRule] = {
    **dict.fromkeys(("broadcast", "reshape", "transpose", "slice", "pad"), _moved),
    "concatenate": _concatenate,
    "set_slice": _set_slice,
    "element": _element,
    "stack": _stack,
}
