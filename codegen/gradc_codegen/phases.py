"""Phases of one label: which of several loops over it each statement belongs to.

A statement that has the label runs in the loop of its phase; one that lacks it runs in the slot
before the loop of that number. An edge is *aligned* when the reader reads the producer at its own
index of the label: both may share a loop. Any other edge, a finished reduction too, is a
*barrier*.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gradc_codegen.loops import Kind, Reading, Statement
from gradc_ir import reduction
from gradc_ir.types import DType

_UNBOUNDED = 1 << 60
# Reading along the last axis in the outer loop touches a cache line for each element.
_STRIDED = 4.0
# What an outer loop joins to at each turn must stay near the processor: this many bytes of it.
_LARGEST_STATE = 1 << 17
# the choice of a statement that has the label but is not in a loop over it
_APART = -2
_JOINED_IN_ORDER = ("reduce_sum", "reduce_prod", "contract")


def joins_in_groups(statement: Statement) -> bool:
    """Whether a reduction has partials: the defined order of a float sum or product over 32."""
    size = statement.dims[statement.sequential]
    return (
        statement.kind is Kind.REDUCE
        and statement.node.op.name in _JOINED_IN_ORDER
        and statement.value.type.dtype in (DType.F64, DType.F32)
        and not (isinstance(size, int) and size <= reduction.GROUP)
    )


def is_aligned(producer: Statement, reader: Statement, reading: Reading) -> bool:
    """Whether a reader reads a producer at its own index of the label both have chosen."""
    axis = producer.dim_axis[producer.choice]
    return axis >= 0 and reading[axis] == reader.choice


def choose(statements: Iterable[Statement], label: int, scope: int, follow: bool) -> bool:
    """Choose for each statement which of its dims is the loop over a label, less than 0 if none.

    ``follow`` takes the dim aligned with most producers, reduced ones included; otherwise the first
    dim of the result counts. Returns whether some statement had a choice.
    """
    free = False
    for statement in statements:
        labels = statement.labels
        found = [dim for dim in statement.remaining if labels[dim] == label]
        if not found:
            statement.choice = -1
            continue
        statement.choice = found[0]
        if statement.sequential == found[0] and _is_better_apart(statement, scope):
            statement.choice = _APART
            continue
        if len(found) > 1:
            free = True
            if follow:
                statement.choice = max(
                    found, key=lambda dim: (_followed(statement, dim, scope), -dim)
                )
    return free


def _is_better_apart(statement: Statement, scope: int) -> bool:
    """Whether a reduction would go through too large a state at every turn of its own loop.

    It then gets loops of its own, of another order: of its result's axes one is outside. What is
    made in these loops would have to be kept for them, so a reader of such values stays.
    """
    if statement.kind is not Kind.REDUCE or len(statement.remaining) < 3:
        return False
    if any(producer.scope == scope and producer.choice >= 0 for producer, _ in statement.inputs):
        return False
    state = _kept_volume(statement) * statement.value.type.dtype.bytes
    if joins_in_groups(statement):
        state *= reduction.lanes(statement.value.type.dtype.numpy)
    return state > _LARGEST_STATE


def _followed(statement: Statement, dim: int, scope: int) -> int:
    count = 0
    for producer, reading in statement.inputs:
        if producer.scope == scope and producer.choice >= 0:
            axis = producer.dim_axis[producer.choice]
            count += axis >= 0 and reading[axis] == dim
    return count


def assign_earliest(statements: Sequence[Statement], scope: int) -> int:
    """Give each statement the earliest phase its producers allow; returns the number of phases."""
    count = 0
    for statement in statements:
        phase = 0
        choice = statement.choice
        for producer, reading in statement.inputs:
            if producer.scope != scope:
                continue
            first = producer.phase
            if producer.choice >= 0:
                if choice < 0:
                    first += 1
                else:
                    axis = producer.dim_axis[producer.choice]
                    if axis < 0 or reading[axis] != choice:
                        first += 1
            if first > phase:
                phase = first
        for reader in statement.after:
            if reader.scope == scope:
                phase = max(phase, reader.phase + (reader.choice >= 0))
        statement.phase = phase
        if choice >= 0 and phase >= count:
            count = phase + 1
    return count


def assign_latest(statements: Sequence[Statement], scope: int) -> None:
    """Move each statement that has earliest phases to the latest phase its readers allow.

    What nobody in here reads stays where it is.
    """
    for statement in statements:
        statement.latest = _UNBOUNDED
    for statement in reversed(statements):
        if statement.latest == _UNBOUNDED:
            statement.latest = statement.phase
        for producer, reading in statement.inputs:
            if producer.scope != scope:
                continue
            last = statement.latest
            if producer.choice >= 0 and (
                statement.choice < 0 or not is_aligned(producer, statement, reading)
            ):
                last -= 1
            producer.latest = min(producer.latest, last)
        for reader in statement.after:
            if reader.scope == scope:
                last = statement.latest - (reader.choice >= 0)
                reader.latest = min(reader.latest, last)
    for statement in statements:
        statement.phase = statement.latest


def traffic(statements: Sequence[Statement], scope: int) -> float:
    """Return an estimate of the elements moved: sources read in each phase, values kept across."""
    total = 0.0
    kept: set[int] = set()
    read: set[tuple[int, int]] = set()
    for statement in statements:
        choice = statement.choice
        for producer, _ in statement.inputs:
            if producer.scope == scope and producer.choice >= 0 and producer.number not in kept:
                if choice >= 0 and producer.phase == statement.phase:
                    continue
                kept.add(producer.number)
                total += 2 * _kept_volume(producer)
        if choice == _APART:
            total += 2 * _kept_volume(statement)
            total += sum(_read_volume(statement, reading) for _, reading in statement.sources)
        if choice < 0:
            continue
        for value, reading in statement.sources:
            key = (id(value), statement.phase)
            if key not in read:
                read.add(key)
                total += _read_volume(statement, reading)
        if statement.sequential == choice and statement.kind is Kind.REDUCE:
            inner = _kept_volume(statement)
            if inner > 1:
                total += 2 * inner
    return total


def _kept_volume(statement: Statement) -> float:
    volume = 1.0
    for dim in statement.remaining:
        if statement.dim_axis[dim] >= 0:
            volume *= statement.volumes[dim]
    return volume


def _read_volume(statement: Statement, reading: Reading) -> float:
    volume = 1.0
    others = False
    remaining = statement.remaining
    for dim in reading:
        if dim in remaining:
            volume *= statement.volumes[dim]
            others = others or dim != statement.choice
    if reading and reading[-1] == statement.choice and others:
        volume *= _STRIDED
    return volume
