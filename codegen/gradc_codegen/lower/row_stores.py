"""Rows of elements that lanes make one after another, written side by side.

A stack of numbers for each lane is a row of memory for each. Element by element they would be
scattered; eight at a time they are transposed in registers, and written as neighbours. Short rows
that follow one another are one run of memory, whose vectors are picked from the columns.
"""

from __future__ import annotations

import functools

from gradc_codegen.lower.transpose_blocks import SIDE, columns_of
from gradc_codegen.text.indices import Lane, first_lanes
from gradc_codegen.text.loads_and_stores import Memory
from gradc_codegen.text.module import REGISTER, shuffle
from gradc_codegen.text.vectors import piece
from gradc_codegen.text.writer import Writer
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Node
from gradc_ir.core.types import DType

# A square takes 24, and eight stores under masks.
_MOST_SHUFFLES = 30


class _Row(NamedTuple):
    """The row of each lane.

    Parameters
    ----------
    base: where the array begins; ``wanted``: the flag whether it is to be written.
    start: where the rows begin, a position for each lane.
    columns: how many elements a row has.
    have: those that are there.
    """

    dtype: DType
    base: str
    wanted: str
    start: Lane
    columns: int
    have: dict[int, str]


class RowStores:
    """The elements of rows that are not written yet, of one LLVM function."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._memory = Memory(writer)
        self._rows: dict[Node, _Row] = {}

    def takes(self, dtype: DType) -> bool:
        """Whether rows of a dtype can be written so, in the lanes at hand."""
        writer = self._writer
        return dtype is not DType.BOOL and writer.lanes % SIDE == 0

    def add(
        self,
        stack: Node,
        base: str,
        wanted: str,
        start: Lane,
        columns: int,
        at: int,
        register: str,
    ) -> None:
        """Keep an element of each row; squares of eight are written when they are there."""
        dtype = stack.results[0].type.dtype
        row = self._rows.setdefault(stack, _Row(dtype, base, wanted, start, columns, {}))
        have = row.have
        have[at] = self._writer.spread(register, REGISTER[dtype])
        first = at - at % SIDE
        if columns > SIDE and all(first + i in have for i in range(SIDE)):
            self._write(row, first, SIDE)

    def flush(self) -> None:
        """Write what fills no square."""
        for row in self._rows.values():
            first = row.columns - row.columns % SIDE
            if len(row.have) == row.columns <= SIDE:
                self._write(row, 0, row.columns)
            elif len(row.have) < row.columns:
                self._writer.where(row.wanted, lambda row=row: self._alone(row))  # type: ignore[misc]
            elif row.columns > SIDE and first < row.columns:
                self._write(row, row.columns - SIDE, SIDE)
        self._rows.clear()

    def _alone(self, row: _Row) -> None:
        """Write elements one by one where others are not made here; squares are there already."""
        for at, register in row.have.items():
            place = Lane(self._writer.add(row.start.origin, str(at)), row.start.step)
            self._memory.store(row.base, place, row.dtype, register)

    def _write(self, row: _Row, first: int, width: int) -> None:
        write = self._run if self._is_run(row) else self._squares
        self._writer.where(row.wanted, lambda: write(row, first, width))

    def _is_run(self, row: _Row) -> bool:
        """Whether rows follow one another, and columns are fewer shuffles than squares."""
        columns = row.columns
        if not self._writer.module.machine.is_wide or columns > SIDE:
            return False
        moving = sum(not _is_literal(column) for column in row.have.values())
        shuffles = columns * (moving - (moving == columns))
        return row.start.step == str(columns) and shuffles <= _MOST_SHUFFLES

    def _run(self, row: _Row, first: int, width: int) -> None:
        """Write rows as the vectors of one run: each column goes to its lanes of each of them."""
        writer, type_ = self._writer, REGISTER[row.dtype]
        left = writer.left if writer.mask is not None else ""
        columns = [row.have[i] for i in range(width)]
        for start in range(0, writer.lanes, SIDE):
            pieces = [piece(writer, column, type_, start, SIDE) for column in columns]
            for number in range(width):
                begin = number * SIDE
                mask = None
                with writer.in_lanes(SIDE):
                    vector = _picked(writer, pieces, type_, begin)
                    at = writer.add(row.start.origin, str(start * width + begin))
                    if left:
                        count = writer.multiply(left, str(width))
                        mask = writer.below(writer.subtract(count, str(start * width + begin)))
                with writer.in_lanes(SIDE, mask):
                    self._memory.store(row.base, Lane(at, "1"), row.dtype, vector)

    def _squares(self, row: _Row, first: int, width: int) -> None:
        writer, dtype = self._writer, row.dtype
        type_, lanes = REGISTER[dtype], writer.lanes
        left = writer.left if writer.mask is not None else ""
        columns = [row.have[first + i] for i in range(width)]
        for start in range(0, lanes, SIDE):
            pieces = [piece(writer, column, type_, start, SIDE) for column in columns]
            with writer.in_lanes(SIDE):
                pieces += ["poison"] * (SIDE - width)
                made = columns_of(writer, pieces, type_)
            for lane, register in enumerate(made):
                position = writer.add(
                    row.start.origin, writer.multiply(row.start.step, str(start + lane))
                )
                at = Lane(writer.add(position, str(first)), "1")

                def store(register: str = register, at: Lane = at) -> None:
                    with writer.in_lanes(SIDE, None if width == SIDE else first_lanes(width, SIDE)):
                        self._memory.store(row.base, at, dtype, register)

                if left:
                    writer.branch_if_less(str(start + lane), left, store)
                else:
                    store()


def _picked(writer: Writer, columns: list[str], type_: str, begin: int) -> str:
    """Return the vector of elements of rows that follow one another, from one of them on."""
    whole, width = writer.type_of(type_, True), len(columns)
    wanted = [columns[(begin + lane) % width] for lane in range(SIDE)]
    rows = [(begin + lane) // width for lane in range(SIDE)]

    def joined(found: str, column: str) -> str:
        """Return a vector with those lanes that are a column's."""
        lanes = [
            SIDE + row if one == column else lane
            for lane, (one, row) in enumerate(zip(wanted, rows))
        ]
        return writer.emit_vector(shuffle(whole, found, column, lanes))

    moving = [one for one in dict.fromkeys(wanted) if not _is_literal(one)]
    literals = [one for one in dict.fromkeys(wanted) if _is_literal(one)]
    if len(moving) < 2:  # one shuffle is all it takes
        return functools.reduce(joined, [*literals, *moving], "poison")
    # the first shuffle picks of two columns; numbers that are known are blended in, which is less
    first, second, *others = moving
    lanes = [
        SIDE + row if one == second else row if one == first else -1
        for one, row in zip(wanted, rows)
    ]
    found = writer.emit_vector(shuffle(whole, first, second, lanes))
    found = functools.reduce(joined, others, found)
    if literals:
        known = functools.reduce(joined, literals, "poison")
        lanes = [SIDE + i if _is_literal(one) else i for i, one in enumerate(wanted)]
        found = writer.emit_vector(shuffle(whole, found, known, lanes))
    return found


def _is_literal(register: str) -> bool:
    """Whether a vector is known now."""
    return register.startswith(("splat", "<"))
