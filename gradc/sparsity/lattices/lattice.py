"""Pieces of integer arrays: elements that lie evenly, with numbers that grow evenly.

Positions are those in a flat array, so that a reshape changes nothing. A piece is a box of integers
and affine functions of them: one tells positions, others what stands there.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence

from gradc_ir.classes.named import NamedTuple

# So many pieces are looked at where two are cut to fit.
_MOST_PIECES = 64


class NotClosed(Exception):
    """An array, or what is asked of it, has no closed form of few pieces."""


class Affine(NamedTuple):
    """A number and how far it grows along each axis of a box."""

    base: int
    slopes: tuple[int, ...]

    def at(self, place: Sequence[int]) -> int:
        """Return what it is at a place of the box."""
        return self.base + sum(slope * i for slope, i in zip(self.slopes, place))

    def range(self, counts: Sequence[int]) -> tuple[int, int]:
        """Return the least and the greatest number in a box that has elements."""
        ends = [slope * (count - 1) for slope, count in zip(self.slopes, counts)]
        low, high = sum(min(end, 0) for end in ends), sum(max(end, 0) for end in ends)
        return self.base + low, self.base + high

    def plus(self, other: Affine, factor: int = 1) -> Affine:
        """Return the sum with a multiple of another one."""
        slopes = tuple(a + factor * b for a, b in zip(self.slopes, other.slopes))
        return Affine(self.base + factor * other.base, slopes)

    @property
    def is_constant(self) -> bool:
        """Whether it is one number."""
        return not any(self.slopes)


class Piece(NamedTuple):
    """Elements of a flat array: where each one of a box is, and numbers that stand there.

    No two are at one position: each axis goes further than all those behind it together.
    """

    counts: tuple[int, ...]
    at: Affine
    values: tuple[Affine, ...]

    @property
    def size(self) -> int:
        """How many elements it has."""
        return math.prod(self.counts)

    @property
    def ends(self) -> tuple[int, int]:
        """The first and the last position."""
        return self.at.range(self.counts)

    def with_values(self, values: Sequence[Affine]) -> Piece:
        """Return other numbers at the same positions."""
        return self._replace(values=tuple(values))


def pieces_of(counts: Sequence[int], at: Affine, values: Sequence[Affine]) -> list[Piece]:
    """Return the piece of a box, whose axes may be in any order; none where it is empty.

    Raises NotClosed where elements may share a position.
    """
    if 0 in counts:
        return []
    base, bases = at.base, [value.base for value in values]
    axes = []
    for axis, count in enumerate(counts):
        if count == 1:
            continue
        slope, slopes = at.slopes[axis], [value.slopes[axis] for value in values]
        if slope < 0:
            base += slope * (count - 1)
            bases = [first + own * (count - 1) for first, own in zip(bases, slopes)]
            slope, slopes = -slope, [-own for own in slopes]
        axes.append((slope, count, slopes))
    axes.sort(key=lambda axis: axis[0])
    joined: list[tuple[int, int, list[int]]] = []
    reach = 0
    for slope, count, slopes in axes:
        if slope <= reach:
            raise NotClosed
        reach += slope * (count - 1)
        if joined:
            step, within, steps = joined[-1]
            if slope == step * within and all(a == b * within for a, b in zip(slopes, steps)):
                joined[-1] = step, within * count, steps
                continue
        joined.append((slope, count, slopes))
    joined.reverse()
    return [
        Piece(
            tuple(count for _, count, _ in joined),
            Affine(base, tuple(slope for slope, _, _ in joined)),
            tuple(
                Affine(first, tuple(slopes[i] for _, _, slopes in joined))
                for i, first in enumerate(bases)
            ),
        )
    ]


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Return how far apart neighbours along each axis are in a flat array."""
    found = [1]
    for size in reversed(shape[1:]):
        found.append(found[-1] * size)
    return tuple(reversed(found)) if shape else ()


# -- boxes: pieces by the digits of their positions ------------------------------------------------


class _Box(NamedTuple):
    """A piece of which each axis is along one digit: first digit, count and step of each."""

    spans: tuple[tuple[int, int, int], ...]
    values: tuple[Affine, ...]


def _boxes(piece: Piece, strides: Sequence[int], origin: int) -> list[_Box]:
    """Return a piece as boxes of digits: how often each stride is in a position, the longest first.

    Raises NotClosed where that takes many, or its axes go across digits.
    """
    waiting = [piece]
    found: list[_Box] = []
    while waiting:
        if len(waiting) + len(found) > _MOST_PIECES:
            raise NotClosed
        one = waiting.pop()
        parts = _carried(one, strides, origin)
        if parts is None:
            found.append(_box(one, strides, origin))
        else:
            waiting += parts
    return found


