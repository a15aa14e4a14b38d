"""Placements as runs: rows of a pattern that are alike, whose coefficients lie evenly apart.

The residuals of a discretised equation have rows of few elements, and each row picks them where the
row before it does, one further. Such elements need no places: they are slices of the coefficients,
side by side, which a kernel writes as vectors. Rows of a grid repeat, border and interior, with
each line of it: that is a run of several bands.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.types import Array

if TYPE_CHECKING:  # which loads SciPy
    from gradc.sparsity.placement import Placement

# A longer row is taken to be as many rows of one element.
LONGEST_ROW = 24
# Each column of a band is code of its own.
MOST_COLUMNS = 160
# So many times rows may begin to differ from those before; and in one row of so many.
_MOST_BREAKS = 20_000
_LEAST_ALIKE = 3
# So many bands may repeat together.
_LONGEST_PERIOD = 4


class Source(NamedTuple):
    """Where coefficients lie in a flat array, evenly apart.

    Parameters
    ----------
    leaf: which of the arrays, -1 for zeros.
    start: where the first one is.
    step: how far that of the next row is.
    stride: how far that of the next time is that the bands repeat.
    """

    leaf: int
    start: int
    step: int = 0
    stride: int = 0


Sum: TypeAlias = tuple[Source, ...]  # what an element is, in the order of additions


class Band(NamedTuple):
    """Rows that are alike: how many, and the elements of a row."""

    rows: int
    columns: tuple[Sum, ...]


class Run(NamedTuple):
    """Bands that follow one another, so many times."""

    times: int
    bands: tuple[Band, ...]


class Runs(NamedTuple):
    """All elements of a placement, and how long the arrays of coefficients are."""

    runs: tuple[Run, ...]
    lengths: tuple[int, ...]


class _Sources(NamedTuple):
    """The coefficients of all elements, row by row.

    Parameters
    ----------
    leaf, at: of each coefficient the array, and where it is there.
    is_first: whether it is the first one of its element.
    starts: where each row begins, and the end.
    """

    leaf: Array
    at: Array
    is_first: Array
    starts: Array


def runs_of(placement: Placement, rows: Array, lengths: Sequence[int]) -> Runs | None:
    """Return the runs of a placement of elements in rows; None where there would be many.

    ``lengths`` are those of the arrays that the places count through, behind a zero.
    """
    sources = _sources(placement, rows, lengths)
    starts = _begins(sources)
    if starts is None:
        return None
    bands = [_band(sources, *ends) for ends in zip(starts, [*starts[1:], len(sources.starts) - 1])]
    found, columns = [], 0
    for run in _repeated(bands):
        columns += sum(len(band.columns) for band in run.bands)
        if columns > MOST_COLUMNS or not are_slices(run, lengths):
            return None
        found.append(run)
    return Runs(tuple(found), tuple(lengths))


def _sources(placement: Placement, rows: Array, lengths: Sequence[int]) -> _Sources:
    count = len(placement.places)
    element = np.concatenate([np.arange(count), placement.targets])
    place = np.concatenate([placement.places, placement.further])
    order = np.argsort(element, kind="stable")
    element, place = element[order], place[order]
    is_first = order < count
    ends = np.concatenate([[1], 1 + np.cumsum(lengths, dtype=np.int64)])
    leaf = np.searchsorted(ends, place, side="right") - 1
    at = np.where(leaf < 0, 0, place - ends[np.maximum(leaf, 0)])
    row = rows[element]
    long = np.bincount(rows)[rows] > LONGEST_ROW
    begins = np.diff(row, prepend=-1) != 0
    begins |= is_first & long[element]
    starts = np.append(np.nonzero(begins)[0], len(row))
    return _Sources(leaf, at, is_first, starts)


def _begins(sources: _Sources) -> list[int] | None:
    """Return at which rows bands begin; None where these are many."""
    leaf, at, is_first, starts = sources
    count = np.diff(starts)
    before = np.maximum(np.arange(len(leaf)) - np.repeat(count, count), 0)
    step = at - at[before]
    same = (leaf == leaf[before]) & (is_first == is_first[before]) & (step >= 0)
    rows = starts[:-1]
    is_like = np.logical_and.reduceat(same, rows)
    is_like[1:] &= count[1:] == count[:-1]
    is_like[0] = False
    is_even = np.logical_and.reduceat(step == step[before], rows) & is_like
    is_even[1:] &= is_like[:-1]
    breaks = np.nonzero(~is_even)[0].tolist()
    if len(breaks) > min(_MOST_BREAKS, 16 + len(rows) // _LEAST_ALIKE):
        return None
    found: list[int] = []
    for row in breaks:
        # the second row of a band may be any step further
        if not is_like[row] or not found or found[-1] != row - 1:
            found.append(row)
    return found


def _band(sources: _Sources, first: int, end: int) -> Band:
    starts = sources.starts
    begin, count = starts[first], starts[first + 1] - starts[first]
    here = slice(begin, begin + count)
    at = sources.at[here]
    step = np.zeros_like(at) if end - first == 1 else sources.at[begin + count :][:count] - at
    columns: list[list[Source]] = []
    each = (sources.leaf[here], at, step, sources.is_first[here])
    for leaf, start, far, is_first in zip(*(array.tolist() for array in each)):
        if is_first:
            columns.append([])
        columns[-1].append(Source(leaf, start, far))
    return Band(end - first, tuple(map(tuple, columns)))


def _repeated(bands: Sequence[Band]) -> Iterator[Run]:
    """Yield bands with those that repeat together as one run."""
    first = 0
    while first < len(bands):
        best = 1, 1
        for period in range(1, _LONGEST_PERIOD + 1):
            times = _times(bands, first, period)
            if times > 1 and times * period > best[0] * best[1]:
                best = times, period
        times, period = best
        yield Run(times, tuple(_of_all(bands, first + i, period, times) for i in range(period)))
        first += times * period


def _times(bands: Sequence[Band], first: int, period: int) -> int:
    """Return how often so many bands follow one another, each as far from its last."""
    times = 1
    strides: list[tuple[int, ...] | None] | None = None
    while first + (times + 1) * period <= len(bands):
        begin = first + times * period
        found = [_stride(bands[begin - period + i], bands[begin + i]) for i in range(period)]
        if None in found or (strides is not None and found != strides):
            break
        strides, times = found, times + 1
    return times


def _stride(one: Band, other: Band) -> tuple[int, ...] | None:
    """Return how far each coefficient of a band is from that of another; None if they differ."""
    if one.rows != other.rows or len(one.columns) != len(other.columns):
        return None
    found = []
    for mine, others in zip(one.columns, other.columns):
        if len(mine) != len(others):
            return None
        for a, b in zip(mine, others):
            if a.leaf != b.leaf or a.step != b.step or a.start > b.start:
                return None
            found.append(b.start - a.start)
    return tuple(found)


def _of_all(bands: Sequence[Band], place: int, period: int, times: int) -> Band:
    """Return a band with the strides to where it is the next time."""
    band = bands[place]
    if times == 1:
        return band
    strides = iter(_stride(band, bands[place + period]) or ())
    columns = tuple(
        tuple(source._replace(stride=next(strides)) for source in one) for one in band.columns
    )
    return Band(band.rows, columns)


def are_slices(run: Run, lengths: Sequence[int]) -> bool:
    """Whether the coefficients of a run are slices of arrays of some lengths."""
    return all(
        source.leaf < 0
        or not source.step
        or not source.stride
        or window(source, run.times, band.rows, lengths[source.leaf]) is not None
        for band in run.bands
        for column in band.columns
        for source in column
    )


def window(source: Source, times: int, rows: int, length: int) -> int | None:
    """Return where lines as long as a stride begin, each of which has the rows of one time.

    None where there are no such lines in the array.
    """
    start, stride = source.start, source.stride
    reach = (rows - 1) * source.step
    for first in (start - start % stride, min(start, length - times * stride)):
        if first >= 0 and first + times * stride <= length and start - first + reach < stride:
            return first
    return None
