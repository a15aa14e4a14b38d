"""Loops whose iterations are tasks: a function of a range of them, which a pool of threads calls.

What the function needs is in a table of the kernel's arguments. Each task has scratch of its own.
Sums are made chunk by chunk; the kernel joins these in the defined order when all tasks are done,
so that no bit depends on who made which. Where only the running program knows whether a loop is
long enough, it is written once more as it is without threads.
"""

from __future__ import annotations

from collections.abc import Callable

from gradc_codegen.lower.lowering import RUNNER, Bounds, Lowering
from gradc_codegen.lower.prologue import bytes_of
from gradc_codegen.lower.reducing.chunk_tree import join_chunks
from gradc_codegen.nest.loop_nest import Loop, Tasks
from gradc_codegen.storage.storage import Buffer, Plan
from gradc_codegen.threads.cut import LEAST_WORK
from gradc_codegen.threads.pool import RUN
from gradc_codegen.threads.runner import SHARE, share_text
from gradc_ir.core.sizes import Size
from gradc_ir.meaning import reduction

_DIGITS = reduction.GROUP.bit_length() - 1
_GROUPS = reduction.CHUNK // reduction.GROUP


def write_tasks(
    lowering: Lowering,
    tasks: Tasks,
    plan: Plan,
    name: str,
    arguments: list[str],
    function: tuple[Lowering, Callable[[list[str], str], None]],
) -> None:
    """Write the function of the tasks of a loop, and what has them run.

    Parameters
    ----------
    name: of the function.
    arguments: what all functions of the nest are given, with types.
    function: the function, begun, and what ends it.
    """
    writer, loop = lowering.writer, tasks.loop
    lowering.elements.horizontal.flush()
    _write_range(*function, tasks, plan.begun.get(loop))
    module = writer.module
    types = [argument.split(" ", 1)[0] for argument in arguments]
    module.functions.append(_entry(name, types, bool(plan.own), len(lowering.runner)))
    run = _Runner(lowering) if lowering.runner else _Pool(lowering, plan)

    def at_once() -> None:
        table = writer.stack.take(f"[{len(arguments)} x i64]", 8)
        for position, argument in enumerate(arguments):
            place = writer.emit(f"getelementptr i64, ptr {table}, i64 {position}")
            writer.do(f"store {argument}, ptr {place}")
        size, work = writer.size(loop.size), writer.size(tasks.work)
        cut = f"i64 {size}, i64 {tasks.unit}, i64 {tasks.whole}, i64 {work}"
        given = f"ptr @{name}.task, ptr {table}, {cut}"
        writer.return_unless_ok(run.call(given))
        writer.stack.release(table)
        if loop.reductions:
            _join(lowering, tasks, plan.begun.get(loop))

    if isinstance(loop.size, int) and isinstance(tasks.work, int):
        at_once()
        return
    size, work = writer.size(loop.size), writer.size(tasks.work)
    several = run.several()
    long = writer.emit(f"icmp sgt i64 {size}, {2 * tasks.unit}")
    costly = writer.emit(f"icmp sgt i64 {work}, {2 * LEAST_WORK}")
    both = writer.emit(f"and i1 {long}, {costly}")
    writer.either(
        writer.emit(f"and i1 {several}, {both}"), at_once, lambda: lowering.body_of([loop])
    )


class _Pool:
    """What runs tasks in this process: on as many threads as a variable of the module says."""

    def __init__(self, lowering: Lowering, plan: Plan) -> None:
        self._writer = lowering.writer
        self._own, self._region = lowering.elements.own, plan.own
        module = self._writer.module
        self._threads = module.help(f"@{module.name}.threads", lambda: _threads(module.name))
        module.declare(f"declare i32 @{RUN}(ptr, ptr, i64, i64, i64, i64, i64, ptr)")

    def _count(self) -> str:
        return self._writer.emit(f"load i64, ptr {self._threads}")

    def several(self) -> str:
        """Write whether there are several threads."""
        return self._writer.emit(f"icmp ugt i64 {self._count()}, 1")

    def call(self, given: str) -> str:
        """Write the call that has tasks run; returns its status."""
        more = f"i64 {self._count()}, i64 {bytes_of(self._writer, self._region)}, ptr {self._own}"
        return self._writer.emit(f"call i32 @{RUN}({given}, {more})")


class _Runner:
    """What runs tasks where a caller says that."""

    def __init__(self, lowering: Lowering) -> None:
        self._writer, self._own = lowering.writer, lowering.elements.own
        self._writer.module.help(f"@{SHARE}", lambda: share_text(self._writer.module))

    def several(self) -> str:
        """Write whether there may be several threads."""
        return self._writer.emit(f"icmp ne ptr {RUNNER}, null")

    def call(self, given: str) -> str:
        """Write the call that has tasks run; returns its status."""
        return self._writer.emit(f"call i32 @{SHARE}({given}, ptr {self._own}, ptr {RUNNER})")


