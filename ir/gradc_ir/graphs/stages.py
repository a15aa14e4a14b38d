"""When values of a graph are there: behind which reductions, loops, joints and steps they are."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Sequence

from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.graphs.rearrange import REARRANGEMENTS

# Their results are there at another time, but no sums.
_BARRIERS = frozenset({"scan", "while", "concatenate", "stack"})


def summed(function: Function) -> set[Value]:
    """Return what is behind a reduction."""
    found: set[Value] = set()
    for node in function.nodes:
        name = node.op.name
        is_plain = node.op.is_elementwise or name in REARRANGEMENTS or name in _BARRIERS
        if node.operands and not (is_plain and found.isdisjoint(node.operands)):
            found.update(node.results)
    return found


def readers(function: Function, among: Sequence[Value], computed: set[Value]) -> set[Node]:
    """Return which nodes that no formula computes read some of the values."""
    read = frozenset(among)
    return {
        node
        for node in function.nodes
        if not read.isdisjoint(node.operands) and computed.isdisjoint(node.results)
    }


def levels(
    function: Function,
    among: Sequence[Value],
    late: Container[Node],
    apart: Callable[[Value], Hashable],
) -> tuple[dict[Value, int], list[list[Value]]]:
    """Return behind how many late nodes some values are, and which of them go together.

    These are of a type, and behind as many loops and joints as well.
    """
    chosen = frozenset(among)
    level: dict[Value, tuple[int, int]] = {}
    together: dict[Hashable, list[Value]] = {}
    stage_of: dict[Value, int] = {}
    for node in function.nodes:
        stage = waits = 0
        for operand in node.operands:
            late_nodes, joints = level[operand]
            stage = late_nodes if late_nodes > stage else stage
            waits = joints if joints > waits else waits
        if not (node.op.is_elementwise or node.op.name in REARRANGEMENTS):
            waits += bool(node.operands)
        for value in node.results:
            if value in chosen:
                together.setdefault((stage, waits, value.type, apart(value)), []).append(value)
                stage_of[value] = stage
        here = (stage + (node in late), waits)
        for value in node.results:
            level[value] = here
    return stage_of, list(together.values())


def lengths(function: Function, steps: Container[Value]) -> dict[Value, int]:
    """Return how many steps at least follow each other on the way to a value."""
    found: dict[Value, int] = {}
    for node in function.nodes:
        for value in node.results:
            length = 0
            if value in steps:
                length = max([found[x] for x in node.operands], default=0) + 1
            found[value] = length
    return found
