"""Where the states of reductions are: on the stack, in an array of it, or at a place in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from gradc_codegen.lower.addresses import Place
from gradc_codegen.lower.elements import Elements
from gradc_codegen.nest.loop_nest import Statement
from gradc_codegen.storage.storage import Accumulator, Buffer
from gradc_codegen.text.module import REGISTER
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.sizes import product
from gradc_ir.meaning import reduction

# As many levels as the tree of chunks has when there are as many elements as an index can count.
_MOST_LEVELS = 63 - (reduction.CHUNK - 1).bit_length()

# Runs a body at the index of every element of a state.
Each: TypeAlias = Callable[[Callable[[list[str]], None]], None]


class Cell(NamedTuple):
    """Where a part of a state is: on the stack, with its type, or a place in memory."""

    pointer: str = ""
    type: str = ""
    place: Place | None = None
    mask: bool = False


class Cells:
    """The cells of one reduction.

    Parameters
    ----------
    elements: access to values.
    state: the planned state.
    index_of: the index of each of the statement's dims outside the loop.
    grouped: whether it joins in groups.
    chunk_at: of a task the number of the chunk, or the group, at hand: its sum takes the place of
        the total, and where it joins in groups there is no other.
    is_here: whether its loop is written whole in the function at hand.
    is_fresh: of a task a flag that the sum at hand does not go on from what is in its place.
    """

    def __init__(
        self,
        elements: Elements,
        state: Accumulator,
        index_of: Callable[[Statement], list[str]],
        grouped: bool,
        chunk_at: str | None = None,
        is_here: bool = False,
        is_fresh: str | None = None,
    ) -> None:
        self.is_fresh = is_fresh
        self._elements = elements
        self._state = state
        self._statement = state.statement
        self._dtype = self._statement.value.type.dtype
        self._index_of = index_of
        self._chunk_at = chunk_at
        self._vector = state.lanes > 1
        self.type = elements.writer.type_of(REGISTER[self._dtype], self._vector)
        self._lanes = reduction.lanes(self._dtype.numpy)
        self.is_apart = grouped and chunk_at is not None
        self._stack: dict[str, Cell] = {}
        self._taken: list[str] = []
        in_memory = elements.in_memory(self._statement.value)
        # one number, or one for each lane, goes to memory at the end of its loop, not at each step
        is_single = is_here and not state.inner
        self.in_register = is_single or not in_memory if chunk_at is None else not state.inner
        if self.in_register and not self.is_apart:
            self._take("total", self.type)
        if state.has_row:
            type_ = f"<{state.width} x {REGISTER[self._dtype]}>"
            if state.row is None:
                self._take("row", type_)
            else:
                self._stack["row"] = Cell(elements.pointer(state.row), type_)
        if grouped and state.chunk is None:
            self._take("chunk", self.type)
            if state.along == 1 and state.partials is None:
                self._take("partials", f"[{self._lanes} x {self.type}]")
            if state.levels != 0 and state.nodes is None:
                levels = state.levels if isinstance(state.levels, int) else _MOST_LEVELS
                # a kernel that is called for a few numbers aligns no stack
                self._take("nodes", f"[{levels} x {self.type}]", 8)

    def _take(self, name: str, type_: str, alignment: int | None = None) -> Cell:
        pointer = self._elements.writer.stack.take(type_, alignment)
        self._taken.append(pointer)
        self._stack[name] = made = Cell(pointer, type_)
        return made

    def release(self) -> None:
        """Give back the stack."""
        for pointer in self._taken:
            self._elements.writer.stack.release(pointer)

    # -- which there are ---------------------------------------------------------------------------

    @property
    def row(self) -> Cell | None:
        """The numbers that lanes of the reduced loop join to, side by side, if there are such."""
        return self._stack.get("row")

    def total(self, own: list[str]) -> Cell:
        """Return the cell of the total, at the index of all dims."""
        if self.in_register:
            return self._stack["total"]
        if self._chunk_at is not None:
            return self.sum_of_chunk(self._chunk_at, own)
        value = self._statement.value
        index = tuple(own[dim] for dim in self._statement.axis_dims)
        mask = not self._elements.has_lanes(value)
        return Cell(place=self._elements.place(value, index), mask=mask)

    def chunk(self, own: list[str]) -> Cell:
        """Return the cell of the chunk at hand."""
        found = self._stack.get("chunk")
        if found is not None:
            return found
        if self.is_apart:
            assert self._chunk_at is not None
            return self.sum_of_chunk(self._chunk_at, own)
        assert self._state.chunk is not None
        return self._scratch(self._state.chunk, self._inner(own))

    @property
    def chunk_on_stack(self) -> Cell | None:
        """The cell of the chunk at hand, if it is on the stack."""
        return self._stack.get("chunk")

    def sum_of_chunk(self, number: str, own: list[str]) -> Cell:
        """Return the cell of what a task has made of a chunk, or of a group."""
        writer = self._elements.writer
        assert self._state.chunks is not None
        count = product(self._statement.dims[dim] for dim in self._state.inner)
        position = writer.add(writer.multiply(number, writer.size(count)), self._inner(own))
        return Cell(place=Place(self._elements.pointer(self._state.chunks), position), mask=True)

    def node(self, level: str) -> Cell:
        """Return the cell of the node that waits on a level of the tree of chunks."""
        buffer = self._state.nodes
        if buffer is None:
            return self._stacked("nodes", level)
        return Cell(place=Place(self._elements.pointer(buffer), level))

    def partial(self, lane: str, own: list[str]) -> Cell:
        """Return the cell of a partial."""
        writer = self._elements.writer
        buffer = self._state.partials
        if buffer is None:
            return self._stacked("partials", lane)
        width = "1"
        for dim in self._state.inner:
            width = writer.multiply(width, writer.size(self._statement.dims[dim]))
        position = writer.add(writer.multiply(lane, width), self._inner(own))
        return self._scratch(buffer, position)

    def running(self) -> Cell:
        """Return a cell on the stack for what a loop joins, which is in a register then."""
        return self._stack.get("running") or self._take("running", self.type)

    def another(self) -> Cell:
        """Return a cell on the stack that whoever asks for it gives back."""
        return Cell(self._elements.writer.stack.take(self.type), self.type)

    def _scratch(self, buffer: Buffer, position: str) -> Cell:
        if self._vector:
            position = self._elements.in_scratch(position, self._state.lanes)
        mask = not self._vector
        return Cell(place=Place(self._elements.pointer(buffer), position), mask=mask)

    def _stacked(self, name: str, number: str) -> Cell:
        """Return one of several cells on the stack."""
        array = self._stack[name]
        address = self._elements.writer.emit(
            f"getelementptr inbounds {array.type}, ptr {array.pointer}, i64 0, i64 {number}"
        )
        return Cell(address, self.type)

    def _inner(self, own: list[str]) -> str:
        dims = self._state.inner
        return self._elements.writer.linear(
            [own[dim] for dim in dims], [self._statement.dims[dim] for dim in dims]
        )

    def begins(self, name: str) -> str | None:
        """Return where the cells of one kind begin: ``chunk``, ``partials`` or ``nodes``.

        They are side by side, those of the first partial or node first; None where there are none.
        """
        found = self._stack.get(name)
        if found is not None:
            return found.pointer
        buffers = {
            "chunk": self._state.chunk,
            "partials": self._state.partials,
            "nodes": self._state.nodes,
        }
        buffer = buffers[name]
        return None if buffer is None else self._elements.pointer(buffer)

    # -- what is in them ---------------------------------------------------------------------------

    def load(self, cell: Cell) -> str:
        """Return what is in a cell."""
        if cell.place is not None:
            return self._elements.load(cell.place, self._dtype, cell.mask)
        vector = cell.type.startswith("<")
        return self._elements.writer.write(vector, f"load {cell.type}, ptr {cell.pointer}")

    def store(self, cell: Cell, register: str) -> None:
        """Put a number, or one for each lane, into a cell."""
        if cell.place is not None:
            self._elements.store(cell.place, self._dtype, register, cell.mask)
            return
        if cell.type.startswith("<") and not register.startswith(("%", "splat")):
            register = f"splat ({REGISTER[self._dtype]} {register})"
        self._elements.writer.do(f"store {cell.type} {register}, ptr {cell.pointer}")

    def start(self, each: Each, cell: Callable[[list[str]], Cell], number: str) -> None:
        """Put what a sum begins with into all cells of a kind, but where it goes on.

        ``each``: the method by which to go through them.
        """
        writer, at = self._elements.writer, self._index_of(self._statement)

        def write(own: list[str]) -> None:
            self.store(cell(own), number)

        def take_up() -> None:
            assert self._chunk_at is not None
            self.store(cell(at), self.load(self.sum_of_chunk(self._chunk_at, at)))

        if self.is_fresh is None:
            each(write)
        elif self._state.inner or cell(at).place is not None:
            writer.where(self.is_fresh, lambda: each(write))
        else:  # it is one, on the stack
            write(at)
            writer.where(writer.emit(f"xor i1 {self.is_fresh}, true"), take_up)

    def each(self, body: Callable[[list[str]], None]) -> None:
        """Run a body for every element of the state: over the dims inside the reduced loop."""
        writer = self._elements.writer

        def nest(position: int, own: list[str]) -> None:
            if position == len(self._state.inner):
                body(own)
                return
            dim = self._state.inner[position]

            def within(index: str) -> None:
                nest(position + 1, [*own[:dim], index, *own[dim + 1 :]])

            end = writer.size(self._statement.dims[dim])
            if position == len(self._state.inner) - 1:
                self._innermost(end, within)
            else:
                writer.loop("0", end, within)

        nest(0, self._index_of(self._statement))

    def each_in_scratch(self, body: Callable[[list[str]], None]) -> None:
        """Run a body as :meth:`each` does, which only asks for cells in scratch.

        There they are side by side, so that one loop goes over all of them, as if the last dim
        were as long: rows of three would leave most lanes of theirs empty.
        """
        dims, writer = self._state.inner, self._elements.writer
        own = self._index_of(self._statement)
        if len(dims) < 2 or writer.lanes > 1 or self._vector:
            self.each(body)
            return
        for dim in dims:
            own[dim] = "0"
        count = product(self._statement.dims[dim] for dim in dims)

        def at(index: str) -> None:
            body([*own[: dims[-1]], index, *own[dims[-1] + 1 :]])

        self._innermost(writer.size(count), at)

    def _innermost(self, end: str, body: Callable[[str], None]) -> None:
        """Write a loop with nothing but a body in it, in lanes where there are any."""
        writer = self._elements.writer
        if writer.lanes == 1 and not writer.module.machine.is_small:
            writer.lane_loop(end, self._lanes, body)
        else:
            writer.loop("0", end, body)
