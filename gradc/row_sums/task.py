"""What travels to a worker: the graph of a pass and what it is given, to be run on blocks of rows.

A graph is bytes, and is compiled once a process; its machine code is kept on disk as that of any
other function.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradc.row_sums.nests import leaves_of_rows
from gradc.row_sums.partials import Partials, Sums
from gradc.runtime.executable import Executable
from gradc.runtime.specialize import working
from gradc_ir.core.graph import Function
from gradc_ir.core.types import Array, DType
from gradc_ir.errors import DTypeError, ShapeError
from gradc_ir.location import Location, Outside
from gradc_ir.meaning import tree
from gradc_ir.meaning.reduction import CHUNK, GROUP
from gradc_ir.meaning.tree import Place, cover
from gradc_ir.text.packed import Packed, pack, unpack

# Rows of about so many bytes go through a kernel at once: they are read from memory one time, and
# from a cache after that.
_BLOCK_BYTES = 2**23
# What has to be copied first should be in the cache of one core then.
_COPIED_BYTES = 2**20
_MOST_KEPT = 64
_kept: OrderedDict[Any, Executable] = OrderedDict()
_keeping = threading.Lock()


@dataclass(frozen=True)
class RowArray:
    """What the rows of an argument are like.

    Parameters
    ----------
    path: how the argument is reached.
    dtype: of its elements.
    shape: of one row.
    """

    path: str
    dtype: DType
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Task:
    """A pass over rows, which computes what a block of them adds: ``task(rows, start)``.

    Parameters
    ----------
    name: of the function.
    arrays: all row arguments.
    read: which of them the pass reads.
    part: the graph of the pass; ``few`` that of no more than 32 rows, the last of many.
    given: what it is given beside rows.
    counts: whether it takes the number of its first row.
    joins: how the parts of each sum join.
    blas: whether large products go to BLAS, whose bits are its own.
    finite: whether to look for the first value that is not finite.
    """

    name: str
    arrays: tuple[RowArray, ...]
    read: tuple[int, ...]
    part: Packed
    few: Packed
    given: tuple[Array, ...]
    counts: bool
    joins: tuple[str, ...]
    blas: bool = False
    finite: bool = False

    @property
    def nbytes(self) -> int:
        """The bytes of the graphs and of what it is given."""
        graphs = (each for packed in (self.part, self.few) for each in packed)
        return sum(map(len, graphs)) + sum(array.nbytes for array in self.given)

    def __call__(self, rows: Any, start: int = 0) -> Partials:
        """Return what a block of rows adds to the sums.

        Parameters
        ----------
        rows: an array for each row argument, in a tuple, with these rows along its first axis; one
            alone needs no tuple.
        start: how many rows there are before these.

        Raises ShapeError and DTypeError where the block is not like the arguments the function was
        begun with, and what the function itself raises, with a note of the rows.
        """
        block = self.block(rows, start)
        stop = start + len(block[0])
        first, last = -(-start // CHUNK), stop // CHUNK
        if first >= last:
            return Partials(self.joins, edges=_edges(block, start, [(start, stop)]))
        nodes: dict[Place, Sums] = {}
        partials = Partials(self.joins)
        run = _executable(self.part, self.blas, self.finite)
        room: dict[int, Array] = {}
        fit = all(_is_plain(block[i]) for i in self.read)
        for place in cover(first, last, self._most_level(_BLOCK_BYTES if fit else _COPIED_BYTES)):
            found = self._sums(run, block, place.start - start, place.stop - start, start, room)
            tree.enter(nodes, place, found, partials.combine)
        borders = [(start, first * CHUNK), (last * CHUNK, stop)]
        return Partials(self.joins, nodes, _edges(block, start, borders))

    def node(self, block: Sequence[Array], low: int, high: int, start: int) -> Sums:
        """Return a node of the tree: the sums of rows ``low`` to ``high`` of a block.

        ``start`` is the number of the block's first row. No more than 32 are the last of many.
        """
        packed = self.few if high - low <= GROUP else self.part
        run = _executable(packed, self.blas, self.finite)
        return self._sums(run, block, low, high, start, {})

    def _sums(
        self,
        run: Executable,
        block: Sequence[Array],
        low: int,
        high: int,
        start: int,
        room: dict[int, Array],
    ) -> Sums:
        """Return the sums of some rows; what has to be copied goes to ``room``, if it fits."""
        arrays = [_plain(block[i][low:high], i, room) for i in self.read]
        numbers = [np.asarray(start + low, np.int64)] if self.counts else []
        try:
            return tuple(run([*arrays, *self.given, *numbers]))
        except Exception as error:
            error.add_note(f"in rows {start + low} to {start + high} of {self.name}")
            raise

    def block(self, rows: Any, start: int) -> tuple[Array, ...]:
        """Return the arrays of a block; raises where they are not like the arguments."""
        nests = rows if isinstance(rows, tuple) else (rows,)
        leaves = [leaf for nest in nests for leaf in leaves_of_rows(nest)]
        if len(leaves) != len(self.arrays):
            raise ShapeError(
                f"the block from row {start} on has {len(leaves)} arrays",
                found=f"{self.name} has rows in {', '.join(each.path for each in self.arrays)}",
                help="a block is a tuple with an array for each row argument",
            )
        arrays = tuple(np.asarray(leaf) for leaf in leaves)
        for like, array in zip(self.arrays, arrays):
            if array.dtype != like.dtype.numpy:
                raise DTypeError(
                    f"the block from row {start} on has {like.path} as {array.dtype}",
                    found=f"{self.name} was begun with {like.dtype.numpy}",
                    help=f"cast it: block.astype({str(like.dtype.numpy)!r})",
                )
            if array.shape[1:] != like.shape or array.shape[0] != arrays[0].shape[0]:
                raise ShapeError(
                    f"the block from row {start} on does not fit",
                    found=", ".join(
                        f"{each.path}: {one.shape}" for each, one in zip(self.arrays, arrays)
                    ),
                    help=f"{self.name} was begun with rows of "
                    + ", ".join(f"{each.path}: {each.shape}" for each in self.arrays),
                )
        return arrays

    def _most_level(self, most: int) -> int:
        """Return up to which level of the tree a node's rows have no more than so many bytes."""
        each = sum(
            self.arrays[i].dtype.bytes * int(np.prod(self.arrays[i].shape)) for i in self.read
        )
        return max(0, (most // (CHUNK * max(each, 1))).bit_length() - 1)


def _is_plain(array: Array) -> bool:
    return array.flags.c_contiguous and array.flags.aligned


def _plain(array: Array, number: int, room: dict[int, Array]) -> Array:
    """Return an array as kernels take it. What came over a network often lies between words."""
    if _is_plain(array):
        return array
    found = room.get(number)
    if found is None or found.shape != array.shape:
        found = room[number] = np.empty_like(array, order="C")
    np.copyto(found, array)
    return found


def _edges(
    block: Sequence[Array], start: int, borders: Sequence[tuple[int, int]]
) -> dict[int, Sums]:
    """Return copies of some rows of a block, by the number of the first one of each."""
    return {
        low: tuple(array[low - start : high - start].copy() for array in block)
        for low, high in borders
        if low < high
    }


def packed(function: Function) -> Packed:
    """Return a function as bytes that are read in any process."""
    return pack(function, _written)


def _written(at: Location) -> Any:
    return (*at, None if at.outside is None else tuple(at.outside))


def _line(data: Any) -> Location:
    *place, outside = data
    at = Location(*place)
    return at if outside is None else at.with_outside(Outside(*outside))


def _executable(function: Packed, blas: bool, finite: bool) -> Executable:
    """Return what runs a function in this process, made when it is first asked for."""
    key = function.digest, blas, finite
    with _keeping:
        found = _kept.get(key)
        if found is not None:
            _kept.move_to_end(key)
            return found
    with working():
        if key not in _kept:  # else another thread has just made it
            made = Executable(unpack(function, _line), finite, blas)
            with _keeping:
                _kept[key] = made
                while len(_kept) > _MOST_KEPT:
                    _kept.popitem(last=False)
    return _executable(function, blas, finite)


__all__ = ["RowArray", "Task", "packed"]