def _write_range(
    made: Lowering,
    end: Callable[[list[str], str], None],
    tasks: Tasks,
    begun: Buffer | None,
) -> None:
    """Write the function of a range of iterations.

    ``begun``: where it tells how many groups of a chunk it has joined, if it makes sums of groups.
    """
    writer, loop, unit = made.writer, tasks.loop, tasks.unit
    if loop.reductions:
        made.elements.decided |= _lengths(loop)

        def chunk(start: str) -> None:
            number = writer.emit(f"lshr exact i64 {start}, {unit.bit_length() - 1}")
            group = None if begun is None else _Group(made, number)
            if group is None:
                running = made.begin(loop, number)
            else:
                running = made.begin(loop, group.place, group.is_fresh)
            stop = writer.minimum(writer.add(start, str(unit)), "%last")
            made.turns(loop, running, Bounds(start, stop))
            made.elements.horizontal.flush()
            for reduced in running:
                made.running.pop(reduced.statement, None)
                reduced.leave_chunk()
            if group is not None and begun is not None:
                group.tell(made.elements.pointer(begun))

        writer.loop("%first", "%last", chunk, unit, True, writer.module.keep_plain())
    else:
        made.turns(loop, [], Bounds("%first", "%last"))
    end(["i64 %first", "i64 %last"], "noinline")


class _Group:
    """A group of a chunk, in a task.

    Who has begun a chunk joins its groups one after another, as long as they are its own: their
    sums stay near. Only what others make of the chunk is kept, for the kernel to join.

    Attributes
    ----------
    place: the number of the group whose place its sum takes: of a chunk that is begun the first.
    is_fresh: whether nothing is there yet.
    """

    def __init__(self, made: Lowering, number: str) -> None:
        self._writer = writer = made.writer
        self._number = number
        self._head = writer.emit(f"and i64 {number}, {-_GROUPS}")
        first = writer.emit(f"lshr exact i64 %first, {_DIGITS}")
        self._is_begun = writer.emit(f"icmp uge i64 {self._head}, {first}")
        self.place = writer.emit(f"select i1 {self._is_begun}, i64 {self._head}, i64 {number}")
        self.is_fresh = writer.emit(f"icmp eq i64 {self.place}, {number}")

    def tell(self, begun: str) -> None:
        """Write how many groups are joined, if the task has begun the chunk."""
        writer = self._writer

        def count() -> None:
            joined = writer.add(writer.subtract(self._number, self._head), "1")
            chunk = writer.emit(f"lshr exact i64 {self._head}, {_GROUPS.bit_length() - 1}")
            writer.store_at("i64", joined, begun, chunk)

        writer.where(self._is_begun, count)


def _join(lowering: Lowering, tasks: Tasks, begun: Buffer | None) -> None:
    """Join the sums of chunks, when all tasks are done."""
    loop = tasks.loop
    decided = lowering.elements.decided
    before = dict(decided)
    decided |= _lengths(loop)
    running = lowering.begin(loop)
    told = None if begun is None else lowering.elements.pointer(begun)
    join_chunks(lowering.writer, running, lowering.writer.size(loop.size), told)
    lowering.end(running)
    decided.clear()
    decided |= before


def _lengths(loop: Loop) -> dict[Size, bool]:
    """Return that a loop is longer than a group, where that is not known of its size."""
    return {} if isinstance(loop.size, int) else {loop.size: False}


def _entry(name: str, types: list[str], has_own: bool, runners: int) -> str:
    """Return the function that takes the arguments of a task from a table.

    Parameters
    ----------
    has_own: whether tasks need scratch of their own.
    runners: how many arguments say what runs tasks: a task does all by itself.
    """
    lines, given = [], []
    for position, type_ in enumerate(types):
        lines += [
            f"  %p{position} = getelementptr i64, ptr %table, i64 {position}",
            f"  %a{position} = load {type_}, ptr %p{position}",
        ]
        given.append(f"{type_} %a{position}")
    given += ["ptr %own"] * has_own + ["ptr null"] * runners + ["i64 %first", "i64 %last"]
    head = f"define internal i32 @{name}.task(ptr %table, i64 %first, i64 %last, ptr %own)"
    call = [f"  %status = call i32 @{name}({', '.join(given)})", "  ret i32 %status"]
    return "\n".join([f"{head} {{", *lines, *call, "}"])


def _threads(name: str) -> str:
    """Return a module's variable for how many threads a call has, and the function that sets it."""
    return (
        f"@{name}.threads = internal global i64 1\n\n"
        f"define void @{name}_threads(i64 %count) {{\n"
        f"  store i64 %count, ptr @{name}.threads\n  ret void\n}}"
    )
