"""Which loops are divided into tasks, for several threads, and why others are not.

A loop outside of all others is divided where its iterations write what no other one reads or
writes, or join sums, whose chunks may be made in any order. What takes too little time for that is
left as it is: nothing of such a kernel changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gradc_codegen.nest.loop_nest import (
    Item,
    Loop,
    LoopNest,
    Part,
    Statement,
    StatementKind,
    Tasks,
    loops_of,
    statements_of,
)
from gradc_codegen.nest.rare_sums import RARE_SUM
from gradc_codegen.scalar.lower_scalar import is_function
from gradc_codegen.schedule.formulas import operations_of
from gradc_codegen.threads.pool import LEAST_WORK
from gradc_ir.core.sizes import Size, product

# how many cheap operations a function such as exp is
_FUNCTION = 16


class Division(NamedTuple):
    """What becomes of a loop outside of all others, or of an op on whole arrays.

    ``tasks``: how it is divided; ``why`` it is not.
    """

    item: Loop | Statement
    tasks: Tasks | None
    why: str


def divide(nest: LoopNest) -> list[Division]:
    """Have the loops outside of all others run as tasks, where that is possible and worth it."""
    found: list[Division] = []
    number = max((item.number for item in _parts(nest.body)), default=0)
    for position, item in enumerate(nest.body):
        if isinstance(item, Statement) and item.kind is StatementKind.WHOLE:
            found.append(Division(item, None, "an op on whole arrays"))
        if isinstance(item, Part):
            why = "it is part of code that is cut because it is so long"
            found += [Division(one, None, why) for one in item.body if isinstance(one, Loop)]
        if not isinstance(item, Loop):
            continue
        tasks = Tasks(number + 1, item, _work(item))
        why = _not_worth(tasks) or _not_possible(nest, item)
        found.append(Division(item, None if why else tasks, why))
        if not why:
            number += 1
            nest.body[position] = tasks
            _mark(tasks)
    return found


def _parts(body: list[Item]) -> Iterator[Part]:
    for item in body:
        if not isinstance(item, Statement):
            yield from _parts(item.body)
        if isinstance(item, Part):
            yield item


def _mark(tasks: Tasks) -> None:
    """Say of what is in no part of its own that it is in that of the tasks."""
    tasks.loop.is_divided = True
    for loop in loops_of([tasks]):
        loop.part = loop.part or tasks.number
    for statement in statements_of([tasks]):
        statement.part = statement.part or tasks.number


def _not_worth(tasks: Tasks) -> str:
    """Return why it is not worth to divide a loop, nothing if it is or may be."""
    size, work = tasks.loop.size, tasks.work
    if isinstance(size, int) and size < 2 * tasks.unit:
        return f"{size} iterations are fewer than two tasks of {tasks.unit}"
    if isinstance(work, int) and work < 2 * LEAST_WORK:
        return "it takes less time than to wake another thread"
    return ""


def _not_possible(nest: LoopNest, loop: Loop) -> str:
    """Return why a loop cannot be divided, nothing if it can."""
    for statement in statements_of(loop.body):
        if statement.value in nest.shares:
            return f"{statement.node.op.name} overwrites an array"
        if statement.kind is StatementKind.SCATTER:
            return f"{statement.node.op.name} writes at indices that are read, in order"
        if statement.kind is StatementKind.REDUCE:
            if statement in loop.reductions and statement.node.op is RARE_SUM:
                return "its sums are needed in rare cases only"
        elif statement.sequential >= 0 or not _is_apart(statement):
            return f"{statement.node.op.name} goes through it in order"
    return ""


def _is_apart(statement: Statement) -> bool:
    """Whether iterations write to different places."""
    if statement.kind is StatementKind.PIECE:
        return statement.node.op.name in ("concatenate", "stack")
    return statement.kind in (StatementKind.MAP, StatementKind.COPY, StatementKind.BASE)


def _work(loop: Loop) -> Size:
    """Return how many cheap operations all iterations take together."""
    return sum((_weight(one) * product(one.dims) for one in statements_of(loop.body)), start=0)


def _weight(statement: Statement) -> int:
    node = statement.node
    own = _FUNCTION if is_function(node) else 1
    if node.op.family == "unbounded":
        own = operations_of(node)
    return own + len(statement.inputs) + len(statement.sources)
