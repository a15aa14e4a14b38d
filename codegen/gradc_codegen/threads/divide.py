"""Which loops are divided into tasks, for several threads, and why others are not.

A loop that no other one is around is divided where its iterations write what no other one reads or
writes, or join sums, whose chunks may be made in any order. So is what an op on whole arrays does
many of: rows it sorts, matrices it factors, steps of a loop that hand nothing on. Bodies of loops
and branches are nests like that of the kernel, and their loops are divided as well. What takes too
little time for that is left as it is: nothing of such a kernel changes.
"""

from __future__ import annotations

from gradc_codegen.nest.loop_nest import (
    Item,
    Items,
    Loop,
    LoopNest,
    Part,
    Statement,
    StatementKind,
    Tasks,
    loops_of,
    parts_of,
    statements_of,
)
from gradc_codegen.nest.strips import STRIPS
from gradc_codegen.threads.apart import items_of, why_not_apart
from gradc_codegen.threads.cut import LEAST_WORK
from gradc_codegen.threads.work import work_of, work_of_one
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.sizes import Size
from gradc_ir.meaning import reduction

# Of more chunks than this each thread has several.
_FEW_CHUNKS = 4
# and of more than this where one iteration is long
_SOME_CHUNKS = 64
# so many bytes of the sums of groups are joined by the caller, while the other threads wait
_MOST_KEPT = 1 << 24

# of an unknown number of iterations: so much is long for one, and so many bytes are few for a group
_LONG = 2000
_FEW_BYTES = 512


class Division(NamedTuple):
    """What becomes of a loop outside of all others, or of an op on whole arrays.

    ``tasks``: how it is divided; ``why`` it is not.
    """

    item: Loop | Statement
    tasks: Tasks | None
    why: str


def divide(nest: LoopNest) -> list[Division]:
    """Have the loops outside of all others run as tasks, where that is possible and worth it."""
    return _Divider(nest).divide(nest.body, 0)


class _Divider:
    def __init__(self, nest: LoopNest) -> None:
        self._nest = nest
        self._count = max((part.number for part in parts_of(nest.body)), default=0)

    def divide(self, body: list[Item], part: int) -> list[Division]:
        """Divide what stands in a body, of the kernel or of a part of it."""
        found: list[Division] = []
        for position, item in enumerate(body):
            if isinstance(item, Part):
                found += self.divide(item.body, item.number)
                continue
            loop: Loop | None = item if isinstance(item, Loop) else None
            why = ""
            if isinstance(item, Statement):
                if item.kind is not StatementKind.WHOLE:
                    continue
                loop, why = items_of(item)
            if loop is not None:
                work = work_of(self._nest, loop.body)
                tasks = Tasks(self._count + 1, loop, work, _unit(loop))
                why = _why_not_worth(tasks) or why_not_apart(self._nest, loop)
                if not why:
                    self._count += 1
                    body[position] = tasks
                    _mark(tasks, part)
                    found.append(Division(loop, tasks, ""))
            if why:
                found.append(Division(item, None, why))
            # a strip has few rows
            if isinstance(item, Statement) and item.node.op is not STRIPS:
                for inner in self._nest.bodies.get(item.node, ()):
                    found += divide(inner)
        return found


def _mark(tasks: Tasks, part: int) -> None:
    """Say of what is in the same part as the loop that it is in that of the tasks."""
    tasks.loop.is_divided, tasks.loop.enclosing = True, part
    for loop in loops_of([tasks]):
        loop.part = tasks.number if loop.part == part else loop.part
    for statement in statements_of([tasks]):
        statement.part = tasks.number if statement.part == part else statement.part


def _unit(loop: Loop) -> int:
    """Return at multiples of how many iterations a task may begin.

    The sum of each chunk is kept, or that of each group where there are so few chunks that threads
    would wait for each other. Where nobody knows how many there are, there are groups if little is
    kept for each and one iteration is long.
    """
    if isinstance(loop, Items):
        return loop.unit
    if not loop.reductions:
        return loop.block
    each = sum(map(_bytes, loop.reductions), start=0)
    if not isinstance(each, int):
        return reduction.CHUNK
    one = work_of_one(loop)
    is_long = not isinstance(one, int) or one >= _LONG
    if not isinstance(loop.size, int):
        return reduction.GROUP if is_long and each <= _FEW_BYTES else reduction.CHUNK
    few = loop.size <= (_SOME_CHUNKS if is_long else _FEW_CHUNKS) * reduction.CHUNK
    kept = loop.size // reduction.GROUP * each
    return reduction.GROUP if few and kept <= _MOST_KEPT else reduction.CHUNK


def _bytes(statement: Statement) -> Size:
    return statement.value.type.count * statement.value.type.dtype.bytes


def _why_not_worth(tasks: Tasks) -> str:
    """Return why it is not worth to divide a loop, nothing if it is or may be."""
    size, work = tasks.loop.size, tasks.work
    if isinstance(size, int) and size < 2 * tasks.unit:
        return f"{size} iterations are fewer than two tasks of {tasks.unit}"
    if isinstance(work, int) and work < 2 * LEAST_WORK:
        return "it takes less time than to wake another thread"
    return ""
