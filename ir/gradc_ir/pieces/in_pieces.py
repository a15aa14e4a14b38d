"""The pass that reads what is joined by its pieces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gradc_ir import build
from gradc_ir.core.builder import rebuilt
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.sizes import Size, at_least
from gradc_ir.core.walk import changed_bodies, users
from gradc_ir.pieces.carries import carries_in_pieces, carries_pieces
from gradc_ir.pieces.parts import is_in_a_piece, part
from gradc_ir.pipeline import PlainPass


class InPieces(PlainPass):
    """Changes no bit of any result: elements are moved less, and computed as before.

    A slice of joined arrays that is of one of them is a slice of that. So is one of what is
    computed of joined arrays element by element, if slices are all that reads it. A carry of a loop
    that a step joins of pieces, and reads by these pieces alone, is a carry for each of them.
    """

    name = "in-pieces"
    summary = "read what is joined by its pieces, and hand these from step to step"

    def __call__(self, function: Function) -> Function:
        """Return the function with joined arrays read by pieces."""
        bodies = changed_bodies(function, self)
        if bodies:
            function = rebuilt(
                function,
                lambda node: node in bodies,
                lambda node, operands: (
                    build.active().apply(node.op, tuple(operands), bodies[node]).results
                ),
            )
        function = _read_by_pieces(function)
        loops = {node for node in function.nodes if node.op.name == "scan" and carries_pieces(node)}
        return rebuilt(function, loops.__contains__, carries_in_pieces) if loops else function


def _read_by_pieces(function: Function) -> Function:
    slices = [node for node in function.nodes if _is_window(node)]
    if not slices:
        return function
    apart = _read_apart(function)
    found = {node for node in slices if _is_of_a_piece(node, apart)}
    if not found:
        return function
    return rebuilt(function, lambda node: node in found, _taken)


def _is_window(node: Node) -> bool:
    return (
        node.op.name == "slice"
        and not node.operands[0].op.is_leaf
        and all(step == 1 for step in node.attributes["steps"])
    )


def _windows(node: Node) -> list[tuple[int, Size, Size]]:
    """Return the axes that a slice takes parts of, with their starts and sizes."""
    starts, value = node.attributes["starts"], node.results[0]
    whole = node.operands[0].type.shape
    return [
        (axis, start, size)
        for axis, (start, size) in enumerate(zip(starts, value.type.shape))
        if size != whole[axis]
    ]


def _is_of_a_piece(node: Node, apart: set[Value]) -> bool:
    return any(
        is_in_a_piece(node.operands[0], axis, start, size, apart.__contains__)
        for axis, start, size in _windows(node)
    )


def _taken(node: Node, operands: list[Value]) -> Sequence[Value]:
    (value,) = operands
    for axis, start, size in _windows(node):
        value = part(value, axis, start, size)
    return [value]


def _read_apart(function: Function) -> set[Value]:
    """Return what may as well be computed by parts: slices read it, and no element twice."""
    readers: Mapping[Value, Sequence[Node]] = users(function)
    results = set(function.results)
    apart: set[Value] = set()
    for node in reversed(function.nodes):
        if not node.op.is_elementwise or node.results[0] in results:
            continue
        value = node.results[0]
        read: Size = 0
        for reader in readers[value]:
            if _is_window(reader):
                read = read + reader.results[0].type.count
            elif reader.op.is_elementwise and reader.results[0] in apart:
                read = read + value.type.count
            else:
                break
        else:
            if at_least(value.type.count, read):
                apart.add(value)
    return apart
