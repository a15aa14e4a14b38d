"""Items of a block of iterations, written for a strip of it: one vector in place of four.

What a strip reads of a block, and leaves to it, is in scratch, a block long, or on the stack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from gradc_codegen.lower.addresses import Place
from gradc_codegen.lower.lowering import Lowering
from gradc_codegen.nest.loop_nest import Item, Loop, StatementKind, statements_of
from gradc_codegen.schedule.lanes import OUTER, narrowest
from gradc_codegen.text.indices import Lane
from gradc_codegen.text.module import MEMORY
from gradc_ir.core.graph import Value


class Strips:
    """The strips of one block.

    Parameters
    ----------
    loop: whose iterations the block has.
    index: of the first of them.
    """

    def __init__(self, lowering: Lowering, loop: Loop, index: Lane) -> None:
        self._lowering = lowering
        self._loop = loop
        self._index = index
        self._strip = narrowest(loop)
        # what is on the stack, a block long
        self._kept: dict[Value, str] = {}

    def write(
        self,
        items: Sequence[Item],
        left: str | None = None,
        begin: Callable[[Lane], None] = lambda index: None,
    ) -> None:
        """Write items strip by strip.

        Parameters
        ----------
        left: how many iterations count, None for all of the block.
        begin: what comes before the items of a strip.
        """
        lowering, writer, elements = self._lowering, self._lowering.writer, self._lowering.elements
        lowering.rows.flush()
        elements.horizontal.flush()
        before, own = dict(elements.registers), made_by(items)
        read = [value for value in self._kept if value not in own]

        def strip(offset: str) -> None:
            elements.offset = offset
            index = Lane(writer.add(self._index.origin, offset), "1")
            rest = None if left is None else writer.subtract(left, offset)
            with writer.in_block(self._strip, rest):
                begin(index)
                self.stand_at(index)
                self.load(read, offset)
                lowering.body_of(items)
                lowering.rows.flush()
                elements.horizontal.flush()
                self.store(own, offset)

        elements.block = OUTER
        mark = writer.module.keep_plain()
        writer.loop("0", left or str(OUTER), strip, self._strip, runs=True, mark=mark)
        elements.block, elements.offset = None, "0"
        if left is not None:
            writer.left = left
        elements.registers.clear()
        elements.registers.update(before)
        self.stand_at(self._index)

    def stand_at(self, index: Lane) -> None:
        """Have the iterations from an index on be those at hand."""
        self._lowering.indices[self._loop] = index
        transposed = self._lowering.elements.transposed
        for staged in self._loop.staged:
            if staged in transposed:
                transposed[staged] = index, transposed[staged][1]

    def take(self, value: Value, is_whole: bool = False) -> None:
        """Find a place on the stack for a value.

        ``is_whole``: whether all of it is written, and not the iterations that count alone.
        """
        writer = self._lowering.writer
        type_ = f"<{OUTER} x {MEMORY[value.type.dtype]}>"
        self._kept[value] = place = writer.stack.take(type_)
        if not is_whole:
            writer.do(f"store {type_} zeroinitializer, ptr {place}")

    def store(self, values: Iterable[Value], offset: str = "0") -> None:
        """Put those values on the stack that have a place there, of the lanes from an offset on."""
        elements = self._lowering.elements
        for value in values:
            if value in self._kept:
                place, dtype = Place(self._kept[value], Lane(offset, "1")), value.type.dtype
                elements.store(place, dtype, elements.registers[value], mask=False)

    def load(self, values: Iterable[Value], offset: str = "0") -> None:
        """Have values that are on the stack in registers, of the lanes from an offset on."""
        elements = self._lowering.elements
        for value in values:
            if value in self._kept:
                at = Place(self._kept[value], Lane(offset, "1"))
                elements.registers[value] = elements.load(at, value.type.dtype, mask=False)

    @property
    def kept(self) -> list[Value]:
        """The values that are on the stack."""
        return list(self._kept)

    def release(self) -> None:
        """Give back the stack."""
        for place in self._kept.values():
            self._lowering.writer.stack.release(place)


def made_by(items: Iterable[Item]) -> list[Value]:
    """Return the values that statements make."""
    made = (each for each in statements_of(list(items)) if each.kind is not StatementKind.COPY)
    return list(dict.fromkeys(value for statement in made for value in statement.values))


def read_by(items: Iterable[Item]) -> dict[Value, None]:
    """Return the values of statements that statements read, in the order in which they do."""
    statements = statements_of(list(items))
    return dict.fromkeys(each.value for statement in statements for each in statement.inputs)
