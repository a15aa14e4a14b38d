"""Rows of elements that lanes make one after another, written side by side.

A stack of numbers for each lane is a row of memory for each. Element by element they would be
scattered; eight at a time they are transposed in registers, and written as neighbours.
"""

from __future__ import annotations

from typing import NamedTuple

from gradc_codegen.lower.transpose_blocks import SIDE, columns_of, first_lanes
from gradc_codegen.text.indices import Lane
from gradc_codegen.text.loads_and_stores import Memory
from gradc_codegen.text.module import REGISTER
from gradc_codegen.text.vectors import piece
from gradc_codegen.text.writer import Writer
from gradc_ir.core.graph import Value


class _Row(NamedTuple):
    """The row of each lane.

    Parameters
    ----------
    base: where the array begins; ``wanted``: the flag whether it is to be written.
    start: where the rows begin, a position for each lane.
    columns: how many elements a row has.
    have: those that are there.
    """

    value: Value
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
        self._rows: dict[Value, _Row] = {}

    def takes(self, value: Value) -> bool:
        """Whether an array is one whose rows can be written so, in the lanes at hand."""
        writer, type_ = self._writer, value.type
        return type_.dtype.is_float and writer.mask is None and writer.lanes % SIDE == 0

    def add(
        self,
        value: Value,
        base: str,
        wanted: str,
        start: Lane,
        columns: int,
        at: int,
        register: str,
    ) -> None:
        """Keep an element of each row; squares of eight are written when they are there."""
        row = self._rows.setdefault(value, _Row(value, base, wanted, start, columns, {}))
        have = row.have
        have[at] = self._writer.spread(register, REGISTER[value.type.dtype])
        first = at - at % SIDE
        if all(first + i in have for i in range(SIDE)):
            self._write(row, first, SIDE)

    def flush(self) -> None:
        """Write what fills no square."""
        for row in self._rows.values():
            first = row.columns - row.columns % SIDE
            if len(row.have) < row.columns:
                self._writer.where(row.wanted, lambda row=row: self._alone(row))  # type: ignore[misc]
            elif row.columns > SIDE and first < row.columns:
                self._write(row, row.columns - SIDE, SIDE)
            elif first < row.columns:
                self._write(row, first, row.columns - first)
        self._rows.clear()

    def _alone(self, row: _Row) -> None:
        """Write elements one by one where others are not made here; squares are there already."""
        for at, register in row.have.items():
            place = Lane(self._writer.add(row.start.origin, str(at)), row.start.step)
            self._memory.store(row.base, place, row.value.type.dtype, register)

    def _write(self, row: _Row, first: int, width: int) -> None:
        self._writer.where(row.wanted, lambda: self._squares(row, first, width))

    def _squares(self, row: _Row, first: int, width: int) -> None:
        writer, dtype = self._writer, row.value.type.dtype
        type_, lanes = REGISTER[dtype], writer.lanes
        columns = [row.have[first + i] for i in range(width)]
        for start in range(0, lanes, SIDE):
            pieces = [piece(writer, column, type_, start, SIDE) for column in columns]
            with writer.in_lanes(SIDE, None if width == SIDE else first_lanes(width)):
                pieces += ["poison"] * (SIDE - width)
                for lane, register in enumerate(columns_of(writer, pieces, type_)):
                    position = writer.add(
                        row.start.origin, writer.multiply(row.start.step, str(start + lane))
                    )
                    at = Lane(writer.add(position, str(first)), "1")
                    self._memory.store(row.base, at, dtype, register)
