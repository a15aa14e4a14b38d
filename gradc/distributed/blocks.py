"""Where rows come from: arrays that are read in blocks, or whatever yields one block at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np

from gradc_ir.core.types import Array
from gradc_ir.errors import ShapeError, TraceError
from gradc_ir.meaning.reduction import CHUNK

Block: TypeAlias = tuple[Array, ...]
# So many bytes are in memory at once of what is not an array in memory.
_BLOCK_BYTES = 2**26
# Pieces differ by one part of 32 at most.
_EVEN = 6


class Rows:
    """What stands for rows that are elsewhere: like an array, without its elements.

    Parameters
    ----------
    shape: of all rows together.
    dtype: of the elements.
    """

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape = tuple(shape)
        self.dtype = np.dtype(dtype)


class Blocks:
    """Rows that come in blocks, of a file or a generator, as often as they are asked for.

    Parameters
    ----------
    make: returns an iterator of blocks, from the first row on: tuples with an array for each row
        argument. A list of such tuples does as well.
    count: how many rows there are; without it the first use goes through the blocks to count.
    """

    def __init__(
        self, make: Callable[[], Iterable[Any]] | list[Any], count: int | None = None
    ) -> None:
        self._make = make
        self._count = count
        self._first: Block | None = None

    def __iter__(self) -> Iterator[Block]:
        """Yield the blocks."""
        made = self._make() if callable(self._make) else self._make
        for block in made:
            yield tuple(map(np.asarray, block if isinstance(block, tuple | list) else (block,)))

    @property
    def first(self) -> Block:
        """The first block, by which types are known; raises ShapeError where there is none."""
        if self._first is None:
            self._first = next(iter(self), None)
        if self._first is None:
            raise ShapeError("there is no block, and so no row", help="give one at least")
        return self._first

    @property
    def count(self) -> int:
        """How many rows there are."""
        if self._count is None:
            self._count = sum(len(block[0]) for block in self)
        return self._count

    def like(self, arguments: int) -> list[Rows]:
        """Return what stands for the rows of each argument; raises ShapeError for too few."""
        if len(self.first) != arguments:
            raise ShapeError(
                f"a block has {len(self.first)} arrays, for {arguments} arguments with rows",
                help="a block is a tuple with an array for each of them",
            )
        return [Rows((self.count, *array.shape[1:]), array.dtype) for array in self.first]


def cuts(count: int, pieces: int) -> list[int]:
    """Return where to cut rows into about equal pieces, from 0 up to ``count``.

    A piece is then at most a dozen nodes of the tree of sums, and no rows go to the driver.
    """
    chunks = max(1, count // CHUNK // max(pieces, 1))
    unit = CHUNK << max(0, chunks.bit_length() - _EVEN)
    places = [(count * i // pieces + unit // 2) // unit * unit for i in range(pieces)]
    return [*(min(place, count) for place in places), count]


def pieces(leaves: list[Any], count: int) -> Iterator[Block]:
    """Yield all rows of arrays, or of what is cut as they are, in blocks that end at chunks."""
    each = sum(
        np.dtype(leaf.dtype).itemsize * int(np.prod(leaf.shape[1:], dtype=int)) for leaf in leaves
    )
    step = max(1, _BLOCK_BYTES // (max(each, 1) * CHUNK)) * CHUNK
    for start in range(0, count, step):
        yield tuple(np.asarray(leaf[start : start + step]) for leaf in leaves)


def refuse_one_pass(blocks: Any) -> Blocks:
    """Return what yields blocks; raises TraceError for what can be gone through only once."""
    if isinstance(blocks, Blocks):
        return blocks
    if isinstance(blocks, list):
        return Blocks(blocks)
    raise TraceError(
        f"blocks: {type(blocks).__name__} is gone through only once, and there may be many passes",
        help="pass gradc.distributed.Blocks(make), where make returns a new iterator each time",
    )
