"""The rows of a derivative in closed form: which elements each has, and the coefficients of each.

Rows that are alike are one piece: their elements' columns, and the places of their coefficients,
grow evenly from row to row. Pieces that take turns, as border and interior of a grid do, are lines
that repeat.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence

from gradc.sparsity.lattices.arrays import Pieces, signs, some
from gradc.sparsity.lattices.lattice import (
    Affine,
    NotClosed,
    Piece,
    all_meet,
    all_minus,
    meet,
    minus,
    pieces_of,
)
from gradc.sparsity.runs import LONGEST_ROW
from gradc_ir.classes.named import NamedTuple

# More kinds of rows are no closed form.
_MOST_KINDS = 512
# So many rows may have many elements each.
_MOST_LONG = 16


class Closed(NamedTuple):
    """Coefficients of one term: rows and columns, counted from 1, or 0; and where each stands.

    ``leaf`` is the array that they stand in.
    """

    rows: Pieces
    columns: Pieces
    at: Pieces
    leaf: int


class Even(NamedTuple):
    """A number: the first one, and how far others are, of the next lines and of the next row."""

    start: int
    steps: tuple[int, ...]


class Coefficient(NamedTuple):
    """Where a coefficient is: in which array, -1 for a zero, and its place there."""

    leaf: int
    place: Even


class Element(NamedTuple):
    """An element of each row of a stretch: its column, and the coefficients whose sum it is.

    ``is_lower``: whether it is on the diagonal or below it, of a symmetric derivative.
    """

    column: Even
    sources: tuple[Coefficient, ...]
    is_lower: bool = True


class Stretch(NamedTuple):
    """Rows that follow one another and are alike."""

    first: int
    rows: int
    elements: tuple[Element, ...]

    @property
    def size(self) -> int:
        """How many elements they have."""
        return self.rows * len(self.elements)

    @property
    def end(self) -> int:
        """The row after the last one."""
        return self.first + self.rows


class Lines(NamedTuple):
    """Stretches, and lines of such, that repeat so many times, each so many rows further.

    ``row``: the row whose elements these are, one for each row of a stretch; else None.
    """

    times: int
    stride: int
    parts: tuple[Stretch | Lines, ...]
    row: int | None = None

    @property
    def width(self) -> int:
        """How many elements a line has."""
        return sum(part.size for part in self.parts)

    @property
    def size(self) -> int:
        """How many elements all lines have."""
        return self.times * self.width

    @property
    def first(self) -> int:
        """The first row."""
        return self.parts[0].first

    @property
    def end(self) -> int:
        """The row after the last one."""
        return self.parts[-1].end + (self.times - 1) * self.stride


class _Label(NamedTuple):
    """Of a coefficient: in which order it is added, and the array where it is, -1 for a zero."""

    order: tuple[int, int]
    leaf: int


class _Kind(NamedTuple):
    """Positions that are alike: of each label two values, a column and a place."""

    piece: Piece
    labels: tuple[_Label, ...]


def closed_rows(parts: Iterable[Closed], is_symmetric: bool) -> list[Lines]:
    """Return the rows of a derivative that is the sum of parts, from the first to the last.

    ``is_symmetric``: where an element is, its mirror image is, too. Raises NotClosed where there
    are many kinds of rows, or these do not lie evenly.
    """
    kinds: list[_Kind] = []
    long: dict[int, list[tuple[Piece, _Label]]] = {}
    for source, label in _sources(parts, is_symmetric):
        if source.at.is_constant and source.counts:
            # a row of many elements: these are looked at by their columns
            column, place = source.values
            made = pieces_of(source.counts, column, [column, place])
            long.setdefault(source.at.base, []).extend((one, label) for one in made)
        else:
            kinds = _laid_over(kinds, source, label)
    if len(long) > _MOST_LONG:
        raise NotClosed
    found = []
    for row, pieces in long.items():
        here = Piece((), Affine(row, ()), ())
        elements: list[_Kind] = []
        for piece, label in [*_of_row(kinds, here), *pieces]:
            elements = _laid_over(elements, piece, label)
        kinds = [_Kind(piece, kind.labels) for kind in kinds for piece in minus(kind.piece, here)]
        found += [(row, lines._replace(row=row)) for lines in _lines(elements, is_symmetric, row)]
    found += [(lines.first, lines) for lines in _lines(kinds, is_symmetric)]
    found.sort(key=lambda one: one[0])  # what is of one row stays in order
    _check_order([lines for _, lines in found])
    return [lines for _, lines in found]


def _check_order(found: Sequence[Lines]) -> None:
    """Raise NotClosed where rows of one kind are among lines of others."""
    end = 0
    before: int | None = None
    for lines in found:
        first = lines.first if lines.row is None else lines.row
        if first < end and (lines.row is None or lines.row != before):
            raise NotClosed
        before = lines.row
        end = lines.end if lines.row is None else lines.row + 1


# -- from terms to coefficients of rows ------------------------------------------------------------


def _sources(parts: Iterable[Closed], is_symmetric: bool) -> Iterator[tuple[Piece, _Label]]:
    """Yield coefficients by rows: of each a column and a place, which grow evenly."""
    mirrored = []
    for number, part in enumerate(parts):
        for piece in all_meet(all_meet(part.rows, part.columns), part.at):
            row, column, place = piece.values
            if not _counts(row, piece.counts) or not _counts(column, piece.counts):
                continue
            row, column = (one._replace(base=one.base - 1) for one in (row, column))
            for one, at in _by_rows(piece.counts, row, (column, place), piece.at):
                yield one, _Label((number, at), part.leaf)
            mirrored.append((piece.counts, column, row))
    if is_symmetric:
        for counts, column, row in mirrored:
            nowhere = Affine(0, (0,) * len(counts))
            for one, at in _by_rows(counts, column, (row, nowhere), nowhere):
                yield one, _Label((-1, at), -1)


def _counts(number: Affine, counts: Sequence[int]) -> bool:
    """Whether numbers are places, counted from 1, and not 0."""
    if number.is_constant and not number.base:
        return False
    if number.range(counts)[0] < 1:
        raise NotClosed
    return True


def _by_rows(
    counts: Sequence[int], row: Affine, values: Sequence[Affine], at: Affine
) -> Iterator[tuple[Piece, int]]:
    """Yield pieces of rows, one for each of several elements in a row, and where they are."""
    rows = [axis for axis, slope in enumerate(row.slopes) if slope]
    beside = [axis for axis, slope in enumerate(row.slopes) if not slope]
    repeats = math.prod(counts[axis] for axis in beside)

    def along(affine: Affine, axes: Sequence[int], place: Sequence[int]) -> Affine:
        return Affine(affine.at(place), tuple(affine.slopes[axis] for axis in axes))

    if repeats > LONGEST_ROW:
        if rows:
            raise NotClosed
        yield Piece(tuple(counts), row, tuple(values)), at.base
        return
    own = [counts[axis] for axis in rows]
    for digits in itertools.product(*(range(counts[axis]) for axis in beside)):
        place = [0] * len(counts)
        for axis, digit in zip(beside, digits):
            place[axis] = digit
        moved = [along(one, rows, place) for one in values]
        for piece in pieces_of(own, along(row, rows, place), moved):
            yield piece, at.at(place)


# -- kinds of rows ---------------------------------------------------------------------------------


def _laid_over(kinds: list[_Kind], source: Piece, label: _Label) -> list[_Kind]:
    """Return kinds with one more coefficient where it is."""
    left, found = [source], []
    for kind in kinds:
        both = all_meet([kind.piece], left)
        if not both:
            found.append(kind)
            continue
        found += [_Kind(piece, (*kind.labels, label)) for piece in both]
        found += [_Kind(piece, kind.labels) for piece in all_minus([kind.piece], left)]
        left = all_minus(left, [kind.piece])
    found += [_Kind(piece, (label,)) for piece in left]
    if len(found) > _MOST_KINDS:
        raise NotClosed
    return found


def _of_row(kinds: Iterable[_Kind], here: Piece) -> Iterator[tuple[Piece, _Label]]:
    """Yield the coefficients of one row as pieces of columns."""
    for kind in kinds:
        for piece in meet(kind.piece, here):
            for label, (column, place) in zip(
                kind.labels, zip(piece.values[::2], piece.values[1::2])
            ):
                yield Piece((), column, (column, place)), label


class _Elements(NamedTuple):
    """A piece of rows, and of each element the numbers of its coefficients, in their order.

    ``outer``: of each value of the piece how far it is from line to line, of all lines around;
    ``lower``: which values are columns on the diagonal or below it, if that is asked for.
    """

    kind: _Kind
    elements: tuple[tuple[int, ...], ...]
    outer: tuple[tuple[int, ...], ...]
    lower: frozenset[int] = frozenset()

    @property
    def piece(self) -> Piece:
        """Where the rows are."""
        return self.kind.piece


def _in_order(kind: _Kind, is_symmetric: bool, row: int | None) -> list[_Elements]:
    """Return parts of a kind in each of which the columns are in one order, and this order.

    Where the derivative is symmetric, none of them crosses the diagonal in a part. ``row``: the row
    that all is of, if it is one.
    """
    waiting = [kind.piece]
    found: list[_Elements] = []
    while waiting:
        if len(waiting) + len(found) > _MOST_KINDS:
            raise NotClosed
        piece = waiting.pop()
        columns = piece.values[::2]
        lower = set()
        if is_symmetric:
            on = piece.at if row is None else Affine(row, (0,) * len(piece.counts))
            sides = [signs(piece, column.plus(on, -1)) for column in columns]
            crossing = next((parts for parts in sides if len(parts) > 1), None)
            if crossing is not None:
                waiting += [part for part, _ in crossing]
                continue
            lower = {2 * i for i, ((_, side),) in enumerate(sides) if side <= 0}
        order = sorted(range(len(columns)), key=lambda i: (columns[i].base, kind.labels[i].order))
        elements: list[list[int]] = []
        for i in order:
            if not elements:
                elements.append([i])
                continue
            parts = signs(piece, columns[i].plus(columns[elements[-1][0]], -1))
            if len(parts) > 1:
                waiting += [part for part, _ in parts]
                break
            if parts[0][1] < 0:
                raise NotClosed
            if parts[0][1]:
                elements.append([i])
            else:
                elements[-1].append(i)
        else:
            labels = [[i for i in one if kind.labels[i].leaf >= 0] or one[:1] for one in elements]
            made = tuple(tuple(sorted(one, key=lambda i: kind.labels[i].order)) for one in labels)
            nowhere: tuple[tuple[int, ...], ...] = ((),) * len(piece.values)
            found.append(_Elements(_Kind(piece, kind.labels), made, nowhere, frozenset(lower)))
    return found


# -- lines of stretches ----------------------------------------------------------------------------


def _lines(kinds: Iterable[_Kind], is_symmetric: bool, row: int | None = None) -> Iterator[Lines]:
    """Yield kinds as lines, in order; ``row`` is that of all of them, if it is one."""
    ordered = (one for kind in kinds for one in _in_order(kind, is_symmetric, row))
    for together in _groups(ordered):
        if len(together) == 1 and _is_stretch(together[0].piece):
            (one,) = together
            alone = _stretch(one._replace(outer=((0,),) * len(one.outer)))
            yield Lines(1, alone.rows, (alone,))
        else:
            yield from _together(together)


def _groups(some: Iterable[_Elements]) -> Iterator[list[_Elements]]:
    """Yield pieces in order, those together that take turns."""
    together: list[_Elements] = []
    end = -1
    for one in sorted(some, key=lambda one: one.piece.at.base):
        first, last = one.piece.ends
        if together and first > end:
            yield together
            together = []
        together.append(one)
        end = max(end, last)
    if together:
        yield together


def _is_stretch(piece: Piece) -> bool:
    return not piece.counts or piece.at.slopes == (1,)


def _together(group: Sequence[_Elements]) -> Iterator[Lines]:
    """Yield pieces that take turns as parts of the same lines."""
    stride = max((one.piece.at.slopes[0] for one in group if not _is_stretch(one.piece)), default=0)
    if not stride:
        raise NotClosed
    first = group[0].piece.at.base
    spans = []
    for one in group:
        begin = (one.piece.at.base - first) // stride
        has_lines = not _is_stretch(one.piece) and one.piece.at.slopes[0] == stride
        spans.append((begin, begin + (one.piece.counts[0] if has_lines else 1)))
    for begin, end in itertools.pairwise(sorted({line for span in spans for line in span})):
        here = [
            _in_line(one, begin - own, end - begin, stride)
            for one, (own, after) in zip(group, spans)
            if own <= begin < after
        ]
        last = first + begin * stride
        limit = last + stride
        parts: list[Stretch | Lines] = []
        for inner in _groups(here):
            if len(inner) == 1 and _is_stretch(inner[0].piece):
                parts.append(_stretch(inner[0]))
            else:
                parts += _together(inner)
        for part in parts:
            if part.first < last or part.end > limit:
                raise NotClosed
            last = part.end
        if parts:
            yield Lines(end - begin, stride, tuple(parts))


def _in_line(one: _Elements, first: int, times: int, stride: int) -> _Elements:
    """Return what a piece has in one of some lines, and how far it is to the next of them."""
    piece = one.piece
    steps = [0] * len(piece.values)
    if not _is_stretch(piece) and piece.at.slopes[0] == stride:
        piece = some(piece, 0, first, times)
        steps = [value.slopes[0] for value in piece.values]
        piece = Piece(piece.counts[1:], _inner(piece.at), tuple(map(_inner, piece.values)))
    outer = tuple((*own, step) for own, step in zip(one.outer, steps))
    return one._replace(kind=one.kind._replace(piece=piece), outer=outer)


def _inner(affine: Affine) -> Affine:
    return Affine(affine.base, affine.slopes[1:])


def _stretch(one: _Elements) -> Stretch:
    piece, labels = one.kind

    def even(i: int) -> Even:
        base, slopes = piece.values[i]
        return Even(base, (*one.outer[i], *(slopes or (0,))))

    elements = []
    for numbers in one.elements:
        sources = [Coefficient(labels[i].leaf, even(2 * i + 1)) for i in numbers]
        column = 2 * numbers[0]
        elements.append(Element(even(column), tuple(sources), column in one.lower))
    return Stretch(piece.at.base, math.prod(piece.counts), tuple(elements))
