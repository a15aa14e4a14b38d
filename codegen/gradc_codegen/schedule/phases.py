"""Phases of one label: which of several loops over it each statement belongs to.

A statement that has the label runs in the loop of its phase; one that lacks it runs in the slot
before the loop of that number. A barrier puts its reader into a later phase than its producer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gradc_codegen.nest.loop_nest import Statement, StatementKind
from gradc_codegen.schedule.barriers import is_aligned, is_barrier
from gradc_codegen.schedule.cost import kept_volume
from gradc_ir.core.graph import Node

_UNBOUNDED = 1 << 60


def earliest(statement: Statement, scope: int) -> int:
    """Return the earliest phase a statement can have, given those of what comes before it."""
    phase = 0
    for producer, reading, _ in statement.inputs:
        if producer.scope == scope:
            first = producer.phase
            if producer.choice >= 0 and is_barrier(producer, statement, reading):
                first += 1
            if first > phase:
                phase = first
    for reader in statement.after:
        if reader.scope == scope:
            phase = max(phase, reader.phase + (reader.choice >= 0))
    return phase


def assign_earliest(statements: Sequence[Statement], scope: int) -> None:
    """Give each statement the earliest phase its producers allow, all elements of a row one.

    These are written side by side where they are computed together: what needs little waits.
    """
    for statement in statements:
        statement.phase = earliest(statement, scope)
    for row in _rows(statements):
        last = max(statement.phase for statement in row)
        for statement in row:
            statement.phase = last


def _rows(statements: Sequence[Statement]) -> list[list[Statement]]:
    """Return the pieces of stacks that nothing in here reads, those that can share a loop."""
    found: dict[tuple[Node, int, tuple[int, ...]], list[Statement]] = {}
    for statement in statements:
        if statement.kind is StatementKind.PIECE and statement.node.op.name == "stack":
            left = tuple([statement.labels[dim] for dim in statement.remaining])
            key = statement.node, label_of(statement), left
            found.setdefault(key, []).append(statement)
    if not found:
        return []
    read = {producer for statement in statements for producer, _, _ in statement.inputs}
    read |= {reader for statement in statements for reader in statement.after}
    return [row for row in found.values() if read.isdisjoint(row)]


def assign_latest(statements: Sequence[Statement], scope: int) -> None:
    """Give each statement the latest phase its readers allow; those have the earliest."""
    _move(statements, scope, lambda statement: True)


def assign_sunk(statements: Sequence[Statement], scope: int) -> None:
    """Give each statement the latest phase its readers allow where less is kept for it then."""
    readers: dict[Statement, list[Statement]] = {}
    for statement in statements:
        for producer, _, _ in statement.inputs:
            if producer.scope == scope:
                readers.setdefault(producer, []).append(statement)

    def is_kept(statement: Statement, phase: int) -> bool:
        return any(
            reader.choice < 0 or reader.phase != phase for reader in readers.get(statement, ())
        )

    def keeps_less(statement: Statement) -> bool:
        if statement.choice < 0 or is_kept(statement, statement.latest):
            return False
        producers = {
            producer
            for producer, _, _ in statement.inputs
            if producer.scope == scope and producer.choice >= 0
        }
        more = sum(kept_volume(p) for p in producers if not is_kept(p, p.phase))
        return kept_volume(statement) > more

    _move(statements, scope, keeps_less)


def _move(statements: Sequence[Statement], scope: int, wanted: Callable[[Statement], bool]) -> None:
    """Move statements from the earliest phase to the latest their readers allow, where wanted.

    What nobody in here reads stays where it is.
    """
    assign_earliest(statements, scope)
    for statement in statements:
        statement.latest = _UNBOUNDED
    for statement in reversed(statements):
        if statement.phase < statement.latest < _UNBOUNDED and wanted(statement):
            statement.phase = statement.latest
        for producer, reading, _ in statement.inputs:
            if producer.scope == scope:
                last = statement.phase - is_barrier(producer, statement, reading)
                producer.latest = min(producer.latest, last)
        for reader in statement.after:
            if reader.scope == scope:
                last = statement.phase - (reader.choice >= 0)
                reader.latest = min(reader.latest, last)


def count(statements: Sequence[Statement]) -> int:
    """Return how many loops there are; what lacks the label may come behind the last one."""
    return max(statement.phase + (statement.choice >= 0) for statement in statements)


def groups(statements: Sequence[Statement], scope: int) -> list[list[Statement]]:
    """Return statements that can share a loop, in an order that can be run.

    Each has chosen a dim, of whatever label; those that have none left form groups too.
    """
    found: dict[tuple[int, int], list[Statement]] = {}
    for statement in statements:
        label = label_of(statement)
        phase = 0
        for producer, reading, _ in statement.inputs:
            if producer.scope == scope:
                same = label_of(producer) == label and (
                    label < 0 or is_aligned(producer, statement, reading)
                )
                phase = max(phase, producer.phase + (not same))
        for reader in statement.after:
            if reader.scope == scope:
                phase = max(phase, reader.phase + 1)
        statement.phase = phase
        found.setdefault((phase, label), []).append(statement)
    return [group for _, group in sorted(found.items(), key=lambda pair: pair[0])]


def label_of(statement: Statement) -> int:
    """Return the label of the dim a statement has chosen, less than 0 if it has none."""
    return statement.labels[statement.choice] if statement.choice >= 0 else -1
