"""The rest of a loop in blocks, strip by strip: less code than a second block under a mask.

Behind its last whole block a loop of unknown length has fewer iterations than a block. They run
once, and their code, of a whole block under a mask, would be as long as that of all others. So they
go in strips of one vector. Only sums over the iterations, whose order is that of a block, take the
block at once; what these read is in scratch, or on the stack, a block long.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from gradc_codegen.lower.addresses import Place
from gradc_codegen.lower.lowering import Lowering
from gradc_codegen.lower.transpose_blocks import transpose
from gradc_codegen.nest.loop_nest import Item, Loop, Part, Statement, StatementKind, statements_of
from gradc_codegen.schedule.lanes import OUTER, dim_of, narrowest
from gradc_codegen.storage.storage import Buffer
from gradc_codegen.text.indices import Lane
from gradc_codegen.text.module import MEMORY
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Value


class _Run(NamedTuple):
    """Items that stand one after another: all go in strips, or all take a block at once."""

    in_strips: bool
    items: list[Item]


def write_iterations(lowering: Lowering, loop: Loop, index: str, buffers: Sequence[Buffer]) -> None:
    """Write the iteration of a loop at hand, or the block of them: at once, or strip by strip.

    ``buffers``: where the arrays that are transposed for it are.
    """
    if isinstance(index, Lane) and lowering.writer.mask is not None and _goes_in_strips(loop):
        _RestInStrips(lowering, loop, index, buffers).write()
    else:
        for staged, buffer in zip(loop.staged, buffers):
            assert isinstance(index, Lane)
            transpose(lowering.elements, staged, index, buffer)
        lowering.body_of(loop.body)
    lowering.rows.flush()


def _goes_in_strips(loop: Loop) -> bool:
    """Whether the rest of a loop goes strip by strip."""
    return (
        loop.block == OUTER
        and not isinstance(loop.size, int)
        and narrowest(loop) < OUTER
        and not any(isinstance(item, Part) for item in loop.body)
        and any(isinstance(item, Loop) for item in loop.body)
    )


class _RestInStrips:
    """The rest of one loop.

    Parameters
    ----------
    index: of the first iteration.
    buffers: where the arrays that are transposed for it are.
    """

    def __init__(
        self, lowering: Lowering, loop: Loop, index: Lane, buffers: Sequence[Buffer]
    ) -> None:
        self._lowering = lowering
        self._loop = loop
        self._index = index
        self._buffers = buffers
        self._left = lowering.writer.left
        self._strip = narrowest(loop)
        self._runs = _runs(loop)
        # what is on the stack, a block long
        self._kept: dict[Value, str] = {}

    def write(self) -> None:
        """Write all items, and first what they have transposed."""
        writer = self._lowering.writer
        if not self._runs[0].in_strips:
            self._transpose(self._index)
        for position, run in enumerate(self._runs):
            if run.in_strips:
                self._in_strips(run, position == 0)
            else:
                self._at_once(run)
        for place in self._kept.values():
            writer.stack.release(place)

    def _transpose(self, index: Lane) -> None:
        for staged, buffer in zip(self._loop.staged, self._buffers):
            transpose(self._lowering.elements, staged, index, buffer)

    def _at(self, index: Lane) -> None:
        """Have the iterations from an index on be those at hand."""
        self._lowering.indices[self._loop] = index
        for staged, buffer in zip(self._loop.staged, self._buffers):
            self._lowering.elements.transposed[staged] = index, buffer

    def _at_once(self, run: _Run) -> None:
        self._at(self._index)
        elements = self._lowering.elements
        for value in _read_elsewhere(self._runs, run):
            if not elements.in_memory(value):
                self._take(value)
        self._load_kept(run, "0")
        self._lowering.body_of(run.items)
        self._lowering.rows.flush()
        elements.horizontal.flush()
        self._store_kept(run, "0")

    def _in_strips(self, run: _Run, is_first: bool) -> None:
        lowering, writer, elements = self._lowering, self._lowering.writer, self._lowering.elements
        before = dict(elements.registers)
        for value in _read_elsewhere(self._runs, run):
            if not elements.in_memory(value):
                self._take(value)

        def strip(offset: str) -> None:
            elements.offset = offset
            index = Lane(writer.add(self._index.origin, offset), "1")
            with writer.in_block(self._strip, writer.subtract(self._left, offset)):
                if is_first:
                    self._transpose(index)
                self._at(index)
                self._load_kept(run, offset)
                lowering.body_of(run.items)
                lowering.rows.flush()
                elements.horizontal.flush()
                self._store_kept(run, offset)

        lowering.rows.flush()
        elements.horizontal.flush()
        elements.block = OUTER
        mark = writer.module.keep_plain()
        writer.loop("0", self._left, strip, self._strip, runs=True, mark=mark)
        elements.block, elements.offset, writer.left = None, "0", self._left
        elements.registers.clear()
        elements.registers.update(before)

    def _take(self, value: Value) -> None:
        """Find a place on the stack for a value of the iterations, of which not all may count."""
        writer = self._lowering.writer
        type_ = f"<{OUTER} x {MEMORY[value.type.dtype]}>"
        self._kept[value] = place = writer.stack.take(type_)
        writer.do(f"store {type_} zeroinitializer, ptr {place}")

    def _store_kept(self, run: _Run, offset: str) -> None:
        elements = self._lowering.elements
        for value in _made_by(run):
            if value in self._kept:
                place, dtype = Place(self._kept[value], Lane(offset, "1")), value.type.dtype
                elements.store(place, dtype, elements.registers[value], mask=False)

    def _load_kept(self, run: _Run, offset: str) -> None:
        """Have what a run reads of the stack in registers, of the lanes from an offset on."""
        elements, own = self._lowering.elements, _made_by(run)
        for value, place in self._kept.items():
            if value not in own:
                at = Place(place, Lane(offset, "1"))
                elements.registers[value] = elements.load(at, value.type.dtype, mask=False)


def _runs(loop: Loop) -> list[_Run]:
    """Return what goes in strips, and what takes a block at once, of a loop's body."""

    def is_apart(item: Item) -> bool:
        return not any(_joins(statement, loop) for statement in statements_of([item]))

    return [_Run(apart, list(items)) for apart, items in groupby(loop.body, key=is_apart)]


def _joins(statement: Statement, loop: Loop) -> bool:
    """Whether a statement is a sum over the iterations of a loop."""
    return (
        statement.kind is StatementKind.REDUCE and dim_of(statement, loop) == statement.sequential
    )


def _made_by(run: _Run) -> list[Value]:
    made = (each for each in statements_of(run.items) if each.kind is not StatementKind.COPY)
    return list(dict.fromkeys(value for statement in made for value in statement.values))


def _read_elsewhere(runs: Sequence[_Run], run: _Run) -> list[Value]:
    """Return what statements of a run make and those of other runs read."""
    others = [item for other in runs if other is not run for item in other.items]
    read = {each.value for statement in statements_of(others) for each in statement.inputs}
    return [value for value in _made_by(run) if value in read]
