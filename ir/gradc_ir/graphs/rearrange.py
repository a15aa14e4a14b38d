"""Rearrangements: ops of one operand whose result elements are each one of its elements.

They commute with every elementwise op as bits, so patterns look through them and constants stay
constants.
"""

from __future__ import annotations

from gradc_ir import build
from gradc_ir.core.graph import Node, Value
from gradc_ir.core.op import TABLE

REARRANGEMENTS = frozenset({"broadcast", "reshape", "transpose", "slice"})
# What patterns look through: ``sloped`` is its first operand, but for its derivative.
SEEN_THROUGH = REARRANGEMENTS | {"sloped"}


def peel(value: Value) -> tuple[Value, list[Node]]:
    """Return what a value is a rearrangement of, and the nodes that do it, the outermost first.

    What has slopes of its own is seen without them.
    """
    moves: list[Node] = []
    while value.node.op.name in SEEN_THROUGH:
        if value.node.op.name in REARRANGEMENTS:
            moves.append(value.node)
        value = value.node.operands[0]
    return value, moves


def rearrange(value: Value, moves: list[Node]) -> Value:
    """Return a value rearranged by the nodes that :func:`peel` found, in the active builder."""
    for node in reversed(moves):
        value = apply(node, value)
    return value


def apply(node: Node, value: Value) -> Value:
    """Return a value rearranged as a node does it; nodes that change nothing are left out."""
    attributes = node.attributes
    match node.op.name:
        case "broadcast":
            return build.broadcast(value, attributes["shape"], attributes["axes"])
        case "reshape":
            return build.reshape(value, attributes["shape"])
        case "transpose":
            return build.transpose(value, attributes["permutation"])
        case _:
            made = build.active().apply(TABLE[node.op.name], (value,), attributes)
            return made.results[0]


def scalar_constant(value: Value) -> int | float | bool | None:
    """Return the Python number of a scalar constant, spread or not; None for any other value."""
    node = value.node
    while node.op.name in REARRANGEMENTS:
        node = node.operands[0].node
    if node.op.name != "constant":
        return None
    array = node.attributes["value"].array
    found: int | float | bool | None = array.item() if array.ndim == 0 else None
    return found
