"""Reductions in the defined order: where they start, one step, and the joins after each group.

Element ``i`` joins partial ``i mod lanes`` of its group of 32; partials fold by halving; groups
join into chunks of 4096, chunks into the total. Every state starts from the identity, which
changes no bit. Where the length is known only at run time and turns out to be 32 or less, all
elements join partial 0, which is the order from left to right.
"""

from __future__ import annotations

from collections.abc import Callable

from gradc_codegen.buffers import Accumulator, Buffer, lanes
from gradc_codegen.elements import Elements
from gradc_codegen.emitter import MEMORY, literal
from gradc_codegen.loops import Statement
from gradc_codegen.scalar import lower_word, multiply_add
from gradc_ir import reduction
from gradc_ir.ops.reduce import highest, lowest

_COMBINE = {
    "reduce_sum": "add",
    "contract": "add",
    "reduce_prod": "mul",
    "reduce_max": "maximum",
    "reduce_min": "minimum",
}


def identity(statement: Statement) -> str:
    """Return the number that changes nothing when it is joined."""
    dtype = statement.value.type.dtype
    word = _COMBINE[statement.node.op.name]
    if word == "add":
        return literal(-0.0 if dtype.is_float else 0, dtype)
    if word == "mul":
        return literal(1, dtype)
    limit = lowest if word == "maximum" else highest
    return literal(limit(dtype.numpy), dtype)


