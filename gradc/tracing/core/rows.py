"""Rows of an array as arrays of their own, each computed when it is first used.

A loop that is recorded has the rows of what its steps made in one array. A list of them costs
little until its elements are used one by one, and stacking it again costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradc.tracing.captured.top import state
from gradc.tracing.core.state import Trace
from gradc.tracing.core.tracer import Tracer, read
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import Size


class RowOf:
    """Where a row comes from: the array, and its position in it."""

    __slots__ = ("position", "stack")

    def __init__(self, stack: Tracer, position: int) -> None:
        self.stack = stack
        self.position = position

    def read(self, tracer: Tracer, trace: Trace) -> Value:
        """Compute the row, in the trace of the array; return it in this trace."""
        owner = self.stack._trace
        before, state.top = state.top, owner
        try:
            with owner.builder:
                tracer._value = window(read(self.stack), self.position, 1, keeps=False)
        finally:
            state.top = before
        return trace.lift(tracer._value, owner)


def window(value: Value, first: int, count: Size, *, step: int = 1, keeps: bool = True) -> Value:
    """Return some rows of a value; without ``keeps`` the axis of one row is dropped."""
    shape = value.type.shape
    rest = len(shape) - 1
    found = build.slice(value, (first, *[0] * rest), (count, *shape[1:]), (step, *[1] * rest))
    return found if keeps else build.reshape(found, shape[1:])


def rows_of(stack: Tracer, count: int, weak: type | None, scalar: bool) -> list[Tracer]:
    """Return the first rows of an array, of Python's numbers where a type of these is given."""
    type_ = stack.type.with_shape(stack.type.shape[1:])
    trace = stack._trace
    found = []
    for position in range(count):
        row = Tracer(trace, type_)
        row._origin = RowOf(stack, position)
        row._weak = weak
        row.scalar = scalar and not type_.shape
        found.append(row)
    return found


def is_row(part: Any) -> bool:
    """Whether something is a row as it was made."""
    return (
        type(part) is Tracer
        and type(part._origin) is RowOf
        and part._version == 0
        and part._parent is None
        and part._origin.stack._version == 0
    )


def run_at(parts: Sequence[Any], start: int, step: int = 1) -> int:
    """Return how many parts, from a position on, are rows at equal distances in one array."""
    first = parts[start]
    if not is_row(first):
        return 0
    origin: RowOf = first._origin
    count = 1
    while start + count < len(parts):
        part = parts[start + count]
        if not is_row(part) or part._origin.stack is not origin.stack:
            break
        if part._origin.position != origin.position + count * step:
            break
        count += 1
    return count


def whole(part: Any) -> Any:
    """Return the array of which a list or tuple holds all rows in order; other parts as they are.

    The rows may be lists of rows themselves.
    """
    if type(part) not in (list, tuple) or not part or type(part[0]) not in (Tracer, list, tuple):
        return part
    first = whole(part[0])
    if not is_row(first) or first._origin.position:
        return part
    stack: Tracer = first._origin.stack
    if stack.type.shape[0] != len(part):
        return part
    return stack if run_at([whole(each) for each in part], 0) == len(part) else part


def _step_at(parts: Sequence[Any], start: int) -> int:
    """Return how far from a row the next one is in its array; 1 where there is none."""
    pair = parts[start : start + 2]
    if len(pair) < 2 or not all(map(is_row, pair)):
        return 1
    return pair[1]._origin.position - pair[0]._origin.position or 1


def rows_together(parts: Sequence[Any]) -> list[Any]:
    """Return parts with rows at equal distances in an array as values of several rows."""
    parts = [whole(part) for part in parts]
    found: list[Any] = []
    position = 0
    while position < len(parts):
        step = _step_at(parts, position)
        count = run_at(parts, position, step)
        if count > 1 and abs(step) > 1 and count < _FEW:
            # two rows are at some distance always
            step, count = 1, 1
        if count > 1:
            origin: RowOf = parts[position]._origin
            found.append(window(read(origin.stack), origin.position, count, step=step))
        else:
            found.append(parts[position])
        position += max(count, 1)
    return found


_FEW = 4
