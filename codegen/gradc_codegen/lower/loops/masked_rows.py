"""Masked sums of which each row of a block has one at most: row by row, not sum by sum.

The derivative of a minimum over many is such sums: a row of a block joins the one that has its
minimum. Sum by sum all rows are looked at for each of them. Row by row each joins the partial that
it has in the order of a group, of its own sum, neighbours of the loop inside side by side; then the
partials of the sums that have rows are reduced. No branch depends on which row has which sum.

Only in blocks where no chunk may be -0.0: there the zeros that a mask leaves change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from gradc_codegen.lower.lowering import Lowering
from gradc_codegen.lower.reducing.running import Running, identity
from gradc_codegen.nest.index_maps import index_maps
from gradc_codegen.nest.loop_nest import Item, Loop, Statement, StatementKind
from gradc_codegen.nest.masks import Mask, addend_of
from gradc_codegen.scalar.lower_scalar import is_function, lower_word
from gradc_codegen.storage.storage import Plan
from gradc_codegen.text.indices import Lane
from gradc_codegen.text.module import REGISTER, shuffle
from gradc_codegen.text.vectors import Spilled
from gradc_codegen.text.writer import Writer
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Value
from gradc_ir.core.types import DType
from gradc_ir.meaning import reduction

_GROUP = reduction.GROUP
# So many neighbours are joined at once. A shorter loop does not fill a vector.
_WIDTH = 8
_SHORTEST = 4
# The partials of so many sums are on the stack at once.
_MOST_SUMS = 2
_PLACES = f"<{_GROUP} x i8>"
# Fewer sums in a block are as fast by lanes.
_FEWEST = 2


class Sought(NamedTuple):
    """A loop over masked sums.

    Parameters
    ----------
    loop: whose iterations have a sum each, or a row of them.
    leading: what comes first in it, which makes the mask.
    items: what only serves sums of the mask.
    mask: what says which rows they have.
    sums: all of them.
    """

    loop: Loop
    leading: Sequence[Statement]
    items: Sequence[Item]
    mask: Mask
    sums: Sequence[Statement]


def serves(lowering: Lowering, sought: Sought, plan: Plan) -> bool:
    """Whether a loop over masked sums, at hand in a whole block of rows, may go row by row."""
    writer, loop = lowering.writer, sought.loop
    if writer.lanes != _GROUP or writer.mask is not None or writer.module.machine.is_small:
        return False
    if lowering.elements.block is not None or not _is_plain(loop):
        return False
    running = [lowering.running[one] for one in sought.sums]
    if any(made.in_rest for made in running) or len({made.dtype for made in running}) != 1:
        return False
    dims = dict.fromkeys(around for around, dim in sought.sums[0].loops if dim in sought.mask.dims)
    if loop not in dims or len(dims) != 2:
        return False
    inner = [item for item in sought.items if isinstance(item, Loop)]
    return (
        all(_serves(item, plan) for item in (*sought.leading, *sought.items))
        and all(_is_of_neighbours(one, plan) for one in inner)
        and all(len(_sums_in(one.body, sought)) <= _MOST_SUMS for one in inner)
    )


def _is_plain(loop: Loop) -> bool:
    return loop.block == 1 and not loop.reductions and not loop.staged and not loop.is_divided


def _serves(item: Item, plan: Plan) -> bool:
    """Whether a statement may be made for a single row: cheap, and kept in no memory."""
    if not isinstance(item, Statement):
        return isinstance(item, Loop)
    if item.kind is StatementKind.REDUCE:
        return True
    is_kept = item.kind is not StatementKind.MAP or plan.storage[item.value].memory
    return not is_kept and not is_function(item.node)


def _is_of_neighbours(loop: Loop, plan: Plan) -> bool:
    """Whether the iterations of a loop inside read what lies side by side in memory."""
    if isinstance(loop.size, int) and loop.size < _SHORTEST:
        return False
    statements = [item for item in loop.body if isinstance(item, Statement)]
    return (
        _is_plain(loop)
        and len(statements) == len(loop.body)
        and all(_serves(one, plan) and _reads_neighbours(one, loop, plan) for one in statements)
    )


def _reads_neighbours(statement: Statement, loop: Loop, plan: Plan) -> bool:
    moving = {dim for around, dim in statement.loops if around is loop}
    for value, reading in statement.sources:
        if not moving.isdisjoint(reading[: value.type.rank - 1]):
            return False
    for _, reading, value in statement.inputs:
        storage = plan.storage[value]
        apart = reading if storage.lanes > 1 else reading[: value.type.rank - 1]
        if storage.memory and not moving.isdisjoint(apart):
            return False
    return True


def _sums_in(body: Sequence[Item], sought: Sought) -> list[Statement]:
    return [item for item in body if isinstance(item, Statement) and item in sought.sums]


def write_by_rows(lowering: Lowering, sought: Sought, by_sums: Callable[[], None]) -> None:
    """Write a loop over masked sums: by rows where each has one sum at most, else ``by_sums``."""
    lowering.rows.flush()
    lowering.elements.horizontal.flush()
    rows = _Rows(lowering, sought)
    lowering.writer.either(rows.find(), rows.write, by_sums)
    rows.release()


class _Rows:
    """The rows of a block, and the sums that have any of them, as they were found."""

    def __init__(self, lowering: Lowering, sought: Sought) -> None:
        self._lowering = lowering
        self._sought = sought
        self._across = next(
            around for around, dim in sought.sums[0].loops if dim == sought.sums[0].sequential
        )
        take = lowering.writer.stack.take
        # the last place is that of rows without a sum
        self._numbers = take(f"[{_GROUP + 1} x i64]")
        self._masks = take(f"[{_GROUP + 1} x i32]")
        self._place_of, self._goes_on = take(_PLACES), take(_PLACES)
        self._count = take("i64")

    def release(self) -> None:
        """Give back the stack."""
        for place in (self._numbers, self._masks, self._place_of, self._goes_on, self._count):
            self._lowering.writer.stack.release(place)

    # -- which row has which sum -------------------------------------------------------------------

    def find(self) -> str:
        """Write which sum each row has; returns the flag that none has more than one."""
        lowering, writer, sought = self._lowering, self._lowering.writer, self._sought
        stack = writer.stack
        any_of, total, places = stack.take("i32"), stack.take("i32"), stack.take(_PLACES)
        for place in (any_of, total):
            writer.do(f"store i32 0, ptr {place}")
        writer.do(f"store i64 0, ptr {self._count}")
        writer.do(f"store {_PLACES} splat (i8 {_GROUP}), ptr {places}")
        writer.store_at("i64", "0", self._numbers, str(_GROUP))

        def look(index: str) -> None:
            lowering.indices[sought.loop] = index
            lowering.body_of(sought.leading)
            found = self._mask()
            bits = writer.emit(f"bitcast <{_GROUP} x i1> {found} to i32")
            count = writer.load("i64", self._count)
            writer.store_at("i64", index, self._numbers, count)
            writer.store_at("i32", bits, self._masks, count)
            number = writer.spread(writer.emit(f"trunc i64 {count} to i8"), "i8")
            before = writer.emit_vector(f"load {_PLACES}, ptr {places}")
            after = writer.emit_vector(
                f"select <{_GROUP} x i1> {found}, {_PLACES} {number}, {_PLACES} {before}"
            )
            writer.do(f"store {_PLACES} {after}, ptr {places}")
            has_rows = writer.emit(f"icmp ne i32 {bits}, 0")
            more = writer.add(count, writer.emit(f"zext i1 {has_rows} to i64"))
            writer.do(f"store i64 {writer.minimum(more, str(_GROUP))}, ptr {self._count}")
            joined = writer.emit(f"or i32 {writer.load('i32', any_of)}, {bits}")
            writer.do(f"store i32 {joined}, ptr {any_of}")
            rows = writer.emit(f"add i32 {writer.load('i32', total)}, {_ones(writer, bits)}")
            writer.do(f"store i32 {rows}, ptr {total}")
            del lowering.indices[sought.loop]

        writer.loop("0", writer.size(sought.loop.size), look)
        rows, once = writer.load("i32", total), _ones(writer, writer.load("i32", any_of))
        count = writer.load("i64", self._count)
        found = writer.emit_vector(f"load {_PLACES}, ptr {places}")
        writer.do(f"store {_PLACES} {found}, ptr {self._place_of}")
        writer.do(f"store {_PLACES} {self._going_on(found)}, ptr {self._goes_on}")
        for place in (any_of, total, places):
            stack.release(place)
        skipped = lowering.running[sought.sums[0]].skipped
        assert skipped is not None
        is_single = writer.emit(f"icmp eq i32 {rows}, {once}")
        are_enough = writer.emit(f"icmp uge i64 {count}, {_FEWEST}")
        fits = writer.emit(f"and i1 {is_single}, {are_enough}")
        is_positive = writer.emit(f"xor i1 {skipped.needs_zero}, true")
        return writer.emit(f"and i1 {fits}, {is_positive}")

    def _going_on(self, places: str) -> str:
        """Write for each row whether one before it joins the same partial of the same sum."""
        writer, no_place = self._lowering.writer, f"splat (i8 {_GROUP + 1})"
        found = "zeroinitializer"
        lanes = self._lowering.running[self._sought.sums[0]].lanes
        for distance in range(lanes, _GROUP, lanes):
            order = range(_GROUP - distance, 2 * _GROUP - distance)
            before = writer.emit_vector(shuffle(_PLACES, no_place, places, order))
            is_same = writer.emit_vector(f"icmp eq {_PLACES} {before}, {places}")
            found = writer.emit_vector(f"or <{_GROUP} x i1> {found}, {is_same}")
        return writer.emit_vector(f"zext <{_GROUP} x i1> {found} to {_PLACES}")

    def _mask(self) -> str:
        lowering, mask, one = self._lowering, self._sought.mask, self._sought.sums[0]
        own = lowering.own(one)
        found = lowering.elements.element(mask.value, tuple(own[dim] for dim in mask.dims))
        if not mask.holds:
            found = lower_word(lowering.writer, "not", DType.BOOL, [found])
        return lowering.writer.spread(found, "i1")

    # -- what rows join ----------------------------------------------------------------------------

    def write(self) -> None:
        """Write the joins of all rows, and by lanes those to sums that no loop is around."""
        lowering, sought = self._lowering, self._sought
        writer = lowering.writer
        before = [item for item in sought.items if isinstance(item, Statement)]
        made = [*sought.leading, *before]

        def by_lanes(number: str) -> None:
            lowering.indices[sought.loop] = writer.load_at("i64", self._numbers, number)
            lowering.body_of(made)
            lowering.rows.flush()
            lowering.elements.horizontal.flush()
            del lowering.indices[sought.loop]

        spilled = _SpilledLanes(lowering, sought)
        if any(one.kind is StatementKind.REDUCE for one in before):
            writer.plain_loop("0", writer.load("i64", self._count), by_lanes)
        for item in sought.items:
            if isinstance(item, Loop):
                self._loop(item, spilled, made)
        spilled.release()

    def _loop(self, loop: Loop, spilled: _SpilledLanes, before: Sequence[Statement]) -> None:
        writer = self._lowering.writer

        def strip(start: Lane) -> None:
            # an index of a name of its own: no lane of the block is known by it
            at = Lane(writer.emit(f"add i64 {start.origin}, 0"), "1")
            self._join(loop, at, spilled, before)

        writer.lane_loop(writer.size(loop.size), _WIDTH, strip)

    def _join(
        self, loop: Loop, at: Lane, spilled: _SpilledLanes, before: Sequence[Statement]
    ) -> None:
        """Write the joins to sums at neighbours of a loop, of all rows."""
        lowering, writer, sought = self._lowering, self._lowering.writer, self._sought
        statements = [item for item in loop.body if isinstance(item, Statement)]
        sums = _sums_in(loop.body, sought)
        partials = [_Partials(writer, lowering.running[one]) for one in sums]
        made = [one for one in (*before, *statements) if one.kind is StatementKind.MAP]
        block = lowering.indices[self._across]
        assert isinstance(block, Lane)
        lowering.indices[loop] = at

        def row(lane: str) -> None:
            place = writer.load_at("i8", self._place_of, lane)
            number = writer.emit(f"zext i8 {place} to i64")
            goes_on = writer.emit(f"trunc i8 {writer.load_at('i8', self._goes_on, lane)} to i1")
            lowering.indices[self._across] = writer.add(block.origin, lane)
            lowering.indices[sought.loop] = writer.load_at("i64", self._numbers, number)
            with spilled.of_lane(lane):
                for partial, addend in zip(partials, self._addends(made, sums)):
                    partial.join(number, partial.of_row(lane), addend, goes_on)
            del lowering.indices[sought.loop]
            lowering.indices[self._across] = block

        def end(number: str) -> None:
            lowering.indices[sought.loop] = writer.load_at("i64", self._numbers, number)
            bits = writer.load_at("i32", self._masks, number)
            rest = writer.emit(f"and i32 {bits}, {writer.emit(f'sub i32 {bits}, 1')}")

            def single() -> None:
                found = writer.module.call("i32", "@llvm.cttz.i32", f"i32 {bits}", "i1 true")
                lane = writer.emit(f"zext i32 {writer.emit(found)} to i64")
                for partial in partials:
                    partial.running.join_sum(partial.load(number, partial.of_row(lane)))

            def several() -> None:
                for partial in partials:
                    partial.running.join_sum(partial.reduced(number, bits))

            writer.either(writer.emit(f"icmp eq i32 {rest}, 0"), single, several)
            del lowering.indices[sought.loop]

        writer.loop("0", str(_GROUP), row, mark=writer.module.keep_plain())
        writer.plain_loop("0", writer.load("i64", self._count), end)
        del lowering.indices[loop]
        for partial in partials:
            partial.release()

    def _addends(self, made: Sequence[Statement], sums: Sequence[Statement]) -> list[str]:
        """Write what sums join of the row at hand."""
        lowering, elements = self._lowering, self._lowering.elements
        selected = {one.node.operands[0] for one in sums}
        for one in made:
            if one.value not in selected:
                elements.registers[one.value] = elements.compute(one.node, tuple(lowering.own(one)))
        found = []
        for one in sums:
            own = lowering.own(one)
            (dims,) = index_maps(one.node)
            at = tuple(own[dim] for dim in dims if isinstance(dim, int))
            found.append(elements.element(addend_of(one), at))
        return found


class _Partials:
    """The partials of neighbouring sums, for each of the places that sums with rows have.

    Nothing is in those that no row has joined: they are taken for what changes nothing.
    """

    def __init__(self, writer: Writer, running: Running) -> None:
        self._writer = writer
        self.running = running
        self._count = running.lanes
        self._register = REGISTER[running.dtype]
        self._type = writer.type_of(self._register, True)
        self._place = writer.stack.take(f"[{(_GROUP + 1) * self._count} x {self._type}]")
        self._nothing = writer.stack.take(self._type)
        start = writer.spread(identity(running.statement), self._register)
        writer.do(f"store {self._type} {start}, ptr {self._nothing}")

    def release(self) -> None:
        """Give back the stack."""
        for place in (self._place, self._nothing):
            self._writer.stack.release(place)

    def of_row(self, lane: str) -> str:
        """Return the number of the partial that a row of the block joins."""
        return self._writer.emit(f"and i64 {lane}, {self._count - 1}")

    def join(self, number: str, partial: str, addend: str, goes_on: str) -> None:
        """Write the join of an element to a partial; ``goes_on``: a flag that it is not its first.

        ``number``: the place of the sum.
        """
        writer, at = self._writer, self._at(number, partial)
        joined = self._add(self._load_if(goes_on, at), writer.spread(addend, self._register))
        writer.do(f"store {self._type} {joined}, ptr {at}")

    def load(self, number: str, partial: str) -> str:
        """Return a partial that a row has joined."""
        return self._writer.emit_vector(f"load {self._type}, ptr {self._at(number, partial)}")

    def reduced(self, number: str, rows: str) -> str:
        """Write all partials of a sum joined, by halving; ``rows``: the bits of its rows."""
        writer, joined = self._writer, rows
        for distance in range(self._count, _GROUP, self._count):
            moved = writer.emit(f"lshr i32 {rows}, {distance}")
            joined = writer.emit(f"or i32 {joined}, {moved}")
        totals = []
        for partial in range(self._count):
            bit = writer.emit(f"lshr i32 {joined}, {partial}")
            has_any = writer.emit(f"trunc i32 {bit} to i1")
            totals.append(self._load_if(has_any, self._at(number, str(partial))))
        while len(totals) > 1:
            half = len(totals) // 2
            totals = [self._add(x, y) for x, y in zip(totals[:half], totals[half:])]
        return totals[0]

    def _load_if(self, condition: str, at: str) -> str:
        """Write a load; where a condition does not hold, of what changes nothing. No branch."""
        writer = self._writer
        place = writer.emit(f"select i1 {condition}, ptr {at}, ptr {self._nothing}")
        return writer.emit_vector(f"load {self._type}, ptr {place}")

    def _add(self, x: str, y: str) -> str:
        return lower_word(self._writer, "add", self.running.dtype, [x, y])

    def _at(self, number: str, partial: str) -> str:
        writer = self._writer
        at = writer.add(writer.multiply(number, str(self._count)), partial)
        return writer.emit(f"getelementptr inbounds {self._type}, ptr {self._place}, i64 {at}")


class _SpilledLanes:
    """What the lanes of a block have in registers and the sums read, on the stack, lane by lane."""

    def __init__(self, lowering: Lowering, sought: Sought) -> None:
        self._elements = lowering.elements
        self._spilled: dict[Value, Spilled] = {}
        registers = lowering.elements.registers
        statements = list(_statements(sought))
        made = {value for statement in statements for value in statement.values}
        for statement in statements:
            for _, _, value in statement.inputs:
                if value in registers and value not in made and value not in self._spilled:
                    register, type_ = registers[value], REGISTER[value.type.dtype]
                    self._spilled[value] = Spilled(lowering.writer, register, type_)

    @contextmanager
    def of_lane(self, lane: str) -> Iterator[None]:
        """Have in registers what one lane has."""
        elements, before = self._elements, self._elements.registers
        elements.registers = dict(before)
        elements.lane = lane
        for value, spilled in self._spilled.items():
            elements.registers[value] = spilled.lane(lane)
        yield
        elements.registers, elements.lane = before, None

    def release(self) -> None:
        """Give back the stack."""
        for spilled in self._spilled.values():
            spilled.release()


def _statements(sought: Sought) -> Iterator[Statement]:
    for item in (*sought.leading, *sought.items):
        if isinstance(item, Statement):
            yield item
        elif isinstance(item, Loop):
            yield from (one for one in item.body if isinstance(one, Statement))


def _ones(writer: Writer, bits: str) -> str:
    return writer.emit(writer.module.call("i32", "@llvm.ctpop.i32", f"i32 {bits}"))