class Running:
    """A reduction while its loop runs.

    Parameters
    ----------
    elements: access to values.
    state: the planned state.
    index_of: the index of each of the statement's dims outside the loop.
    """

    def __init__(
        self, elements: Elements, state: Accumulator, index_of: Callable[[Statement], list[str]]
    ) -> None:
        self.elements = elements
        self.state = state
        self.statement = state.statement
        self.dtype = self.statement.value.type.dtype
        self._index_of = index_of
        self._register = not elements.in_memory(self.statement.value)
        writer = elements.writer
        self._type = MEMORY[self.dtype]
        self.lanes = lanes(self.dtype)
        size = self.statement.dims[self.statement.sequential]
        # the flag that all elements join partial 0, where that is known only at run time
        self.short: str | None = None
        self._mask = str(self.lanes - 1)
        if state.grouped and not isinstance(size, int):
            self.short = writer.at_entry(f"icmp sle i64 {writer.size(size)}, {reduction.GROUP}")
            self._mask = writer.at_entry(f"select i1 {self.short}, i64 0, i64 {self._mask}")
        self._partials_type = f"[{self.lanes} x {self._type}]"
        self._places: dict[str, str] = {}
        # while whole groups run in rows: the partial of the element at hand
        self.lane: str | None = None
        if self._register:
            self._places["total"] = writer.stack(self._type)
        if state.grouped and state.partials is None:
            self._places["partials"] = writer.stack(self._partials_type)
            self._places["row"] = writer.stack(self._partials_type)
            self._places["chunk"] = writer.stack(self._type)

    # -- places ------------------------------------------------------------------------------------

    def _total(self, own: list[str]) -> str:
        if self._register:
            return self._places["total"]
        index = tuple(own[dim] for dim in self.statement.axis_dims)
        return self.elements.address(self.statement.value, index)

    def _inner(self, own: list[str]) -> str:
        dims = self.state.inner
        return self.elements.writer.linear(
            [own[dim] for dim in dims], [self.statement.dims[dim] for dim in dims]
        )

    def _chunk(self, own: list[str]) -> str:
        if self.state.chunk is None:
            return self._places["chunk"]
        return self.elements.at(
            self.elements.pointer(self.state.chunk), self.dtype, self._inner(own)
        )

    def _partial(self, lane: str, own: list[str]) -> str:
        buffer: Buffer | None = self.state.partials
        if buffer is None:
            place = self._places["row" if self.lane is not None else "partials"]
            return self.elements.at(place, self.dtype, lane)
        writer = self.elements.writer
        width = "1"
        for dim in self.state.inner:
            width = writer.multiply(width, writer.size(self.statement.dims[dim]))
        position = writer.add(writer.multiply(lane, width), self._inner(own))
        return self.elements.at(self.elements.pointer(buffer), self.dtype, position)

    def _each(self, body: Callable[[list[str]], None]) -> None:
        """Run a body for every element of the state: over the dims inside the reduced loop."""
        writer = self.elements.writer

        def nest(position: int, own: list[str]) -> None:
            if position == len(self.state.inner):
                body(own)
                return
            dim = self.state.inner[position]

            def within(index: str) -> None:
                nest(position + 1, [*own[:dim], index, *own[dim + 1 :]])

            writer.loop("0", writer.size(self.statement.dims[dim]), within)

        nest(0, self._index_of(self.statement))

    # -- the life of a reduction -------------------------------------------------------------------

    def begin(self) -> None:
        """Write the state's start; the total of no elements is a positive zero."""
        writer = self.elements.writer
        start = identity(self.statement)
        total = start
        size = self.statement.dims[self.statement.sequential]
        if self.dtype.is_float and _COMBINE[self.statement.node.op.name] == "add":
            zero = literal(0.0, self.dtype)
            if size == 0:
                total = zero
            elif not isinstance(size, int):
                empty = writer.at_entry(f"icmp sle i64 {writer.size(size)}, 0")
                total = writer.at_entry(
                    f"select i1 {empty}, {self._type} {zero}, {self._type} {start}"
                )

        def write(own: list[str]) -> None:
            self.elements.store(self._total(own), self.dtype, total)

        self._each(write)

    def begin_chunk(self) -> None:
        """Write the chunk's start."""
        start = identity(self.statement)
        self._each(lambda own: self.elements.store(self._chunk(own), self.dtype, start))

    def begin_group(self, in_rows: bool = False) -> None:
        """Write the partials' start; ``in_rows`` sets ``lane`` until the group is joined."""
        start = identity(self.statement)
        if in_rows:
            self.lane = ""

        def write(own: list[str]) -> None:
            for lane in range(self.lanes):
                self.elements.store(self._partial(str(lane), own), self.dtype, start)

        self._each(write)

    def join_group(self) -> None:
        """Fold the partials into the chunk."""

        def write(own: list[str]) -> None:
            places = [self._partial(str(lane), own) for lane in range(self.lanes)]
            values = [self.elements.load(place, self.dtype) for place in places]
            while len(values) > 1:
                half = len(values) // 2
                values = [self._join(values[i], values[i + half]) for i in range(half)]
            self._join_into(self._chunk(own), values[0])

        self._each(write)
        self.lane = None

    def join_chunk(self) -> None:
        """Join the chunk to the total."""

        def write(own: list[str]) -> None:
            chunk = self.elements.load(self._chunk(own), self.dtype)
            self._join_into(self._total(own), chunk)

        self._each(write)

    def step(self, own: list[str]) -> None:
        """Join the element at the index of all dims."""
        node, elements = self.statement.node, self.elements
        operands = [
            elements.element(operand, elements.read_at(node, i, tuple(own)))
            for i, operand in enumerate(node.operands)
        ]
        if self.state.grouped:
            lane = self.lane
            if lane is None:
                index = own[self.statement.sequential]
                lane = elements.writer.emit(f"and i64 {index}, {self._mask}")
            place = self._partial(lane, own)
        else:
            place = self._total(own)
        have = elements.load(place, self.dtype)
        if node.op.name == "contract":
            joined = multiply_add(elements.writer, self.dtype, operands[0], operands[1], have)
        else:
            joined = self._join(have, operands[0])
        elements.store(place, self.dtype, joined)

    def end(self) -> str | None:
        """Return the total in a register and give back the stack, None when it lives in memory."""
        writer = self.elements.writer
        if "partials" in self._places:
            writer.release(self._partials_type, self._places["partials"])
            writer.release(self._partials_type, self._places["row"])
            writer.release(self._type, self._places["chunk"])
        if not self._register:
            return None
        total = self.elements.load(self._places["total"], self.dtype)
        writer.release(self._type, self._places["total"])
        return total

    def _join(self, x: str, y: str) -> str:
        word = _COMBINE[self.statement.node.op.name]
        return lower_word(self.elements.writer, word, self.dtype, [x, y])

    def _join_into(self, place: str, value: str) -> None:
        have = self.elements.load(place, self.dtype)
        self.elements.store(place, self.dtype, self._join(have, value))
