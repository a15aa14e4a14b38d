"""The elements of rows in closed form, as arrays: pattern, places of coefficients, runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gradc.sparsity.lattices.arrays import ClosedForms
from gradc.sparsity.lattices.lattice import NotClosed
from gradc.sparsity.lattices.rows import Closed, Element, Even, Lines, Stretch, closed_rows
from gradc.sparsity.placement import Placement
from gradc.sparsity.relation import Relation, check_count
from gradc.sparsity.runs import MOST_COLUMNS, Band, Run, Runs, Source, are_slices
from gradc_ir.core.graph import Value
from gradc_ir.core.types import Array


@dataclass(frozen=True)
class ClosedElements:
    """All elements of a derivative.

    Parameters
    ----------
    lines: its rows in order.
    shape: how many rows and columns there are.
    lengths: of the arrays of coefficients.
    """

    lines: tuple[Lines, ...]
    shape: tuple[int, int]
    lengths: tuple[int, ...]

    @cached_property
    def count(self) -> int:
        """How many elements there are."""
        return sum(lines.times * lines.width for lines in self.lines)

    @cached_property
    def used(self) -> tuple[int, ...]:
        """The arrays of coefficients that are read."""
        found = {source.leaf for _, _, one in self._each() for source in one.sources}
        return tuple(sorted(found - {-1}))

    @property
    def has_sums(self) -> bool:
        """Whether some elements are sums of several coefficients."""
        return any(len(one.sources) > 1 for _, _, one in self._each())

    @property
    def longest(self) -> int:
        """How many elements the longest row has."""
        lengths = dict.fromkeys((lines.row for lines in self.lines if lines.row is not None), 0)
        most = 0
        for lines in self.lines:
            if lines.row is not None:
                lengths[lines.row] += lines.times * lines.width
            else:
                most = max(most, *(len(one.elements) for one in lines.stretches))
        return max(most, *lengths.values(), 0)

    def _each(self) -> Iterator[tuple[Lines, Stretch, Element]]:
        for lines in self.lines:
            for stretch in lines.stretches:
                for one in stretch.elements:
                    yield lines, stretch, one

    def _written(self, array: Array, of: Sequence[Sequence[Even]]) -> None:
        """Write a number to each element: of each kind of them how it grows."""
        numbers = iter(of)
        start = 0
        for lines in self.lines:
            end = start + lines.times * lines.width
            block = array[start:end].reshape(lines.times, lines.width)
            start, first = end, 0
            for stretch in lines.stretches:
                width = len(stretch.elements)
                last = first + stretch.rows * width
                for i, one in enumerate(next(numbers)):
                    block[:, first + i : last : width] = _grown(one, lines, stretch)
                first = last

    def _stretches(self) -> Iterator[Stretch]:
        return (stretch for lines in self.lines for stretch in lines.stretches)

    def pattern(self) -> Relation:
        """Return where the elements are, in canonical form."""
        from scipy.sparse import csr_array

        check_count(self.count)
        height = self.shape[0]
        counts = np.zeros(height, np.int32)
        for lines in self.lines:
            if lines.row is not None:
                counts[lines.row] += lines.times * lines.width
                continue
            for stretch in lines.stretches:
                width = len(stretch.elements)
                if lines.times == 1:
                    counts[stretch.first : stretch.first + stretch.rows] = width
                    continue
                rows = _grown(Even(stretch.first, 1, lines.stride), lines, stretch)
                counts[rows] = width
        starts = np.zeros(height + 1, np.int32)
        np.cumsum(counts, out=starts[1:])
        indices = np.empty(self.count, np.int32)
        self._written(indices, [[one.column for one in x.elements] for x in self._stretches()])
        made = csr_array(
            (np.ones(self.count, np.bool_), indices, starts), shape=self.shape, dtype=np.bool_
        )
        made.has_canonical_format = True
        return made

    def placement(self) -> Placement:
        """Return where the elements are among all coefficients, behind a zero."""
        ends = np.cumsum([1, *self.lengths]).tolist()

        def place(source: Source) -> Even:
            first = 0 if source.leaf < 0 else ends[source.leaf] + source.start
            return Even(first, source.step, source.stride)

        places = np.empty(self.count, np.int64)
        elements = [stretch.elements for stretch in self._stretches()]
        self._written(places, [[place(one.sources[0]) for one in some] for some in elements])
        most = max((len(one.sources) for some in elements for one in some), default=1)
        further, targets = [places[:0]], [places[:0]]
        for i in range(1, most):
            more = np.zeros(self.count, np.int64)
            nowhere = Even(0, 0, 0)
            self._written(
                more,
                [
                    [place(one.sources[i]) if len(one.sources) > i else nowhere for one in some]
                    for some in elements
                ],
            )
            at = np.nonzero(more)[0]
            further.append(more[at])
            targets.append(at)
        order = np.argsort(np.concatenate(targets), kind="stable")
        return Placement(places, np.concatenate(further)[order], np.concatenate(targets)[order])

    def runs(self) -> Runs | None:
        """Return the elements as slices of the coefficients; None where these would be many."""
        number = {leaf: i for i, leaf in enumerate(self.used)} | {-1: -1}
        lengths = tuple(self.lengths[leaf] for leaf in self.used)
        found, columns = [], 0
        for lines in self.lines:
            bands = []
            for stretch in lines.stretches:
                sums = tuple(
                    tuple(source._replace(leaf=number[source.leaf]) for source in one.sources)
                    for one in stretch.elements
                )
                columns += len(sums)
                bands.append(Band(stretch.rows, sums))
            run = Run(lines.times, tuple(bands))
            sources = [source for band in bands for one in band.columns for source in one]
            if any(source.step < 0 or source.stride < 0 for source in sources):
                return None
            if columns > MOST_COLUMNS or not are_slices(run, lengths):
                return None
            found.append(run)
        return Runs(tuple(found), lengths) if found else None


def _grown(one: Even, lines: Lines, stretch: Stretch) -> Array:
    """Return a number for each line and each row of a stretch."""
    of_lines = one.start + one.stride * np.arange(lines.times)
    return of_lines[:, None] + one.step * np.arange(stretch.rows)


def closed_elements(
    parts: Sequence[tuple[int, Value, Value, Value]],
    shape: tuple[int, int],
    lengths: Sequence[int],
    is_symmetric: bool,
) -> ClosedElements | None:
    """Return the elements of a derivative in closed form; None where there is none.

    A part has a leaf, one of the arrays of some lengths, and arrays of indices of its coefficients:
    row and column, counted from 1, or 0; and where each is in the leaf. ``is_symmetric``: where an
    element is, its mirror image is, too.
    """
    forms = ClosedForms()
    try:
        closed = [
            Closed(forms.of(rows), forms.of(columns), forms.of(at), leaf)
            for leaf, rows, columns, at in parts
        ]
        lines = closed_rows(closed, is_symmetric)
    except NotClosed:
        return None
    return ClosedElements(tuple(lines), shape, tuple(lengths))
