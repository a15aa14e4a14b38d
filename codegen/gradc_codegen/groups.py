"""Loops over groups of 32 elements, for the reductions that have partials.

A whole group runs as rows of eight or sixteen elements, one a partial: LLVM keeps the partials in
registers and joins a row at once, in the defined order. What a loop leaves behind its last whole
group, and every loop that is no plain row of numbers, goes element by element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gradc_codegen.accumulate import Running
from gradc_codegen.buffers import Plan
from gradc_codegen.elements import Elements
from gradc_codegen.emitter import Writer
from gradc_codegen.loops import Kind, Loop, Statement
from gradc_codegen.scalar import is_instruction
from gradc_ir import reduction
from gradc_ir.graph import Node, Value

# A body is written twice where whole groups run in rows, so only short ones are.
_LONGEST_ROW = 48
_MOST_LOOPS_IN_ROWS = 64
_PLAIN_MOVEMENT = ("broadcast", "transpose", "slice", "iota", "size", "reshape", "contract")


def write_groups(
    writer: Writer, running: Sequence[Running], end: str, body: Callable[[str], None], rows: bool
) -> None:
    """Write the loop from 0 to ``end`` in chunks and groups.

    Parameters
    ----------
    running: the reductions in the loop that have partials, all begun.
    body: writes one iteration.
    rows: whether whole groups run in rows, as :func:`runs_in_rows` says.
    """

    def chunk(start: str) -> None:
        for made in running:
            made.begin_chunk()
        stop = writer.minimum(writer.add(start, str(reduction.CHUNK)), end)
        if rows:
            rest = _whole_groups(writer, running, start, stop)
            writer.loop(start, rest, whole, reduction.GROUP)
            writer.branch_if_less(rest, stop, lambda: part(rest, stop))
        else:
            writer.loop(start, stop, lambda first: group(first, stop), reduction.GROUP, True)
        for made in running:
            made.join_chunk()

    def group(start: str, end: str) -> None:
        part(start, writer.minimum(writer.add(start, str(reduction.GROUP)), end))

    def part(start: str, stop: str) -> None:
        for made in running:
            made.begin_group()
        writer.loop(start, stop, body, 1, True)
        for made in running:
            made.join_group()

    def whole(start: str) -> None:
        width = min(made.lanes for made in running)
        for made in running:
            made.begin_group(in_rows=True)

        def row(offset: str) -> None:
            first = writer.add(start, offset)

            def element(lane: str) -> None:
                for made in running:
                    if made.lanes == width:
                        made.lane = lane
                    else:
                        half = writer.emit(f"and i64 {offset}, {made.lanes - 1}")
                        made.lane = writer.add(half, lane)
                body(writer.add(first, lane))

            writer.loop("0", str(width), element, mark=writer.module.keep_rolled())

        writer.loop("0", str(reduction.GROUP), row, width)
        for made in running:
            made.join_group()

    writer.loop("0", end, chunk, reduction.CHUNK)


def _whole_groups(writer: Writer, running: Sequence[Running], start: str, stop: str) -> str:
    """Return where the whole groups end; at their start in a loop too short to have partials."""
    length = writer.subtract(stop, start)
    if not length.startswith("%"):
        return writer.add(start, str(int(length) // reduction.GROUP * reduction.GROUP))
    whole = writer.emit(f"and i64 {length}, {-reduction.GROUP}")
    short = next((made.short for made in running if made.short), None)
    if short is not None:
        whole = writer.emit(f"select i1 {short}, i64 0, i64 {whole}")
    return writer.add(start, whole)


def runs_in_rows(loop: Loop, elements: Elements, plan: Plan) -> bool:
    """Whether whole groups of a loop run in rows: a short body without calls and branches.

    In a kernel of very many reductions none does, for the sake of compile time.
    """
    if len(plan.accumulators) > _MOST_LOOPS_IN_ROWS:
        return False
    statements = [item for item in loop.body if isinstance(item, Statement)]
    if len(statements) != len(loop.body) or len(statements) > _LONGEST_ROW:
        return False
    return all(_is_plain_statement(statement, elements) for statement in statements)


def _is_plain_statement(statement: Statement, elements: Elements) -> bool:
    if statement.kind is Kind.COPY and not _is_recomputed(statement.value, elements):
        return True
    return statement.kind is not Kind.SCATTER and _is_plain(statement.node, elements)


def _is_plain(node: Node, elements: Elements) -> bool:
    """Whether a node, with what is recomputed for it, is instructions alone."""
    stack = [node]
    while stack:
        node = stack.pop()
        op = node.op
        if op.is_elementwise:
            if not is_instruction(node):
                return False
        elif op.family != "reduce" and op.name not in _PLAIN_MOVEMENT:
            return False
        stack += [x.node for x in node.operands if _is_recomputed(x, elements)]
    return True


def _is_recomputed(value: Value, elements: Elements) -> bool:
    return value.node.op.name not in ("param", "constant") and not elements.is_stored(value)
