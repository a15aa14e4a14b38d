"""Elements of SciPy's sparse matrices with a row and a column each, read when they are needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradc_ir.core.types import Array

# Formats whose elements are read; in others they are no arrays that one could compare.
READ = ("csr", "csc", "coo", "dia", "bsr")
PARTS = ("data", "rows", "columns")


class Coordinates:
    """The elements of a matrix that ``fetch`` finds again, in the order of its own storage.

    What has to be made anew, rows from where they begin and elements of diagonals and blocks, is
    kept for as long as what it was made of stays the same.
    """

    def __init__(self, fetch: Callable[[], Any]) -> None:
        self._fetch = fetch
        self._made_of: list[tuple[Any, ...]] = []
        self._made: Any = None

    def read(self, part: str) -> Array:
        """Return the numbers, the rows or the columns; raises ValueError for another format."""
        matrix = self._fetch()
        if matrix.format in ("dia", "bsr"):
            structure = (
                (matrix.offsets,) if matrix.format == "dia" else (matrix.indices, matrix.indptr)
            )
            matrix = self._anew((matrix.data, *structure), matrix.tocoo)
        if part == "data":
            found = matrix.data
        elif matrix.format == "coo":
            found = matrix.row if part == "rows" else matrix.col
        elif matrix.format not in READ:
            raise ValueError(matrix.format)
        elif (matrix.format == "csr") == (part == "columns"):
            found = matrix.indices
        else:
            found = self._anew((matrix.indptr,), lambda: expanded(matrix.indptr))
        return np.asarray(found)

    def _anew(self, made_of: tuple[Array, ...], make: Callable[[], Any]) -> Any:
        # bytes are compared several times as quickly as arrays are
        now = [(array.dtype, array.shape, array.tobytes()) for array in made_of]
        if now != self._made_of:
            self._made_of, self._made = now, make()
        return self._made


class PartOf:
    """Reads one part of the elements of a matrix again."""

    __slots__ = ("coordinates", "part")

    def __init__(self, coordinates: Coordinates, part: str) -> None:
        self.coordinates = coordinates
        self.part = part

    def __call__(self) -> Array:
        """Return the array."""
        return self.coordinates.read(self.part)


def expanded(starts: Array) -> Array:
    """Return the row of each element, from where the rows begin."""
    return np.repeat(np.arange(len(starts) - 1, dtype=starts.dtype), np.diff(starts))
