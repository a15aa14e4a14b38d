"""What of a function runs on several threads: its loops, by line, and why others do not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gradc.pipeline import derive
from gradc.requests.request import Request
from gradc_codegen.compile_function import Compilation
from gradc_codegen.nest.loop_nest import Items, Loop, LoopNest, Statement, Tasks, statements_of
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Function, Node
from gradc_ir.location import Location
from gradc_ir.meaning import reduction


class Divided(NamedTuple):
    """A loop, or an op on whole arrays: its first line, and how it is divided or why it is not."""

    what: str
    line: str | None
    is_divided: bool
    how: str


def divided(function: Function, request: Request) -> Iterator[Divided]:
    """Yield what becomes of each loop of a traced function; nothing where a call has one thread."""
    threads = request.options.calls_on
    if threads == 1:
        return
    final = derive(function, request)
    made = Compilation(final, blas=request.options.blas, threads=threads)
    places: dict[Node, tuple[Location, ...]] = {}
    for nest in _nests(made.nest):
        places |= nest.function.locations
    for item, tasks, why in made.divisions:
        how = _how(tasks) if tasks is not None else why
        yield Divided(_title(item), _line(places, item), tasks is not None, how)


def _nests(nest: LoopNest) -> Iterator[LoopNest]:
    """Yield a nest and those of all bodies in it."""
    yield nest
    for bodies in nest.bodies.values():
        for body in bodies:
            yield from _nests(body)


def _title(item: Loop | Statement) -> str:
    if isinstance(item, Items):
        return f"{item.statement.node.op.name} of {item.size}"
    return f"loop over {item.size}" if isinstance(item, Loop) else item.node.op.name


def _line(places: Mapping[Node, tuple[Location, ...]], item: Loop | Statement) -> str | None:
    statements = [item] if isinstance(item, Statement) else statements_of([item])
    found = (place for one in statements for place in places.get(one.node, ()))
    first = min(found, key=lambda place: (place.file, place.line), default=None)
    return None if first is None else first.short


def _how(tasks: Tasks) -> str:
    unit = f"in multiples of {tasks.unit}"
    if tasks.loop.reductions:
        unit = f"in whole {'chunks' if tasks.unit == reduction.CHUNK else 'groups'} of {tasks.unit}"
    how = f"as tasks, {unit}" if tasks.unit > 1 else "as tasks"
    is_known = isinstance(tasks.work, int) and isinstance(tasks.loop.size, int)
    return how if is_known else f"{how}, where it is long enough"
