"""Loops that are entered in rare cases only: all they make is sums that a flag may do without."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gradc_codegen.lower.elements import Elements
from gradc_codegen.nest.loop_nest import Item, Loop, Statement, StatementKind
from gradc_codegen.nest.rare_sums import flag_of
from gradc_codegen.storage.storage import Storage
from gradc_codegen.text.vectors import any_lane
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import Size


def where_needed(
    elements: Elements,
    loop: Loop,
    own_of: Callable[[Statement], list[str]],
    storage: Mapping[Value, Storage],
    turns: Callable[[], None],
) -> None:
    """Write a loop whose reductions have begun, behind a branch if it may be left out.

    Parameters
    ----------
    own_of: returns the index of each dim of a statement, as far as loops around it are open.
    turns: writes the loop.
    """
    flag = _flag_of(elements, loop, own_of, storage)
    if flag is None:
        turns()
    else:
        elements.horizontal.flush()
        elements.writer.where(flag, turns)


def _flag_of(
    elements: Elements,
    loop: Loop,
    own_of: Callable[[Statement], list[str]],
    storage: Mapping[Value, Storage],
) -> str | None:
    """Write whether a row of those at hand needs a loop, None if it is for more than rare sums."""
    if not loop.reductions or loop.staged:
        return None
    flag = flag_of([statement.value for statement in loop.reductions])
    if flag is None or not all(_is_for(item, loop, storage) for item in loop.body):
        return None
    statement = loop.reductions[0]
    rank = statement.value.type.rank
    own = own_of(statement)[:rank]
    opened = {dim for _, dim in _around(statement, loop)}
    inside = [
        dim for dim, size in enumerate(statement.dims[:rank]) if dim not in opened and size != 1
    ]
    if not inside:
        return any_lane(elements.writer, elements.element(flag, tuple(own)))
    return _any_inside(elements, flag, statement.dims, own, inside)


def _any_inside(
    elements: Elements, flag: Value, dims: Sequence[Size], own: list[str], inside: list[int]
) -> str:
    """Write whether a flag holds for any index of dims whose loops are inside."""
    writer = elements.writer
    found = writer.stack.take("i1")
    writer.do(f"store i1 false, ptr {found}")

    def each(own: list[str], left: list[int]) -> None:
        if not left:
            one = any_lane(writer, elements.element(flag, tuple(own)))
            before = writer.emit(f"load i1, ptr {found}")
            writer.do(f"store i1 {writer.emit(f'or i1 {before}, {one}')}, ptr {found}")
            return
        dim, *rest = left

        def turn(index: str) -> None:
            each([*own[:dim], index, *own[dim + 1 :]], rest)

        writer.loop("0", writer.size(dims[dim]), turn)

    each(own, inside)
    needed = writer.emit(f"load i1, ptr {found}")
    writer.stack.release(found)
    return needed


def _is_for(item: Item, loop: Loop, storage: Mapping[Value, Storage]) -> bool:
    """Whether an item of a loop only serves its reductions."""
    if isinstance(item, Loop):
        return all(_is_for(inner, loop, storage) for inner in item.body)
    if not isinstance(item, Statement):
        return False
    if item in loop.reductions:
        return True
    return item.kind is StatementKind.MAP and not item.outputs and not storage[item.value].memory


def _around(statement: Statement, loop: Loop) -> list[tuple[Loop, int]]:
    """Return the loops around a loop, each with the statement's dim."""
    loops = [around for around, _ in statement.loops]
    return list(statement.loops[: loops.index(loop)])
