"""What a colouring saves: seeds of few passes, and where each element of the pattern is found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gradc.sparsity import colouring
from gradc.sparsity.relation import Relation, stacked, taken
from gradc_ir.core.types import Array


@dataclass(frozen=True)
class Compression:
    """A derivative in few passes.

    Parameters
    ----------
    pattern: of the derivative, in canonical form.
    by_columns: the colour of each input for passes in forward mode, -1 where it is in none.
    by_rows: the colour of each result for passes in reverse mode, -1 where it is in none.
    places: where each element of the pattern stands, in its order, among the results of all passes
        one after another: first tangents of all results, then cotangents of all inputs.
    """

    pattern: Relation
    by_columns: Array
    by_rows: Array
    places: Array

    @property
    def forward_passes(self) -> int:
        """How many passes are in forward mode."""
        return int(self.by_columns.max(initial=-1)) + 1

    @property
    def reverse_passes(self) -> int:
        """How many passes are in reverse mode."""
        return int(self.by_rows.max(initial=-1)) + 1

    @property
    def rows(self) -> Array:
        """The row of each element of the pattern."""
        return np.repeat(np.arange(self.pattern.shape[0]), np.diff(self.pattern.indptr))


def seeds(colours: Array, dtype: np.dtype[np.generic]) -> Array:
    """Return for each colour ones where it is and zeros elsewhere, a row each."""
    made = np.zeros((int(colours.max(initial=-1)) + 1, len(colours)), dtype)
    where = np.nonzero(colours >= 0)[0]
    made[colours[where], where] = 1
    return made


def compress(
    pattern: Relation, mode: str, shapes: Sequence[Sequence[int]] = ((), ())
) -> Compression:
    """Return the passes of a Jacobian's pattern.

    ``mode`` is ``"forward"`` (columns share passes), ``"reverse"`` (rows do) or ``"auto"``: the
    fewest, where dense rows may have passes of their own in reverse mode beside those of columns,
    and dense columns in forward mode beside those of rows. ``shapes`` are those of the result and
    of the input.
    """
    flipped = pattern.T.tocsr()
    flipped.sort_indices()
    of_result, of_input = shapes
    if mode == "forward":
        return _by_columns(pattern, flipped, 0, of_input)
    if mode == "reverse":
        return _turned(pattern, _by_columns(flipped, pattern, 0, of_result))
    candidates = []
    for is_turned, (one, other, shape) in enumerate(
        [(pattern, flipped, of_input), (flipped, pattern, of_result)]
    ):
        for dense in _dense_rows(one):
            lower = _fewest(one, dense)
            candidates.append((lower, dense > 0, is_turned, dense, one, other, shape))
    candidates.sort(key=lambda each: each[:4])
    best: Compression | None = None
    for lower, _, is_turned, dense, one, other, shape in candidates:
        if best is not None and lower >= best.forward_passes + best.reverse_passes:
            break
        made = _by_columns(one, other, dense, shape)
        made = _turned(pattern, made) if is_turned else made
        passes = made.forward_passes + made.reverse_passes
        if best is None or passes < best.forward_passes + best.reverse_passes:
            best = made
    assert best is not None  # there is one without dense rows
    return best


def _dense_rows(pattern: Relation) -> list[int]:
    """Return how many of the longest rows may be taken apart: none, and what saves the most."""
    lengths = np.sort(np.diff(pattern.indptr))[::-1]
    if not len(lengths):
        return [0]
    most = min(len(lengths) - 1, int(lengths[0]), 256)
    saved = [int(lengths[count]) + count for count in range(most + 1)]
    return sorted({0, int(np.argmin(saved))})


def _fewest(pattern: Relation, dense: int) -> int:
    """Return how many passes there are at least."""
    lengths = np.sort(np.diff(pattern.indptr))[::-1]
    return int(lengths[dense]) + (1 if dense else 0) if len(lengths) > dense else 0


def _by_columns(
    pattern: Relation, flipped: Relation, dense: int, shape: Sequence[int]
) -> Compression:
    """Return passes for columns, and for some of the longest rows passes of their own."""
    height, width = pattern.shape
    lengths = np.diff(pattern.indptr)
    apart = np.zeros(height, np.bool_)
    apart[np.argsort(-lengths, kind="stable")[:dense]] = True
    rest = pattern
    by_rows = np.full(height, -1, np.int64)
    if dense:
        rest = taken(pattern, np.where(apart, -1, np.arange(height)))
        by_rows[apart] = colouring.rows(taken(pattern, np.nonzero(apart)[0]))
    by_columns = colouring.columns(rest, shape)
    by_columns[np.bincount(rest.indices, minlength=width) == 0] = -1
    by_columns = _without_gaps(by_columns)
    rows = np.repeat(np.arange(height), lengths)
    forward = int(by_columns.max(initial=-1)) + 1
    places = np.where(
        apart[rows],
        forward * height + by_rows[rows] * width + pattern.indices,
        by_columns[pattern.indices] * height + rows,
    )
    return Compression(pattern, by_columns, by_rows, places.astype(np.int64))


def _without_gaps(colours: Array) -> Array:
    """Return the same colours without numbers that nothing has."""
    used, numbers = np.unique(colours, return_inverse=True)
    return numbers.astype(np.int64) - int(len(used) > 0 and used[0] < 0)


def _turned(pattern: Relation, made: Compression) -> Compression:
    """Return the passes of a pattern whose flipped one has these."""
    height, width = pattern.shape
    rows, columns = _rows_of(pattern), pattern.indices
    # where the row of the flipped pattern has a pass of its own it is a column here
    own = made.by_rows[columns] >= 0
    forward = made.reverse_passes
    places = np.where(
        own,
        made.by_rows[columns] * height + rows,
        forward * height + made.by_columns[rows] * width + columns,
    )
    return Compression(pattern, made.by_rows, made.by_columns, places.astype(np.int64))


def _rows_of(pattern: Relation) -> Array:
    return np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))


def compress_symmetric(pattern: Relation, shape: Sequence[int] = ()) -> Compression:
    """Return the passes of a Hessian's pattern, symmetric and in canonical form.

    An element is read where no other of its row has the colour of its column, or at its mirror
    image. Each pass is a product of the Hessian with the sum of the columns of one colour.
    """
    size = pattern.shape[0]
    has_any = np.diff(pattern.indptr) > 0
    colours = colouring.symmetric(pattern, shape) if size else np.zeros(0, np.int64)
    colours = _without_gaps(np.where(has_any, colours, -1))
    count = int(colours.max(initial=-1)) + 1
    rows, columns = _rows_of(pattern), pattern.indices.astype(np.int64)
    here = rows * count + colours[columns]
    is_alone = np.bincount(here, minlength=1)[here] == 1 if len(here) else np.zeros(0, np.bool_)
    row = np.where(is_alone, rows, columns)
    column = np.where(is_alone, columns, rows)
    places = colours[column] * size + row
    return Compression(pattern, colours, np.full(size, -1, np.int64), places.astype(np.int64))


def joined_with_mirror(pattern: Relation) -> Relation:
    """Return a pattern that is symmetric: what it has, and what its mirror image has."""
    found = stacked([pattern + pattern.T.tocsr()])
    found.sum_duplicates()
    return found
