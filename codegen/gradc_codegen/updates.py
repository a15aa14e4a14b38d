"""Chains of updates: windows of one array replaced one after another, as ``buf[i] = v`` makes them.

A short chain is recomputed by its readers, element by element. In a long one that would ask every
element which window it is in; so the windows are written into one array, in order.
"""

from __future__ import annotations

from gradc_codegen.axes import index_maps
from gradc_ir.graph import Function, Node, Value
from gradc_ir.sizes import Size

# From this many updates on a chain is written in place.
SHORTEST_CHAIN = 6


def find_chains(function: Function) -> dict[Node, list[Node]]:
    """Return the runs of updates that are written into one array, by their last update.

    A run ends where its value is read by more than the next update, and the next one starts from a
    copy of it. Runs are parts of chains of at least ``SHORTEST_CHAIN`` updates.
    """
    updates = [node for node in function.nodes if node.op.name == "set_slice"]
    if len(updates) < SHORTEST_CHAIN:
        return {}
    uses: dict[Value, int] = {}
    for node in function.nodes:
        for operand in node.operands:
            uses[operand] = uses.get(operand, 0) + 1
    for value in function.results:
        uses[value] = uses.get(value, 0) + 1
    following: dict[Node, Node] = {}  # the update that goes on, the last one where there are more
    for node in updates:
        if node.operands[0].node.op.name == "set_slice":
            following[node.operands[0].node] = node
    runs: dict[Node, list[Node]] = {}
    seen: set[Node] = set()
    for first in updates:
        if first in seen:
            continue
        chain = [first]
        while (after := following.get(chain[-1])) is not None and after not in seen:
            chain.append(after)
        seen.update(chain)
        if len(chain) >= SHORTEST_CHAIN:
            run: list[Node] = []
            for node in chain:
                run.append(node)
                if uses[node.results[0]] > 1 or node is chain[-1]:
                    runs[node] = run
                    run = []
    return runs


def target_dims(node: Node) -> tuple[int, ...]:
    """Return for each axis of an update's result the dim of the part it is, -1 in a window."""
    _, window = index_maps(node)
    return tuple(index if isinstance(index, int) else -1 for index in window)


def target_starts(node: Node) -> list[tuple[Size, int]]:
    """Return start and step of an update's window along each axis."""
    return list(zip(node.attributes["starts"], node.attributes["steps"]))
