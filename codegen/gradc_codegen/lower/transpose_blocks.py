"""Transposing blocks of arrays: what lies apart for lanes is copied to scratch, side by side.

Eight rows of eight neighbours are loaded as eight vectors and transposed in registers, by three
rounds of shuffles that exchange halves, quarters and neighbours. Where rows fill no last square
it overlaps the one before, or is loaded under a mask.
"""

from __future__ import annotations

from gradc_codegen.lower.addresses import Place
from gradc_codegen.lower.elements import Elements
from gradc_codegen.nest.loop_nest import Staged
from gradc_codegen.storage.storage import Buffer
from gradc_codegen.text.indices import Lane, first_lanes
from gradc_codegen.text.module import REGISTER, shuffle
from gradc_codegen.text.writer import Writer
from gradc_ir.core.sizes import Size

SIDE = 8
# So many rows ahead memory is asked for, line after line, as many lines as a square has: not all
# processors foresee an order by squares, nor fetch well in one. docs/decisions/0019-lanes.md
_AHEAD = 32
_LINE = 64


def transpose(elements: Elements, staged: Staged, at: Lane, buffer: Buffer) -> None:
    """Copy a block of an array, the lanes from ``at`` on, and have it read from there."""
    writer, value = elements.writer, staged.value
    shape = value.type.shape
    rows = shape[staged.axis]
    # of many blocks the last is gathered: squares are much code
    is_only = isinstance(rows, int) and rows <= writer.lanes
    squares = staged.in_squares and writer.lanes % SIDE == 0 and (writer.mask is None or is_only)

    def nest(others: list[str]) -> None:
        if squares and len(others) == staged.axis:
            _transpose_squares(elements, staged, at, buffer, others)
            return
        if len(others) == len(staged.others):
            _gather(elements, staged, at, buffer, others)
            return
        size = writer.size(shape[staged.others[len(others)]])
        writer.loop("0", size, lambda index: nest([*others, index]))

    nest([])
    elements.transposed[staged] = at, buffer


def _gather(elements: Elements, staged: Staged, at: str, buffer: Buffer, others: list[str]) -> None:
    index = (*others[: staged.axis], at, *others[staged.axis :])
    register = elements.element(staged.value, index)
    place = elements.in_block(staged, buffer, others)
    elements.store(place, staged.value.type.dtype, register, mask=False)


def _transpose_squares(
    elements: Elements, staged: Staged, at: Lane, buffer: Buffer, others: list[str]
) -> None:
    """Transpose rows, eight at a time, and fetch rows that come soon.

    Where lanes have a mask, since there are fewer rows, the last row stands for those behind it.
    """
    writer, value = elements.writer, staged.value
    is_short, bottom = writer.mask is not None, writer.size(value.type.shape[staged.axis] - 1)
    dtype, lanes, base = value.type.dtype, writer.lanes, elements.whole(value)
    shape: list[Size] = [*value.type.shape[: staged.axis + 1], staged.columns]
    columns = writer.size(staged.columns)
    end = writer.whole_blocks("0", columns, SIDE)
    line = _LINE // dtype.bytes

    def square(start: str, first: str, width: int = SIDE) -> None:
        with writer.in_lanes(SIDE, None if width == SIDE else first_lanes(width, SIDE)):
            rows = []
            for row in range(SIDE):
                along = writer.add(writer.add(at.origin, start), str(row))
                along = writer.minimum(along, bottom) if is_short else along
                position = writer.linear([*others, along, Lane(first, "1")], shape)
                rows.append(elements.memory.load(base, position, dtype))
        with writer.in_lanes(SIDE):
            made = columns_of(writer, rows, REGISTER[dtype])
            for column, register in enumerate(made[:width]):
                position = writer.linear([*others, writer.add(first, str(column))], block)
                place = Place(elements.pointer(buffer), elements.in_scratch(position, lanes))
                assert isinstance(place.position, Lane)
                moved = Lane(writer.add(place.position.origin, start), "1")
                elements.store(Place(place.base, moved), dtype, register)

    block: list[Size] = [*value.type.shape[: staged.axis], staged.columns]

    def rest(start: str) -> None:
        """Transpose the columns that fill no square."""
        if isinstance(staged.columns, int):
            width = staged.columns % SIDE
            if width and staged.columns > SIDE:
                square(start, str(staged.columns - SIDE))
            elif width:
                square(start, "0", width)
            return

        def alone(column: str) -> None:
            with writer.in_lanes(SIDE):
                along: str = Lane(writer.add(at.origin, start), "1")
                if is_short:
                    type_ = writer.type_of("i64", True)
                    given = (
                        f"{type_} {writer.index_vector(along)}",
                        f"{type_} {writer.spread(bottom, 'i64')}",
                    )
                    name = f"@llvm.smin.v{SIDE}i64"
                    along = writer.emit_vector(writer.module.call(type_, name, *given))
                position = writer.linear([*others, along, column], shape)
                register = elements.memory.load(base, position, dtype)
                position = writer.linear([*others, column], block)
                place = elements.in_scratch(position, lanes)
                assert isinstance(place, Lane)
                moved = Lane(writer.add(place.origin, start), "1")
                elements.store(Place(elements.pointer(buffer), moved), dtype, register)

        writer.loop(end, columns, alone)

    def along(start: str) -> None:
        if is_short:  # nothing is ahead
            writer.loop("0", end, lambda first: square(start, first), SIDE)
            rest(start)
            return
        soon = writer.add(writer.add(at.origin, start), str(_AHEAD))
        strip = writer.linear([*others, soon, "0"], shape)

        def fetch(position: str) -> None:
            elements.memory.fetch(base, writer.add(strip, position), dtype)

        def both(first: str) -> None:
            begin = writer.multiply(first, str(SIDE))
            for further in range(0, SIDE * SIDE, line):
                fetch(writer.add(begin, str(further)))
            square(start, first)

        writer.loop("0", end, both, SIDE)
        rest(start)
        if columns != end:
            begin, length = (writer.multiply(column, str(SIDE)) for column in (end, columns))
            writer.loop(begin, length, fetch, line)

    writer.loop("0", str(lanes), along, SIDE)


def columns_of(writer: Writer, rows: list[str], type_: str) -> list[str]:
    """Return the columns of a square of rows."""
    whole = writer.type_of(type_, True)
    distance = SIDE // 2
    while distance:
        low = [lane if not lane & distance else SIDE + lane - distance for lane in range(SIDE)]
        high = [lane + distance if not lane & distance else SIDE + lane for lane in range(SIDE)]
        made = list(rows)
        for i in range(SIDE):
            if not i & distance:
                for target, lanes in ((i, low), (i + distance, high)):
                    made[target] = writer.emit_vector(
                        shuffle(whole, rows[i], rows[i + distance], lanes)
                    )
        rows = made
        distance //= 2
    return rows
