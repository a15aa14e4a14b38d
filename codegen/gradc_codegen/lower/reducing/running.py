"""Reductions in the defined order: where they start, one step, and the joins after each group.

Element ``i`` joins partial ``i mod lanes`` of its group of 32; partials are reduced by halving;
groups join into chunks of 4096, chunks into nodes of a tree, the last one into the total. Every
state starts from the identity, which changes no bit. Where the length is known only at run time and
turns out to be 32 or less, all elements join in order, from left to right.

The same order comes about in three ways: one element after another, each for itself or for all
lanes of a loop outside; with lanes along the reduced axis, where eight or sixteen neighbours join
as many partials at once; and with lanes along an axis inside the reduced one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from gradc_codegen.lower import triangular_bounds
from gradc_codegen.lower.elements import Elements
from gradc_codegen.lower.horizontal_reductions import Joined
from gradc_codegen.lower.reducing import short_code
from gradc_codegen.lower.reducing.cells import Cell, Cells
from gradc_codegen.lower.reducing.last_lanes import in_order
from gradc_codegen.lower.reducing.skipped import Skipped
from gradc_codegen.nest.loop_nest import Loop, Statement
from gradc_codegen.nest.masks import mask_of
from gradc_codegen.nest.rare_sums import summands
from gradc_codegen.nest.strips import goes_on, whole_size
from gradc_codegen.scalar.lower_scalar import lower_word, multiply_add, select, without_signs
from gradc_codegen.storage.storage import Accumulator
from gradc_codegen.text.module import REGISTER, literal
from gradc_codegen.text.vectors import element, piece, reduced
from gradc_codegen.text.writer import Writer
from gradc_ir.core.sizes import Size, product
from gradc_ir.meaning import reduction
from gradc_ir.ops.reduce import highest, lowest

_COMBINE = {
    "reduce_sum": "add",
    "rare_sum": "add",
    "contract": "add",
    "sum_onto": "add",
    "product_onto": "mul",
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
    chunk_at: of a task the number of the chunk at hand, which is all it joins; ``is_fresh``: a flag
        that it does not go on from what is there.
    is_here: whether its loop is written whole in the function at hand.
    """

    def __init__(
        self,
        elements: Elements,
        state: Accumulator,
        index_of: Callable[[Statement], list[str]],
        chunk_at: str | None = None,
        is_here: bool = False,
        is_fresh: str | None = None,
    ) -> None:
        self.elements = elements
        self.state = state
        self.statement = state.statement
        self.dtype = self.statement.value.type.dtype
        self._index_of = index_of
        node = self.statement.node
        self.word = without_signs(_COMBINE[node.op.name], node.operands[:1])
        writer = elements.writer
        self.lanes = reduction.lanes(self.dtype.numpy)
        size = whole_size(self.statement.node, self.statement.dims[self.statement.sequential])
        is_short = None if isinstance(size, int) else elements.decided.get(size)
        # whether it joins in groups, unless a flag says otherwise once the program runs
        self.grouped = state.grouped and is_short is not True
        self.short: str | None = None
        self._mask = str(self.lanes - 1)
        if self.grouped and not isinstance(size, int) and is_short is None:
            self.short = short_of(writer, size)
            self._mask = writer.at_entry(f"select i1 {self.short}, i64 0, i64 {self._mask}")
        # whether the loop leaves out what does not count
        self.is_narrowed = False
        # whether the elements at hand may be all there are
        self.in_rest = False
        # while a group is joined in registers: the partial at hand, once it has an element
        self.in_registers = False
        self.partial: str | None = None
        # while a loop joins to a register: its cell
        self._joining: Cell | None = None
        self.cells = Cells(elements, state, index_of, self.grouped, chunk_at, is_here, is_fresh)
        self._chunk_at = chunk_at
        # whether so many run at once that around a call too much would go to the stack
        self.is_among_many = False
        # of a sum whose groups may be left out: what that has to know
        self.skipped: Skipped | None = None

    @property
    def is_short_code(self) -> bool:
        """Whether its joins are calls of functions, one for all reductions of a kind."""
        return self.elements.writer.module.machine.is_small

    @property
    def count(self) -> Size:
        """How many numbers each part of the state has."""
        dims = self.statement.dims
        return product(dims[dim] for dim in self.state.inner) * self.state.lanes

    # -- the life of a reduction -------------------------------------------------------------------

    def begin(self) -> None:
        """Write the state's start; the total of no elements is a positive zero."""
        writer = self.elements.writer
        if self.grouped and self.state.along == reduction.GROUP and mask_of(self.statement):
            self.skipped = Skipped(writer, self.cells.is_fresh)
        if self.cells.is_apart:
            return
        start = identity(self.statement)
        total = start
        size = self.statement.dims[self.statement.sequential]
        if self.dtype.is_float and self.word == "add":
            zero = literal(0.0, self.dtype)
            type_ = REGISTER[self.dtype]
            if size == 0 or triangular_bounds.has_condition(self.statement.node):
                total = zero
            elif not isinstance(size, int):
                empty = writer.at_entry(f"icmp sle i64 {writer.size(size)}, 0")
                total = writer.at_entry(f"select i1 {empty}, {type_} {zero}, {type_} {start}")
        if self.state.lanes > 1:
            total = writer.spread(total, REGISTER[self.dtype])
        self.cells.start(self.cells.each, self.cells.total, total)
        if self.state.is_free_along and self.cells.row is not None:
            self.cells.store(self.cells.row, start)

    def begin_chunk(self) -> None:
        """Write the chunk's start: what it goes on from, or nothing."""
        if self.skipped is not None:
            self.skipped.begin_chunk()
        node, start = self.statement.node, identity(self.statement)
        if goes_on(node):
            self.cells.each(self._go_on)
        elif self.is_short_code and self.cells.is_fresh is None:
            self._fill("chunk", start, self.count)
        else:
            self.cells.start(self.cells.each_in_scratch, self.cells.chunk, start)

    def _go_on(self, own: list[str]) -> None:
        """Write that the chunk goes on from what an operand has at the place of a cell."""
        place = tuple(own[dim] for dim in self.statement.axis_dims)
        before = self.elements.element(self.statement.node.operands[1], place)
        self.cells.store(self.cells.chunk(own), before)

    def begin_group(self) -> None:
        """Write the partials' start."""
        start = identity(self.statement)
        if self.cells.row is not None:
            self.cells.store(self.cells.row, start)
        elif self.state.along == 1 and self.is_short_code:
            self._fill("partials", start, self.count * self.lanes)
        elif self.state.along == 1:

            def write(own: list[str]) -> None:
                for lane in range(self.lanes):
                    self.cells.store(self.cells.partial(str(lane), own), start)

            self.cells.each_in_scratch(write)

    def _fill(self, name: str, start: str, count: Size) -> None:
        """Write the start into all cells of a kind."""
        short_code.fill(self.elements.writer, self.dtype, self.cells.begins(name), start, count)

    def join_group(self) -> None:
        """Reduce the partials into the chunk."""
        if self.skipped is not None:
            self.skipped.join_group()
        if self.cells.row is not None:
            row = self.cells.load(self.cells.row)
            chunk = self.cells.chunk(self._index_of(self.statement))
            self._join_into(chunk, self._reduced(row, self.lanes))
        elif self.state.along == 1 and self.is_short_code:
            places = self.cells.begins("chunk"), self.cells.begins("partials")
            short_code.join_group(self.elements.writer, self.word, self.dtype, places, self.count)
        elif self.state.along == 1:

            def write(own: list[str]) -> None:
                cells = [self.cells.partial(str(lane), own) for lane in range(self.lanes)]
                values = list(map(self.cells.load, cells))
                while len(values) > 1:
                    half = len(values) // 2
                    values = [self._join(values[i], values[i + half]) for i in range(half)]
                self._join_into(self.cells.chunk(own), values[0])

            self.cells.each_in_scratch(write)

    def join_chunk(self) -> None:
        """Join the chunk to the total."""
        self.cells.each(
            lambda own: self._join_into(
                self.cells.total(own), self.cells.load(self.cells.chunk(own))
            )
        )

    def complete_node(self, level: str) -> None:
        """Join the node of a level, the left one of two, to what is in the chunk."""
        self._join_into(self.cells.chunk([]), self.cells.load(self.cells.node(level)))

    def keep_node(self, level: str) -> None:
        """Keep what is in the chunk as the node of a level."""
        self.cells.store(self.cells.node(level), self.cells.load(self.cells.chunk([])))

    def join_sum(self, total: str) -> None:
        """Join the sum of a group that was joined in registers to the chunk."""
        self._join_into(self.cells.chunk(self.own), total)

    @property
    def own(self) -> list[str]:
        """The index of each dim whose loop is open; 0 for the others."""
        return self._index_of(self.statement)

    def step(self, own: list[str]) -> None:
        """Join the element at the index of all dims."""
        node, elements = self.statement.node, self.elements
        operands = elements.operands(node, own, len(summands(node)))
        holds = "true"
        if not self.is_narrowed:
            holds = triangular_bounds.counts(elements.writer, node, own)
        if holds == "false":
            return
        if self.state.along > 1:
            self._step_along(self._neutral_unless(holds, operands), own)
        elif self.in_registers:
            self.partial = self._joined_where(holds, self.partial, operands)
        elif self._joining is not None:
            self._step_into(self._joining, operands, holds)
        elif self.grouped:
            index = own[self.statement.sequential]
            lane = elements.writer.emit(f"and i64 {index}, {self._mask}")
            self._step_into(self.cells.partial(lane, own), operands, holds)
        else:
            self._step_into(self.cells.total(own), operands, holds)

    def take_chunk(self, number: str) -> None:
        """Have the sum that a task has made in the chunk's place."""
        cells = self.cells
        cells.each_in_scratch(
            lambda own: cells.store(cells.chunk(own), cells.load(cells.sum_of_chunk(number, own)))
        )

    def join_made(self, number: str, to_chunk: bool = False) -> None:
        """Join the sum that a task has made of a chunk, or of a group, to the total.

        ``to_chunk``: to the chunk at hand instead.
        """
        cells = self.cells
        to, each = (cells.chunk, cells.each_in_scratch) if to_chunk else (cells.total, cells.each)
        each(lambda own: self._join_into(to(own), cells.load(cells.sum_of_chunk(number, own))))

    def leave_chunk(self) -> None:
        """Put what a task has made of the chunk at hand where the joins find it."""
        assert self._chunk_at is not None
        total = self.end()
        if total is not None:
            own = self._index_of(self.statement)
            self.cells.store(self.cells.sum_of_chunk(self._chunk_at, own), total)

    def end(self) -> str | None:
        """Return the total in a register and give back the stack, None when it lives in memory."""
        if self.skipped is not None:
            self.skipped.release()
        if self.cells.is_apart:
            chunk = self.cells.chunk_on_stack
            made = None if chunk is None else self.cells.load(chunk)
            self.cells.release()
            return made
        own = self._index_of(self.statement)
        if self.state.is_free_along and self.cells.row is not None:
            row = self.cells.load(self.cells.row)
            self._join_into(self.cells.total(own), self._reduced(row, self.state.along))
        total = self.cells.load(self.cells.total(own)) if self.cells.in_register else None
        self.cells.release()
        return total

    def narrowed(self, loop: Loop) -> triangular_bounds.Range | None:
        """Return the iterations of the loop that count; the steps then look at no others."""
        own = self._index_of(self.statement)
        found = triangular_bounds.range_of(self.elements.writer, loop, own)
        self.is_narrowed = found is not None
        return found

    def begin_joining(self) -> None:
        """Join what follows to a partial of its own, in a register."""
        self._joining = self.cells.running()
        self.cells.store(self._joining, identity(self.statement))

    def end_joining(self, lane: str) -> None:
        """Put what was joined where a partial of the group is."""
        assert self._joining is not None
        own = self._index_of(self.statement)
        self.cells.store(self.cells.partial(lane, own), self.cells.load(self._joining))
        self._joining = None

    # -- lanes along the reduced axis --------------------------------------------------------------

    def _step_along(self, operands: list[str], own: list[str]) -> None:
        writer, state = self.elements.writer, self.state
        operands = [
            writer.spread(x, REGISTER[operand.type.dtype])
            for x, operand in zip(operands, summands(self.statement.node))
        ]
        if state.is_free_along:
            joined = [self._product(operands)] if len(operands) > 1 else operands
            (x,) = self._neutral_unless(writer.mask, joined)
            if state.inner:
                self._join_into(self.cells.total(own), self._reduced(x, writer.lanes))
            else:
                assert self.cells.row is not None
                self._join_into(self.cells.row, x)
        elif not self.grouped:
            self._in_order(self.cells.total(own), operands)
        elif self.in_rest and self.short is not None:
            opposite = writer.at_entry(f"xor i1 {self.short}, true")
            writer.where(self.short, lambda: self._in_order(self.cells.chunk(own), operands))
            writer.where(opposite, lambda: self._in_group(operands, own))
        else:
            self._in_group(operands, own)

    def _product(self, operands: list[str]) -> str:
        return lower_word(self.elements.writer, "mul", self.dtype, operands)

    def _neutral_unless(self, condition: str | None, operands: list[str]) -> list[str]:
        """Return operands that change nothing where a condition, if there is one, does not hold."""
        if condition in (None, "true"):
            return operands
        writer = self.elements.writer
        neutral = [identity(self.statement), literal(1.0, self.dtype)]
        return [
            select(writer, self.dtype, condition, x, rest) for x, rest in zip(operands, neutral)
        ]

    def _in_order(self, cell: Cell, operands: list[str]) -> None:
        """Join all lanes from the first to the last."""
        writer = self.elements.writer
        size = self.statement.dims[self.statement.sequential]
        have = self.cells.load(cell)
        if not isinstance(size, int) and not self.is_among_many:
            self.cells.store(cell, in_order(writer, self.word, self.dtype, have, operands))
            return
        operands = self._neutral_unless(writer.mask, operands)
        for lane in range(min(writer.lanes, size) if isinstance(size, int) else writer.lanes):
            picked = [element(writer, x, REGISTER[self.dtype], lane) for x in operands]
            have = self._joined(have, picked)
        self.cells.store(cell, have)

    def _in_group(self, operands: list[str], own: list[str]) -> None:
        """Join the lanes to the partials; a whole group of them makes its sum at once."""
        writer = self.elements.writer
        row = self.cells.row
        partial = self.cells.load(row) if row is not None else None
        mask = writer.mask
        type_ = REGISTER[self.dtype]
        for start in range(0, writer.lanes, self.lanes):
            pieces = [piece(writer, x, type_, start, self.lanes) for x in operands]
            where = None if mask is None else piece(writer, mask, "i1", start, self.lanes)
            with writer.in_lanes(self.lanes):
                have = identity(self.statement) if partial is None else partial
                partial = self._joined(partial, pieces)
                if where is not None:
                    partial = select(writer, self.dtype, where, partial, have)
        assert partial is not None
        if row is not None:
            self.cells.store(row, partial)
        elif (self.in_rest and self.short is not None) or not writer.inlines:
            self._join_into(self.cells.chunk(own), self._reduced(partial, self.lanes))
        else:
            cell = self.cells.chunk(own)
            kind = Joined(type_, self.lanes, self.word)
            self.elements.horizontal.add(
                kind, partial, self._join, functools.partial(self._join_into, cell)
            )

    def _reduced(self, row: str, lanes: int) -> str:
        """Return the lanes of a vector joined: partials, or what may be joined in any order."""
        compares = self.word.startswith(("maximum", "minimum"))
        return reduced(self.elements.writer, row, REGISTER[self.dtype], lanes, self._join, compares)

    # -- joins -------------------------------------------------------------------------------------

    def join(self, x: str | None, y: str | None) -> str | None:
        """Return two parts of a state joined; None is a part without elements."""
        if x is None or y is None:
            return y if x is None else x
        return self._join(x, y)

    def _join(self, x: str, y: str) -> str:
        return lower_word(self.elements.writer, self.word, self.dtype, [x, y])

    def _joined(self, have: str | None, operands: list[str]) -> str:
        if len(operands) > 1:
            if have is None:
                return self._product(operands)
            x, y = operands
            return multiply_add(self.elements.writer, self.dtype, x, y, have)
        return operands[0] if have is None else self._join(have, operands[0])

    def _joined_where(self, holds: str, have: str | None, operands: list[str]) -> str:
        """Return what is there with an element joined where a condition holds."""
        if holds == "true":
            return self._joined(have, operands)
        have = have or identity(self.statement)
        return select(self.elements.writer, self.dtype, holds, self._joined(have, operands), have)

    def _step_into(self, cell: Cell, operands: list[str], holds: str) -> None:
        self.cells.store(cell, self._joined_where(holds, self.cells.load(cell), operands))

    def _join_into(self, cell: Cell, value: str) -> None:
        self.cells.store(cell, self._join(self.cells.load(cell), value))


def short_of(writer: Writer, size: Size) -> str:
    """Return the flag that a size is no more than a group, and its elements join in order."""
    return writer.at_entry(f"icmp sle i64 {writer.size(size)}, {reduction.GROUP}")


def narrowed(loop: Loop, running: list[Running]) -> triangular_bounds.Range | None:
    """Return the iterations of a loop that count, if its sum need not look at the others."""
    if len(running) != 1 or running[0].grouped or running[0].state.along > 1:
        return None
    return running[0].narrowed(loop)
