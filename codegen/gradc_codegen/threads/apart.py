"""Whether iterations may run in any order, and at once: none writes what another reads or writes.

An array that is overwritten in place may be, where all that reads or writes it in the loop does so
at the loop's own index along one and the same axis.
"""

from __future__ import annotations

from gradc_codegen.arrays.whole_array_ops import WHOLE
from gradc_codegen.nest.loop_nest import (
    Items,
    Loop,
    LoopNest,
    Reading,
    Statement,
    StatementKind,
    statements_of,
)
from gradc_codegen.nest.rare_sums import RARE_SUM
from gradc_codegen.nest.strips import STRIPS, rows_of_task
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import Size

# writes at its own index along an axis that is one of its dims
_AT_INDEX = (StatementKind.MAP, StatementKind.BASE, StatementKind.SCATTER)


def items_of(statement: Statement) -> tuple[Items | None, str]:
    """Return what an op on whole arrays does many of, each by itself; or why there is no such."""
    node = statement.node
    if node.op.name in WHOLE:
        op = WHOLE[node.op.name]
        count = op.items(node)
        if count is None or (isinstance(count, int) and count < 2):
            return None, "an op on whole arrays"
        return Items(count, statement, op.unit(node)), ""
    if node.op.name in ("while", "scan"):
        given = node.attributes
        length: Size | None = given["length"]
        if node.op.name == "while" or given["carries"] or length is None:
            return None, "a step begins where the one before it ends"
        return Items(length, statement), ""
    if node.op is STRIPS:
        unit = rows_of_task(node)
        if not unit:
            return None, "what one strip makes is where the next one begins"
        return Items(node.attributes["size"], statement, unit), ""
    return None, "a branch, of which one side runs"


def why_not_apart(nest: LoopNest, loop: Loop) -> str:
    """Return why a loop cannot be divided, nothing if it can."""
    if isinstance(loop, Items):
        return ""
    touched = _touched(nest, loop)
    for statement in statements_of(loop.body):
        name = statement.node.op.name
        if statement.kind is StatementKind.REDUCE:
            if statement in loop.reductions and statement.node.op is RARE_SUM:
                return "its sums are needed in rare cases only"
            continue
        if statement.kind is StatementKind.PIECE and statement.node.op.joins:
            continue  # each operand has a place of its own
        axis = _axis(statement, loop)
        if axis is None:
            is_scatter = statement.kind is StatementKind.SCATTER
            how = "writes at indices that are read, in order"
            return f"{name} {how if is_scatter else 'goes through it in order'}"
        if statement.kind is StatementKind.COPY:
            continue
        at_index = statement.kind in _AT_INDEX
        for other, reading in touched[nest.shares.get(statement.value, statement.value)]:
            is_itself = other is statement and reading is None
            if not is_itself and not (at_index and _is_at_index(other, loop, reading, axis)):
                return f"{name} overwrites what {other.node.op.name} reads or writes elsewhere"
    return ""


def _axis(statement: Statement, loop: Loop) -> int | None:
    """Return along which axis of what it writes a statement goes with a loop; None for no axis."""
    dim = _dim(statement, loop)
    if statement.kind is StatementKind.PIECE:
        return dim  # it writes a window, whose axes are its dims
    return statement.axis_dims.index(dim) if dim in statement.axis_dims else None


def _dim(statement: Statement, loop: Loop) -> int:
    return next(dim for around, dim in statement.loops if around is loop)


def _touched(nest: LoopNest, loop: Loop) -> dict[Value, list[tuple[Statement, Reading | None]]]:
    """Return what statements of a loop write, without a reading, and what they read, and where.

    It is by the last of the versions that are in one place.
    """
    found: dict[Value, list[tuple[Statement, Reading | None]]] = {}

    def add(statement: Statement, value: Value, reading: Reading | None) -> None:
        found.setdefault(nest.shares.get(value, value), []).append((statement, reading))

    for statement in statements_of(loop.body):
        if statement.kind is not StatementKind.COPY:
            add(statement, statement.value, None)
        for _, reading, value in statement.inputs:
            add(statement, value, reading)
        for value, reading in statement.sources:
            add(statement, value, reading)
    return found


def _is_at_index(statement: Statement, loop: Loop, reading: Reading | None, axis: int) -> bool:
    """Whether a statement reads, or writes, at the index of a loop along an axis."""
    if reading is None:
        return statement.kind in _AT_INDEX and _axis(statement, loop) == axis
    return reading[axis : axis + 1] == (_dim(statement, loop),)
