"""Transposing blocks of arrays: what lies apart for lanes is copied to scratch, side by side.

Eight rows of eight neighbours are loaded as eight vectors and transposed in registers, by three
rounds of shuffles that exchange halves, quarters and neighbours. What does not fill such a square
is gathered.
"""

from __future__ import annotations

from gradc_codegen.lower.addresses import Place
from gradc_codegen.lower.elements import Elements
from gradc_codegen.nest.loop_nest import Staged
from gradc_codegen.storage.storage import Buffer
from gradc_codegen.text.indices import Lane
from gradc_codegen.text.module import REGISTER, shuffle

_SIDE = 8
# So many rows ahead memory is asked for, line after line, as many lines as a square has: not all
# processors foresee an order by squares, nor fetch well in one. docs/decisions/0019-lanes.md
_AHEAD = 32
_LINE = 64


def transpose(elements: Elements, staged: Staged, at: Lane, buffer: Buffer) -> None:
    """Copy a block of an array, the lanes from ``at`` on, and have it read from there."""
    writer, value = elements.writer, staged.value
    shape = value.type.shape
    last = value.type.rank - 1
    rows = shape[staged.axis]
    # of many blocks the last is gathered: squares are much code
    is_only = isinstance(rows, int) and rows <= writer.lanes
    squares = staged.in_squares and writer.lanes % _SIDE == 0 and (writer.mask is None or is_only)

    def nest(others: list[str]) -> None:
        if len(others) == len(staged.others):
            _gather(elements, staged, at, buffer, others)
            return
        axis = staged.others[len(others)]
        size = writer.size(shape[axis])
        start = "0"
        if squares and axis == last:
            start = writer.whole_blocks("0", size, _SIDE)
            _transpose_squares(elements, staged, at, buffer, others, start)
        writer.loop(start, size, lambda index: nest([*others, index]))

    nest([])
    elements.transposed[staged] = at, buffer


def _gather(elements: Elements, staged: Staged, at: str, buffer: Buffer, others: list[str]) -> None:
    index = (*others[: staged.axis], at, *others[staged.axis :])
    register = elements.element(staged.value, index)
    place = elements.in_block(staged, buffer, others)
    elements.store(place, staged.value.type.dtype, register, mask=False)


def _transpose_squares(
    elements: Elements, staged: Staged, at: Lane, buffer: Buffer, others: list[str], end: str
) -> None:
    """Transpose the columns before ``end``, eight rows at a time, and fetch rows that come soon.

    Where lanes have a mask, since there are fewer rows, the last row stands for those behind it.
    """
    writer, value = elements.writer, staged.value
    is_short, bottom = writer.mask is not None, writer.size(value.type.shape[staged.axis] - 1)
    dtype, shape = value.type.dtype, list(value.type.shape)
    lanes, base = writer.lanes, elements.whole(value)
    line = _LINE // dtype.bytes

    def square(start: str, first: str) -> None:
        with writer.in_lanes(_SIDE):
            rows = []
            for row in range(_SIDE):
                along = writer.add(writer.add(at.origin, start), str(row))
                along = writer.minimum(along, bottom) if is_short else along
                position = writer.linear([*others, along, Lane(first, "1")], shape)
                rows.append(elements.memory.load(base, position, dtype))
            for column, register in enumerate(_columns_of(elements, rows, REGISTER[dtype])):
                index = [*others, writer.add(first, str(column))]
                place = elements.in_block(staged, buffer, index, lanes)
                assert isinstance(place.position, Lane)
                moved = Lane(writer.add(place.position.origin, start), "1")
                elements.store(Place(place.base, moved), dtype, register)

    def along(start: str) -> None:
        if is_short:  # nothing is ahead
            writer.loop("0", end, lambda first: square(start, first), _SIDE)
            return
        soon = writer.add(writer.add(at.origin, start), str(_AHEAD))
        strip = writer.linear([*others, soon, "0"], shape)

        def fetch(position: str) -> None:
            elements.memory.fetch(base, writer.add(strip, position), dtype)

        def both(first: str) -> None:
            begin = writer.multiply(first, str(_SIDE))
            for further in range(0, _SIDE * _SIDE, line):
                fetch(writer.add(begin, str(further)))
            square(start, first)

        writer.loop("0", end, both, _SIDE)
        columns = writer.size(shape[-1])
        if columns != end:
            begin, length = (writer.multiply(column, str(_SIDE)) for column in (end, columns))
            writer.loop(begin, length, fetch, line)

    writer.loop("0", str(lanes), along, _SIDE)


def _columns_of(elements: Elements, rows: list[str], type_: str) -> list[str]:
    """Return the columns of a square of rows."""
    writer = elements.writer
    whole = writer.type_of(type_, True)
    distance = _SIDE // 2
    while distance:
        low = [lane if not lane & distance else _SIDE + lane - distance for lane in range(_SIDE)]
        high = [lane + distance if not lane & distance else _SIDE + lane for lane in range(_SIDE)]
        made = list(rows)
        for i in range(_SIDE):
            if not i & distance:
                for target, lanes in ((i, low), (i + distance, high)):
                    made[target] = writer.emit_vector(
                        shuffle(whole, rows[i], rows[i + distance], lanes)
                    )
        rows = made
        distance //= 2
    return rows
