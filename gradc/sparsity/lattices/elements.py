"""The elements of rows in closed form, as arrays: pattern, places of coefficients, runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from scipy.sparse import csr_array

from gradc.sparsity.lattices.arrays import ClosedForms
from gradc.sparsity.lattices.lattice import NotClosed
from gradc.sparsity.lattices.rows import (
    Closed,
    Coefficient,
    Element,
    Even,
    Lines,
    Stretch,
    closed_rows,
)
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
        return sum(lines.size for lines in self.lines)

    @cached_property
    def used(self) -> tuple[int, ...]:
        """The arrays of coefficients that are read."""
        found = {source.leaf for one in self._elements() for source in one.sources}
        return tuple(sorted(found - {-1}))

    @property
    def has_sums(self) -> bool:
        """Whether some elements are sums of several coefficients."""
        return any(len(one.sources) > 1 for one in self._elements())

    @property
    def longest(self) -> int:
        """How many elements the longest row has."""
        lengths = dict.fromkeys((lines.row for lines in self.lines if lines.row is not None), 0)
        most = 0
        for lines in self.lines:
            if lines.row is not None:
                lengths[lines.row] += lines.size
            else:
                most = max(most, *(len(stretch.elements) for stretch in _stretches([lines])))
        return max(most, *lengths.values(), 0)

    def _elements(self) -> Iterator[Element]:
        return (one for stretch in _stretches(self.lines) for one in stretch.elements)

    def pattern(self) -> Relation:
        """Return where the elements are, in canonical form."""
        check_count(self.count)
        counts = np.zeros(self.shape[0], np.int32)
        for lines in self.lines:
            if lines.row is not None:
                counts[lines.row] += lines.size
            else:
                _count([lines], counts, ())
        starts = np.zeros(self.shape[0] + 1, np.int32)
        np.cumsum(counts, out=starts[1:])
        indices = np.empty(self.count, np.int32)
        columns = [[one.column for one in x.elements] for x in _stretches(self.lines)]
        _write(indices, self.lines, iter(columns))
        made = csr_array(
            (np.ones(self.count, np.bool_), indices, starts), shape=self.shape, dtype=np.bool_
        )
        made.has_canonical_format = True
        return made

    def lower(self) -> ClosedElements:
        """Return the elements of a symmetric derivative on the diagonal and below it."""

        def of(part: Stretch | Lines) -> Stretch | Lines:
            if isinstance(part, Lines):
                parts = tuple(inner for inner in map(of, part.parts) if inner.size)
                return part._replace(parts=parts)
            return part._replace(elements=tuple(one for one in part.elements if one.is_lower))

        lines = tuple(
            kept for one in self.lines if isinstance(kept := of(one), Lines) and kept.size
        )
        return ClosedElements(lines, self.shape, self.lengths)

    def placement(self, leaves: Sequence[int] | None = None) -> Placement:
        """Return where the elements are among some of the coefficients, or all, behind a zero."""
        chosen = range(len(self.lengths)) if leaves is None else leaves
        starts = np.cumsum([1, *(self.lengths[leaf] for leaf in chosen)]).tolist()
        ends = dict(zip(chosen, starts))

        nowhere = Even(0, ())

        def place(source: Coefficient) -> Even:
            if source.leaf < 0:
                return nowhere
            start, steps = source.place
            return Even(ends[source.leaf] + start, steps)

        places = np.empty(self.count, np.int64)
        elements = [stretch.elements for stretch in _stretches(self.lines)]
        first = [[place(one.sources[0]) for one in some] for some in elements]
        _write(places, self.lines, iter(first))
        most = max((len(one.sources) for some in elements for one in some), default=1)
        further, targets = [places[:0]], [places[:0]]
        for i in range(1, most):
            more = np.zeros(self.count, np.int64)
            others = [
                [place(one.sources[i]) if len(one.sources) > i else nowhere for one in some]
                for some in elements
            ]
            _write(more, self.lines, iter(others))
            at = np.nonzero(more)[0]
            further.append(more[at])
            targets.append(at)
        if most == 1:
            return Placement(places, *further, *targets)
        order = np.argsort(np.concatenate(targets), kind="stable")
        return Placement(places, np.concatenate(further)[order], np.concatenate(targets)[order])

    def runs(self) -> Runs | None:
        """Return the elements as slices of the coefficients.

        None where these would be many, and for lines of lines, of a grid of three axes: each of
        their many borders would be code of its own.
        """
        number = {leaf: i for i, leaf in enumerate(self.used)}
        lengths = tuple(self.lengths[leaf] for leaf in self.used)

        def source_of(one: Coefficient) -> Source:
            if one.leaf < 0:
                return Source(-1, 0)
            stride, step = one.place.steps
            return Source(number[one.leaf], one.place.start, step, stride)

        found, columns = [], 0
        for lines in self.lines:
            bands = []
            for part in lines.parts:
                if isinstance(part, Lines):
                    return None
                sums = [tuple(map(source_of, one.sources)) for one in part.elements]
                bands.append(Band(part.rows, tuple(sums)))
                columns += len(sums)
            run = Run(lines.times, tuple(bands))
            sources = [source for band in bands for one in band.columns for source in one]
            if any(source.step < 0 or source.stride < 0 for source in sources):
                return None
            if columns > MOST_COLUMNS or not are_slices(run, lengths):
                return None
            found.append(run)
        return Runs(tuple(found), lengths) if found else None


Parts: TypeAlias = Iterable[Stretch | Lines]


def _stretches(parts: Parts) -> Iterator[Stretch]:
    """Yield all stretches, in order."""
    for part in parts:
        if isinstance(part, Lines):
            yield from _stretches(part.parts)
        else:
            yield part


def _count(parts: Parts, counts: Array, around: Sequence[tuple[int, int]]) -> None:
    """Write how many elements rows have; ``around``: times and strides of the lines they are in."""
    for part in parts:
        if isinstance(part, Lines):
            _count(part.parts, counts, (*around, (part.times, part.stride)))
            continue
        strides = tuple(stride for _, stride in around)
        rows = _grown(Even(part.first, (*strides, 1)), [times for times, _ in around], part.rows)
        counts[rows] = len(part.elements)


def _write(block: Array, parts: Parts, numbers: Iterator[Sequence[Even]]) -> None:
    """Write a number to each element of parts that stand along the last axis of a block.

    ``numbers``: of each stretch those of its elements.
    """
    first = 0
    for part in parts:
        own = block[..., first : first + part.size]
        first += part.size
        if isinstance(part, Lines):
            lines = own.reshape(*own.shape[:-1], part.times, part.width)
            _write(lines, part.parts, numbers)
            continue
        for i, number in enumerate(next(numbers)):
            own[..., i :: len(part.elements)] = _grown(number, own.shape[:-1], part.rows)


def _grown(one: Even, times: Sequence[int], rows: int) -> Array:
    """Return a number for each line, of all lines around, and each row."""
    found = np.asarray(one.start)
    for step, count in zip(one.steps, (*times, rows)):
        found = found[..., None] + step * np.arange(count)
    return found


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
