"""Runs of updates: windows of one array replaced one after another, as ``buf[i] = v`` makes them.

A short run is recomputed by its readers, element by element. In a long one that would ask every
element which window it is in; so the windows are written into one array, in order.
"""

from __future__ import annotations

from collections.abc import Callable

from gradc_codegen.nest.index_maps import index_maps
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.sizes import Size

# From this many updates on a run is written into one array.
SHORTEST_RUN = 5


def find_runs(function: Function, overwritten: Callable[[Value], bool]) -> dict[Node, list[Node]]:
    """Return the long runs of updates, by their last one.

    In a run each value but the last is read by the next update and by nothing else. What overwrites
    a value, or reads one that is overwritten, is in none.
    """
    updates = [
        node
        for node in function.nodes
        if node.op.name == "set_slice" and not any(map(overwritten, node.operands))
    ]
    if len(updates) < SHORTEST_RUN:
        return {}
    uses: dict[Value, int] = {}
    for node in function.nodes:
        for operand in node.operands:
            uses[operand] = uses.get(operand, 0) + 1
    for value in function.results:
        uses[value] = uses.get(value, 0) + 1
    runs: dict[Node, list[Node]] = {}
    for node in updates:
        base = node.operands[0]
        # a run goes on: its list moves to the update that is the last one now
        run = runs.pop(base.node) if base.node in runs and uses[base] == 1 else []
        run.append(node)
        runs[node] = run
    return {last: run for last, run in runs.items() if len(run) >= SHORTEST_RUN}


def target_dims(node: Node) -> tuple[int, ...]:
    """Return for each axis of an update's result the dim of the part it is, -1 in a window."""
    _, window = index_maps(node)
    return tuple(index if isinstance(index, int) else -1 for index in window)


def target_window(node: Node) -> list[tuple[Size, int]]:
    """Return start and step of an update's window along each axis."""
    return list(zip(node.attributes["starts"], node.attributes["steps"]))
