"""Blocks of iterations of which a part goes in strips: that is less code, where it takes no longer.

Behind its last whole block a loop of unknown length has fewer iterations than a block. They run
once, and their code, of a whole block under a mask, would be as long as that of all others. So they
go in strips of one vector. Only sums over the iterations, whose order is that of a block, take the
block at once.

Beside loops of unknown length with loops of unknown length in them functions go in strips in all
blocks: each is some hundred instructions, which would be there for each of the four vectors of a
block, and takes next to none of the time. In such a loop it takes more of it, and a block at once
takes less.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TypeGuard

from gradc_codegen.lower.loops.strips import Strips, made_by, read_by
from gradc_codegen.lower.lowering import Lowering
from gradc_codegen.lower.transpose_blocks import transpose
from gradc_codegen.nest.loop_nest import Item, Loop, Part, Statement, StatementKind, statements_of
from gradc_codegen.scalar.lower_scalar import is_function
from gradc_codegen.schedule.lanes import OUTER, dim_of, narrowest
from gradc_codegen.storage.storage import Buffer
from gradc_codegen.text.indices import Lane, is_vector
from gradc_ir.classes.named import NamedTuple


class _Run(NamedTuple):
    """Items that stand one after another: all go in strips, or all take a block at once."""

    in_strips: bool
    items: list[Item]
    others: list[Item]


def write_iterations(lowering: Lowering, loop: Loop, index: str, buffers: Sequence[Buffer]) -> None:
    """Write the iteration of a loop at hand, or the block of them: at once, or strip by strip.

    ``buffers``: where the arrays that are transposed for it are.
    """
    if isinstance(index, Lane) and lowering.writer.mask is not None and _rest_goes(loop):
        _rest(lowering, loop, index, buffers)
    else:
        _transpose(lowering, loop, index, buffers)
        if isinstance(index, Lane) and lowering.writer.mask is None and _functions_go(loop):
            _functions(lowering, loop, index)
        else:
            lowering.body_of(loop.body)
    lowering.rows.flush()


def _transpose(lowering: Lowering, loop: Loop, index: str, buffers: Sequence[Buffer]) -> None:
    for staged, buffer in zip(loop.staged, buffers):
        assert isinstance(index, Lane)
        transpose(lowering.elements, staged, index, buffer)


# -- the rest of a loop ----------------------------------------------------------------------------


def _rest_goes(loop: Loop) -> bool:
    """Whether the rest of a loop goes in strips."""
    return (
        loop.block == OUTER
        and not isinstance(loop.size, int)
        and narrowest(loop) < OUTER
        and not any(isinstance(item, Part) for item in loop.body)
        and any(isinstance(item, Loop) for item in loop.body)
    )


def _rest(lowering: Lowering, loop: Loop, index: Lane, buffers: Sequence[Buffer]) -> None:
    elements, left = lowering.elements, lowering.writer.left
    strips, runs = Strips(lowering, loop, index), _runs(loop.body, lambda x: _is_apart(x, loop))

    def begin(at: str) -> None:
        _transpose(lowering, loop, at, buffers)

    if not runs[0].in_strips:
        begin(index)
    for run in runs:
        own, wanted = made_by(run.items), read_by(run.others)
        for value in own:
            if value in wanted and not elements.in_memory(value):
                strips.take(value)
        if run.in_strips:
            strips.write(run.items, left, begin if run is runs[0] else lambda at: None)
            continue
        strips.load(value for value in strips.kept if value not in own)
        lowering.body_of(run.items)
        lowering.rows.flush()
        elements.horizontal.flush()
        strips.store(own)
    strips.release()


def _runs(body: Sequence[Item], goes: Callable[[Item], bool]) -> list[_Run]:
    """Return a body as runs of items that go in strips, and of such as do not."""
    found = [(in_strips, list(items)) for in_strips, items in groupby(body, key=goes)]
    return [
        _Run(in_strips, items, [x for _, others in found if others is not items for x in others])
        for in_strips, items in found
    ]


def _is_apart(item: Item, loop: Loop) -> bool:
    """Whether an item makes no sum over the iterations of a loop."""
    return not any(
        one.kind is StatementKind.REDUCE and dim_of(one, loop) == one.sequential
        for one in statements_of([item])
    )


# -- functions beside loops of unknown length ------------------------------------------------------


def _functions_go(loop: Loop) -> bool:
    """Whether the functions of a loop, those of loops inside aside, go in strips."""
    return (
        loop.block == OUTER
        and narrowest(loop) < OUTER
        and any(map(_is_function, loop.body))
        and not any(isinstance(item, Part) for item in loop.body)
        and any(
            _is_unknown(inner) for outer in filter(_is_unknown, loop.body) for inner in outer.body
        )
    )


def _is_unknown(item: Item) -> TypeGuard[Loop]:
    return isinstance(item, Loop) and not isinstance(item.size, int)


def _is_function(item: Item) -> bool:
    return (
        isinstance(item, Statement)
        and item.kind is StatementKind.MAP
        and is_function(item.node)
        and not item.outputs
    )


def _functions(lowering: Lowering, loop: Loop, index: Lane) -> None:
    """Write the body of a loop, its functions in strips."""
    elements = lowering.elements
    for run in _runs(loop.body, _is_function):
        if not run.in_strips:
            lowering.body_of(run.items)
            continue
        strips, wanted = Strips(lowering, loop, index), read_by(run.others)
        read = [x for x in read_by(run.items) if is_vector(elements.registers.get(x, ""))]
        made = [x for x in made_by(run.items) if x in wanted and not elements.in_memory(x)]
        for value in (*read, *made):
            strips.take(value, is_whole=True)
        strips.store(read)
        strips.write(run.items)
        strips.load(made)
        strips.release()