def _digits(position: int, strides: Sequence[int]) -> list[int]:
    found: list[int] = []
    for stride in strides:
        digit, position = divmod(position, stride)
        found.append(digit)
    return found


def _digit_of(slope: int, strides: Sequence[int]) -> int:
    """Return along which digit an axis goes."""
    which = next(i for i, stride in enumerate(strides) if stride <= slope)
    if slope % strides[which]:
        raise NotClosed
    return which


def _carried(piece: Piece, strides: Sequence[int], origin: int) -> list[Piece] | None:
    """Return the parts of a piece whose digits carry over along an axis; None where none does."""
    digits = _digits(piece.at.base - origin, strides)
    for axis, (count, slope) in enumerate(zip(piece.counts, piece.at.slopes)):
        which = _digit_of(slope, strides)
        if not which:
            continue  # the first digit may be any number
        step, radix = slope // strides[which], strides[which - 1] // strides[which]
        if digits[which] + step * (count - 1) < radix:
            continue
        first = -(-(radix - digits[which]) // step)
        lines = count // first
        if digits[which] >= step or radix % step or lines < 2:
            return _split(piece, axis, first)
        # whole lines are an axis of their own
        head = _split(piece, axis, lines * first)
        return [_in_lines(head[0], axis, first), *head[1:]]
    return None


def _split(piece: Piece, axis: int, first: int) -> list[Piece]:
    """Return the first ones along an axis, and the others."""
    count = piece.counts[axis]
    if first >= count:
        return [piece]
    place = [0] * len(piece.counts)
    place[axis] = first
    counts = list(piece.counts)
    counts[axis] = first
    one = piece._replace(counts=tuple(counts))
    counts[axis] = count - first
    at, values = (piece.at, *piece.values), []
    for affine in at:
        values.append(Affine(affine.at(place), affine.slopes))
    return [one, Piece(tuple(counts), values[0], tuple(values[1:]))]


def _in_lines(piece: Piece, axis: int, length: int) -> Piece:
    """Return a piece with an axis as two, of lines and within a line."""

    def of(affine: Affine) -> Affine:
        slopes = affine.slopes
        more = (slopes[axis] * length, slopes[axis])
        return Affine(affine.base, (*slopes[:axis], *more, *slopes[axis + 1 :]))

    counts = piece.counts
    lines = counts[axis] // length
    made = (*counts[:axis], lines, length, *counts[axis + 1 :])
    return Piece(made, of(piece.at), tuple(map(of, piece.values)))


def _box(piece: Piece, strides: Sequence[int], origin: int) -> _Box:
    digits = _digits(piece.at.base - origin, strides)
    spans = [(digit, 1, 1) for digit in digits]
    slopes = [[0] * len(strides) for _ in piece.values]
    for axis, (count, slope) in enumerate(zip(piece.counts, piece.at.slopes)):
        which = _digit_of(slope, strides)
        if spans[which][1] > 1:
            raise NotClosed  # two axes along one digit
        spans[which] = digits[which], count, slope // strides[which]
        for own, value in zip(slopes, piece.values):
            own[which] = value.slopes[axis]
    values = tuple(Affine(value.base, tuple(own)) for value, own in zip(piece.values, slopes))
    return _Box(tuple(spans), values)


def _piece(box: _Box, strides: Sequence[int], origin: int) -> list[Piece]:
    base = origin + sum(first * stride for (first, _, _), stride in zip(box.spans, strides))
    slopes = tuple(step * stride for (_, _, step), stride in zip(box.spans, strides))
    return pieces_of([count for _, count, _ in box.spans], Affine(base, slopes), box.values)


class _Cut(NamedTuple):
    """Which elements of two progressions are the same: how many, from where, at which steps."""

    size: int
    first: int
    step: int
    other_first: int
    other_step: int


def _cut(one: tuple[int, int, int], other: tuple[int, int, int]) -> _Cut | None:
    (start, count, step), (begin, length, far) = one, other
    common = math.gcd(step, far)
    if (begin - start) % common:
        return None
    every = far // common
    first = (begin - start) // common * pow(step // common, -1, every) % every if every > 1 else 0
    low = max(0, -((start - begin) // step))
    high = min(count - 1, (begin + far * (length - 1) - start) // step)
    if first < low:
        first += -(-(low - first) // every) * every
    if first > high:
        return None
    beside = (start + step * first - begin) // far
    return _Cut((high - first) // every + 1, first, every, beside, step // common)


def _kept(box: _Box, axis: int, first: int, count: int, step: int = 1) -> _Box:
    """Return a box with some of the elements along an axis."""
    spans = list(box.spans)
    start, _, far = spans[axis]
    spans[axis] = start + far * first, count, far * step
    values = []
    for value in box.values:
        slopes = list(value.slopes)
        base = value.base + slopes[axis] * first
        slopes[axis] *= step
        values.append(Affine(base, tuple(slopes)))
    return _Box(tuple(spans), tuple(values))


# -- where two pieces meet, and what is left of one ------------------------------------------------


def _are_apart(one: Piece, other: Piece) -> bool:
    (low, high), (start, end) = one.ends, other.ends
    return high < start or end < low


class _Boxed(NamedTuple):
    """Two pieces as boxes of the same digits, by which strides and from which origin."""

    one: list[_Box]
    other: list[_Box]
    strides: tuple[int, ...]
    origin: int


def _boxed(one: Piece, other: Piece) -> _Boxed:
    best: _Boxed | None = None
    every = {*one.at.slopes, *other.at.slopes}
    inner = {*one.at.slopes[:-1], *other.at.slopes[:-1]}
    for chosen in (every, inner):
        strides = (*sorted(chosen - {1}, reverse=True), 1)
        if any(long % short for long, short in itertools.pairwise(strides)):
            continue
        for origin in dict.fromkeys((one.at.base, other.at.base, 0)):
            try:
                mine, others = (_boxes(piece, strides, origin) for piece in (one, other))
            except NotClosed:
                continue
            if best is None or len(mine) * len(others) < len(best.one) * len(best.other):
                best = _Boxed(mine, others, strides, origin)
        if best is not None:
            return best
    raise NotClosed


def meet(one: Piece, other: Piece) -> list[Piece]:
    """Return where two pieces have the same positions, with the numbers of both."""
    if _are_apart(one, other):
        return []
    if one.counts == other.counts and one.at == other.at:
        return [one.with_values((*one.values, *other.values))]
    mine, others, strides, origin = _boxed(one, other)
    found = []
    for a, b in itertools.product(mine, others):
        cuts = [_cut(x, y) for x, y in zip(a.spans, b.spans)]
        if None in cuts:
            continue
        for axis, cut in enumerate(cuts):
            assert cut is not None  # looked at above
            a = _kept(a, axis, cut.first, cut.size, cut.step)
            b = _kept(b, axis, cut.other_first, cut.size, cut.other_step)
        found += _piece(_Box(a.spans, (*a.values, *b.values)), strides, origin)
    return found


def minus(one: Piece, other: Piece) -> list[Piece]:
    """Return what a piece has at positions that another one has not."""
    if _are_apart(one, other):
        return [one]
    if one.counts == other.counts and one.at == other.at:
        return []
    mine, others, strides, origin = _boxed(one, other)
    for hole in others:
        mine = [left for box in mine for left in _without(box, hole)]
    return [piece for box in mine for piece in _piece(box, strides, origin)]


def _without(box: _Box, hole: _Box) -> Iterator[_Box]:
    cuts = [_cut(x, y) for x, y in zip(box.spans, hole.spans)]
    if None in cuts:
        yield box
        return
    for axis, cut in enumerate(cuts):
        assert cut is not None  # looked at above
        count = box.spans[axis][1]
        end = cut.first + (cut.size - 1) * cut.step
        if cut.first:
            yield _kept(box, axis, 0, cut.first)
        if end + 1 < count:
            yield _kept(box, axis, end + 1, count - end - 1)
        for beside in range(1, cut.step):
            if cut.size > 1:
                yield _kept(box, axis, cut.first + beside, cut.size - 1, cut.step)
        box = _kept(box, axis, cut.first, cut.size, cut.step)


def all_meet(some: Iterable[Piece], others: Sequence[Piece]) -> list[Piece]:
    """Return where pieces of two arrays have the same positions, with the numbers of both."""
    return [piece for one in some for other in others for piece in meet(one, other)]


def all_minus(some: Iterable[Piece], others: Sequence[Piece]) -> list[Piece]:
    """Return what the pieces of an array have at positions that others have not."""
    left = list(some)
    for other in others:
        left = [piece for one in left for piece in minus(one, other)]
    return left
