"""Parts of long code, which are functions of their own, and their calls.

A part is written once however often it is called; in lanes once more for those under a mask. It is
given the indices of the loops around it, of lanes the first one. Where a loop's body is cut, each
part of it goes through the block at hand, strip by strip: its code is fetched once for all strips.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from gradc_codegen.lower.fetch_ahead import fetch_ahead
from gradc_codegen.lower.lowering import MOST_INLINED, Lowering
from gradc_codegen.nest.loop_nest import Loop, Part, Statement
from gradc_codegen.schedule.lanes import functions_in
from gradc_codegen.storage.storage import Plan
from gradc_codegen.text.indices import Lane
from gradc_codegen.text.module import AS_WRITTEN
from gradc_ir.classes.named import NamedTuple

# how many lanes count
_COUNT = "%count"
# which of the lanes in scratch is the first one here
_OFFSET = "%offset"


End: TypeAlias = Callable[[list[str], str], None]


class _Kind(NamedTuple):
    """What a part's function is written for.

    Parameters
    ----------
    number: of the part.
    masked: whether lanes are under a mask.
    strips: whether the part goes through a block in strips.
    """

    number: int
    masked: bool
    strips: bool


class Parts:
    """The parts that an LLVM function calls.

    Parameters
    ----------
    outer: that function in the making.
    plan: where values live.
    begin: begins the function of a part: of a name, inside of loops with these indices, maybe in
        the rest of a loop. Returns it, and what ends it, given parameters beside those of all
        and attributes.
    """

    def __init__(
        self,
        outer: Lowering,
        plan: Plan,
        begin: Callable[[str, dict[Loop, str], bool], tuple[Lowering, End]],
    ) -> None:
        self._outer = outer
        self._plan = plan
        self._begin = begin
        self._written: dict[_Kind, str] = {}

    def call(self, part: Part, name: str, arguments: list[str]) -> None:
        """Write the call of a part, and the part if that is the first one.

        Parameters
        ----------
        name: of its function.
        arguments: what all functions of the nest are given.
        """
        writer, elements = self._outer.writer, self._outer.elements
        loop = next(reversed(self._outer.indices), None)
        strips = part.strip > 0
        masked = writer.mask is not None
        if loop is not None and strips and isinstance(loop.size, int) and _is_alone(loop):
            masked = masked and loop.size % part.strip != 0
        kind = _Kind(part.number, masked, strips)
        if kind not in self._written:
            self._written[kind] = f"{name}.rest" if masked else name
            self._write(part, kind)
        indices = self._outer.indices.values()
        numbers = [index.origin if isinstance(index, Lane) else index for index in indices]
        if writer.lanes > 1:
            numbers.append(writer.left if writer.mask is not None else str(writer.lanes))
            numbers.append(elements.offset)
        given = ", ".join([*arguments, *(f"i64 {number}" for number in numbers)])
        writer.return_unless_ok(writer.emit(f"call i32 @{self._written[kind]}({given})"))

    def _write(self, part: Part, kind: _Kind) -> None:
        outer = self._outer.writer
        indices: dict[Loop, str] = {}
        for i, (loop, index) in enumerate(self._outer.indices.items()):
            register = f"%index{i}"
            indices[loop] = Lane(register, "1") if isinstance(index, Lane) else register
        made, end = self._begin(self._written[kind], indices, kind.masked)
        writer = made.writer
        # straight code in lanes is a call of each function: it compiles in a third of the time
        straight = kind.strips and all(isinstance(item, Statement) for item in part.body)
        writer.runs_often = outer.in_loop
        writer.inlines = not straight and functions_in(part.body, part.strip) <= MOST_INLINED
        lanes = next((loop for loop, index in indices.items() if isinstance(index, Lane)), None)
        if lanes is None:
            made.body_of(part.body)
        elif kind.strips:
            self._strips(made, part, lanes, kind)
        else:
            made.elements.block = self._outer.elements.block or outer.lanes
            made.elements.offset = _OFFSET
            left = _COUNT if kind.masked else None
            self._block(made, part, lanes, indices[lanes], outer.lanes, left)
        numbers = [f"%index{i}" for i in range(len(indices))]
        if lanes is not None:
            numbers += [_COUNT, _OFFSET]
        attributes = f"noinline {AS_WRITTEN}" if straight else "noinline"
        end([f"i64 {number}" for number in numbers], attributes)

    def _strips(self, made: Lowering, part: Part, loop: Loop, kind: _Kind) -> None:
        """Write a part for each strip of a block."""
        writer, first = made.writer, made.indices[loop]
        assert isinstance(first, Lane)
        made.elements.block = loop.block
        # what stands beside parts reads a block, also of those elements that do not count
        end = _COUNT if _is_alone(loop) else str(loop.block)

        def strip(offset: str) -> None:
            made.elements.offset = offset
            index = Lane(writer.add(first.origin, offset), "1")
            left = writer.subtract(_COUNT, offset) if kind.masked else None
            if left is not None and end != _COUNT:
                call = writer.module.call
                left = writer.emit(call("i64", "@llvm.smax.i64", f"i64 {left}", "i64 0"))
            self._block(made, part, loop, index, part.strip, left)

        mark = writer.module.keep_plain()
        writer.loop("0", end, strip, part.strip, runs=True, mark=mark)

    def _block(
        self, made: Lowering, part: Part, loop: Loop, index: str, lanes: int, left: str | None
    ) -> None:
        made.indices[loop] = index
        for staged, buffer in zip(loop.staged, self._plan.staged.get(loop, ())):
            made.elements.transposed[staged] = index, buffer
        with made.writer.in_block(lanes, left):
            made.body_of(part.body)
            made.rows.flush()
            made.elements.horizontal.flush()
            if part.strip and left is None:
                fetch_ahead(made.elements, index, loop.block)


def _is_alone(loop: Loop) -> bool:
    """Whether a loop is of parts alone, which all go strip by strip."""
    return all(isinstance(item, Part) for item in loop.body)
