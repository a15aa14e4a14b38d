"""Parts of values along an axis, made of the pieces that the values are joined of."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gradc_ir import build
from gradc_ir.core.graph import Node, Value
from gradc_ir.core.sizes import Shape, Size, at_least

# So many values are looked at for what a value is joined of.
_MOST_VALUES = 16


def part(value: Value, axis: int, start: Size, size: Size) -> Value:
    """Return elements of a value along an axis, built of what these alone are made of.

    Each has the bits that it has in the whole.
    """
    if start == 0 and size == value.type.shape[axis]:
        return value
    node = value.node
    lengths = lengths_along(node, axis)
    if lengths is not None:
        place = _place(lengths, start, size)
        if place is not None:
            return part(_piece(node, axis, place[0]), axis, place[1], size)
    elif node.op.is_elementwise:
        operands = [part(operand, axis, start, size) for operand in node.operands]
        return build.apply(node.op.name, *operands, **node.attributes)
    else:
        inner = _axis_before(node, axis)
        if inner is not None:
            return _moved(node, axis, part(node.operands[0], inner, start, size), size)
        if node.op.name == "broadcast":  # along the axis all elements are the same
            return _moved(node, axis, node.operands[0], size)
    if node.op.name == "slice" and node.attributes["steps"][axis] == 1:
        starts = list(node.attributes["starts"])
        starts[axis] = starts[axis] + start
        shape, steps = with_size(value, axis, size), node.attributes["steps"]
        return build.slice(node.operands[0], tuple(starts), shape, steps)
    begin = tuple([start if i == axis else 0 for i in range(value.type.rank)])
    return build.slice(value, begin, with_size(value, axis, size), (1,) * value.type.rank)


def with_size(value: Value, axis: int, size: Size) -> Shape:
    """Return the shape of a value with another size along an axis."""
    shape = value.type.shape
    return (*shape[:axis], size, *shape[axis + 1 :])


def lengths_along(node: Node, axis: int) -> list[Size] | None:
    """Return how long the pieces are that a node joins along an axis, None if it joins none."""
    if node.op.name == "concatenate" and node.attributes["axis"] == axis:
        return [operand.type.shape[axis] for operand in node.operands]
    if node.op.name == "stack" and node.attributes["axes"] == (axis,):
        return [1] * len(node.operands)
    return None


def joined(
    value: Value, axis: int, start: Size, passes: Callable[[Value], bool]
) -> Iterator[tuple[list[Size], Size]]:
    """Yield the lengths of pieces that a value is joined of along an axis, and where it begins.

    ``passes`` says of what is computed of them, element by element, whether that may be for parts.
    """
    found = [(value, axis, start)]
    for value, axis, start in found:
        if len(found) > _MOST_VALUES:
            return
        node = value.node
        lengths = lengths_along(node, axis)
        if lengths is not None:
            yield lengths, start
        elif node.op.is_elementwise:
            if passes(value):
                found += [(operand, axis, start) for operand in node.operands]
        elif node.op.name == "slice":
            if node.attributes["steps"][axis] == 1:
                found.append((node.operands[0], axis, start + node.attributes["starts"][axis]))
        else:
            inner = _axis_before(node, axis)
            if inner is not None:
                found.append((node.operands[0], inner, start))


def is_in_a_piece(
    value: Value, axis: int, start: Size, size: Size, passes: Callable[[Value], bool]
) -> bool:
    """Whether elements of a value along an axis are made of one piece of something joined."""
    return any(
        _place(lengths, first, size) is not None
        for lengths, first in joined(value, axis, start, passes)
    )


def _place(lengths: list[Size], start: Size, size: Size) -> tuple[int, Size] | None:
    """Return which piece has elements, and where they begin in it; None if no single one has."""
    for i, length in enumerate(lengths):
        if at_least(start, 0) and at_least(length - size, start):
            return i, start
        start = start - length
    return None


def _piece(node: Node, axis: int, i: int) -> Value:
    operand = node.operands[i]
    if node.op.name == "concatenate":
        return operand
    return build.reshape(operand, with_size(node.results[0], axis, 1))


def _axis_before(node: Node, axis: int) -> int | None:
    """Return which axis of its only operand an axis of a value is, None if it is none of them."""
    match node.op.name:
        case "broadcast":
            axes = node.attributes["axes"]
            return axes.index(axis) if axis in axes else None
        case "transpose":
            return int(node.attributes["permutation"][axis])
        case "reshape":
            before, after = node.operands[0].type.shape, node.results[0].type.shape
            inner = [i for i, size in enumerate(before) if size != 1]
            outer = [i for i, size in enumerate(after) if size != 1]
            same = [before[i] for i in inner] == [after[i] for i in outer]
            return inner[outer.index(axis)] if same and axis in outer else None
    return None


def _moved(node: Node, axis: int, operand: Value, size: Size) -> Value:
    """Return a rearrangement of a part of its operand, of so many elements along an axis."""
    match node.op.name:
        case "broadcast":
            shape = with_size(node.results[0], axis, size)
            return build.broadcast(operand, shape, node.attributes["axes"])
        case "transpose":
            return build.transpose(operand, node.attributes["permutation"])
        case _:
            return build.reshape(operand, with_size(node.results[0], axis, size))
