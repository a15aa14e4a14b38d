"""Sums of a length that only the running program knows: code for short ones, and for long ones.

What is no longer than a group is joined from left to right, anything else by groups. To ask that at
each element takes more time than to join it. So the innermost loops are written twice, each for
what it then knows; and loops around them, where short sums may run side by side.
"""

from __future__ import annotations

from gradc_codegen.lower.loops.register_tiles import inner_of
from gradc_codegen.lower.lowering import Lowering
from gradc_codegen.lower.reducing.cells import Cell
from gradc_codegen.lower.reducing.running import short_of
from gradc_codegen.nest.loop_nest import Loop, Statement
from gradc_codegen.nest.rare_sums import RARE_SUM
from gradc_codegen.schedule.cost import joins_in_groups
from gradc_codegen.storage.storage import Plan
from gradc_ir.core.sizes import Size

# A longer body is written once.
_MOST_STATEMENTS = 12


def undecided(lowering: Lowering, loop: Loop, plan: Plan) -> Size | None:
    """Return the size that a loop had better know to be short or long, None if there is none."""
    if loop.block > 1 or lowering.writer.module.machine.is_small:
        return None
    if _is_undecided(lowering, loop) and _is_innermost(loop):
        return loop.size
    if lowering.writer.lanes > 1:
        inner = inner_of(loop, plan, lambda statement: False)
        if inner is not None and _is_undecided(lowering, inner):
            return inner.size
    return None


def _is_undecided(lowering: Lowering, loop: Loop) -> bool:
    return (
        not isinstance(loop.size, int)
        and loop.size not in lowering.elements.decided
        and any(map(joins_in_groups, loop.reductions))
        and all(statement.node.op is not RARE_SUM for statement in loop.reductions)
    )


def _is_innermost(loop: Loop) -> bool:
    return len(loop.body) <= _MOST_STATEMENTS and all(
        isinstance(item, Statement) for item in loop.body
    )


def write_both(lowering: Lowering, loop: Loop, size: Size) -> None:
    """Write a loop for a size that is short and for one that is not."""
    writer, elements = lowering.writer, lowering.elements
    elements.horizontal.flush()
    kept: dict[Statement, Cell] = {}

    def way(is_short: bool) -> None:
        elements.decided[size] = is_short
        running = lowering.begin(loop)
        lowering.turns(loop, running)
        elements.horizontal.flush()
        for made in running:
            lowering.running.pop(made.statement, None)
            total = made.end()
            if total is not None:
                if made.statement not in kept:
                    kept[made.statement] = made.cells.another()
                made.cells.store(kept[made.statement], total)
        del elements.decided[size]

    writer.either(short_of(writer, size), lambda: way(True), lambda: way(False))
    for statement, cell in kept.items():
        vector = cell.type.startswith("<")
        lowering.finished(statement, writer.write(vector, f"load {cell.type}, ptr {cell.pointer}"))
        writer.stack.release(cell.pointer)
