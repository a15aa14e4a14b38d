"""Values that live in the memory of an output until that is written.

An output that is wanted is memory the caller has: what is kept until then, and is as long, takes no
scratch of its own, and its cache lines are those the output needs anyway.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from gradc_codegen.nest.loop_nest import LoopNest, Reading, Statement, StatementKind
from gradc_codegen.storage.storage import Storage
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import Size


def lodge(nest: LoopNest, storage: Mapping[Value, Storage]) -> None:
    """Let values live in outputs, one in each, where the output is wanted.

    The last reader of the value is done before anything is written to the output, or it is what
    writes the output, each element where it has just read the value's.
    """
    if nest.is_body:  # where its results are may be memory that it reads
        return
    writers = _writers(nest)
    if not writers:
        return
    readers = _readers(nest)
    for value, here in storage.items():
        if here.buffer is None or here.output >= 0 or value in nest.shares:
            continue
        if any(loop.is_divided for loop in here.path):  # each task has one of its own
            continue
        same_size = writers.get(here.buffer.bytes, {})
        for output, writer in same_size.items():
            result = nest.function.results[output]
            first = storage[result].first if result in storage else writer.position
            if here.last < first or (
                _reads_where_it_writes(writer, value, readers.get(value, []))
                and here.last == first
                and here.first < first
                and not here.path
            ):
                here.output = output
                del same_size[output]
                break


def _writers(nest: LoopNest) -> dict[Size, dict[int, Statement]]:
    """Return the statements that write an array of the caller's, by its bytes and its number."""
    found: dict[Size, dict[int, Statement]] = {}
    results = nest.function.results
    times = Counter(results)
    for statement in nest.statements:
        for output in statement.outputs:
            result = results[output]
            if result.type.shape and times[result] == 1 and result not in nest.shares:
                bytes_ = result.type.count * result.type.dtype.bytes
                found.setdefault(bytes_, {})[output] = statement
    return found


def _readers(nest: LoopNest) -> dict[Value, list[list[tuple[Statement, Reading]]]]:
    """Return of each value the readers of each statement that makes it, and all else it makes."""
    of_makers: dict[Statement, list[tuple[Statement, Reading]]] = {}
    for statement in nest.statements:
        for producer, reading, _ in statement.inputs:
            of_makers.setdefault(producer, []).append((statement, reading))
    found: dict[Value, list[list[tuple[Statement, Reading]]]] = {}
    for maker, readers in of_makers.items():
        for value in maker.values:
            found.setdefault(value, []).append(readers)
    return found


def _reads_where_it_writes(
    writer: Statement, value: Value, readers: list[list[tuple[Statement, Reading]]]
) -> bool:
    """Whether a statement alone reads a value at its time, and that at the index it writes."""
    if (
        writer.kind not in (StatementKind.MAP, StatementKind.COPY)
        or value.type != writer.value.type
    ):
        return False
    return all(
        statement is writer and reading == writer.axis_dims
        for some in readers
        for statement, reading in some
        if statement.position == writer.position
    )
