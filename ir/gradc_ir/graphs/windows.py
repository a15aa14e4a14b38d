"""Reading a window of an array some windows of which were replaced: how the two windows lie."""

from __future__ import annotations

from gradc_ir import build
from gradc_ir.core.graph import Node, Value
from gradc_ir.core.sizes import Shape, Size

# A read looks past this many updates for the one it meets, so that many reads stay cheap.
_FARTHEST = 200


def read_update(value: Value) -> Value | None:
    """Turn a slice of an updated array into a slice of what was written, or of the array before.

    As bits nothing changes. What ``buf[i] = v`` wrote and ``buf[i]`` reads needs no array then, and
    an array that is not read in between can be written in place.
    """
    source = value.operands[0]
    for _ in range(_FARTHEST):
        node = source.node
        if node.op.name != "set_slice":
            break
        base, part = node.operands
        relation = _relate(value.node, node)
        if relation is None:
            break
        if relation:
            return build.slice(part, *_within(value.node, node))
        source = base
    if source is value.operands[0]:
        return None
    attributes = value.node.attributes
    return build.slice(source, attributes["starts"], value.type.shape, attributes["steps"])


def misses(read: Node, update: Node) -> bool:
    """Whether a slice of an updated array has nothing of what was written."""
    return _relate(read, update) is False


def _relate(read: Node, update: Node) -> bool | None:
    """Return True for a read inside an update's window, False for one that misses it."""
    inside = True
    for mine, its in zip(_axes(read), _axes(update)):
        if mine == its:
            continue
        here, there = _span(mine), _span(its)
        if here is None or there is None:
            inside = False
        elif here[1] < there[0] or there[1] < here[0]:
            return False
        elif its[1] != 1 or here[0] < there[0] or here[1] > there[1]:
            inside = False
    return True if inside else None


def _within(read: Node, update: Node) -> tuple[Shape, Shape, tuple[int, ...]]:
    """Return starts, shape and steps of a read inside an update's window, seen from there."""
    starts: list[Size] = []
    steps: list[int] = []
    for mine, its in zip(_axes(read), _axes(update)):
        same = mine == its
        starts.append(0 if same else mine[0] - its[0])
        steps.append(1 if same else mine[1])
    return tuple(starts), read.results[0].type.shape, tuple(steps)


def _axes(node: Node) -> list[tuple[Size, int, Size]]:
    """Return start, step and size of a window along each axis."""
    window = node.operands[1] if node.op.name == "set_slice" else node.results[0]
    attributes = node.attributes
    return list(zip(attributes["starts"], attributes["steps"], window.type.shape))


def _span(axis: tuple[Size, int, Size]) -> tuple[int, int] | None:
    """Return the first and last index of a window along an axis, None where they are not known."""
    start, step, size = axis
    if not isinstance(start, int) or not isinstance(size, int) or size < 1:
        return None
    last = start + (size - 1) * step
    return (start, last) if step > 0 else (last, start)
