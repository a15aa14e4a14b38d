"""Edges of one label: whether a reader can be in one loop with what it reads.

Every statement that has the label chooses the dim that is its loop. An edge is *aligned* when the
reader reads the producer at its own index of that loop, which the loop has just computed. Any other
index (shifted by a constant, reversed, looked up) may be one the loop has not come to, and a
reduction over the loop is finished behind it: such an edge is a *barrier*. So is that from a sum of
rows, whose lanes run along a row, to a function, whose lanes run over rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from gradc_codegen.nest.loop_nest import Reading, Statement
from gradc_codegen.scalar.lower_scalar import is_function

# Choices that are no dim: of a statement that lacks the label, …
NONE = -1
# … and of one that has it but is not in a loop over it.
APART = -2

# From a statement and its dims of the label to one of them, or APART.
Pick: TypeAlias = Callable[[Statement, Sequence[int]], int]


def choose(statements: Iterable[Statement], label: int, pick: Pick) -> None:
    """Choose for each statement which of its dims is the loop over a label, less than 0 if none."""
    for statement in statements:
        labels = statement.labels
        found = [dim for dim in statement.remaining if labels[dim] == label]
        statement.choice = pick(statement, found) if found else NONE


def is_aligned(producer: Statement, reader: Statement, reading: Reading) -> bool:
    """Whether a reader reads a producer at its own index of the loop both have chosen."""
    axis = producer.dim_axis[producer.choice]
    return axis >= 0 and reading[axis] == reader.choice


def is_barrier(producer: Statement, reader: Statement, reading: Reading) -> bool:
    """Whether a reader has to be behind the loop its producer is in."""
    if producer.choice < 0:
        return False
    if producer.sums_rows and is_function(reader.node):
        return True
    return reader.choice < 0 or not is_aligned(producer, reader, reading)


def aligned_producers(statement: Statement, dim: int, scope: int) -> int:
    """Return how many producers a statement would be aligned with if it chose a dim."""
    count = 0
    for producer, reading, _ in statement.inputs:
        if producer.scope == scope and producer.choice >= 0:
            axis = producer.dim_axis[producer.choice]
            count += axis >= 0 and reading[axis] == dim
    return count
