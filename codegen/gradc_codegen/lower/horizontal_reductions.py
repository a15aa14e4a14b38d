"""Horizontal reductions: the lanes of vectors of partials become sums, those of several at once.

One vector of eight lanes takes three shuffles and three additions that wait for each other. Eight
of them, transposed as they are reduced, take fourteen shuffles and seven additions in all, and end
as the lanes of one vector. Sums that belong side by side in memory are joined to what is there as
such.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from gradc_codegen.text.module import shuffle
from gradc_codegen.text.vectors import element, piece
from gradc_codegen.text.writer import Writer


@dataclass(frozen=True)
class Joined:
    """What may be reduced together: partials of one type that are joined in the same way.

    Parameters
    ----------
    type: LLVM's type of an element.
    lanes: how many there are.
    word: how they are joined.
    """

    type: str
    lanes: int
    word: str


class Target(Protocol):
    """What a sum is joined to."""

    @property
    def row(self) -> tuple[object, int]:
        """What it has in common with all that is side by side with it, and its place among them."""
        ...

    def join(self, total: str) -> None:
        """Write the join of a sum."""
        ...

    def join_side_by_side(self, totals: str) -> None:
        """Write the joins of a vector of sums, to it and to what is beside it."""
        ...


@dataclass
class _Waiting:
    join: Callable[[str, str], str]
    partials: list[str] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)


class HorizontalReductions:
    """Partials that wait to be reduced with others, up to the end of a loop's body."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._waiting: dict[Joined, _Waiting] = {}

    def add(
        self,
        joined: Joined,
        partials: str,
        join: Callable[[str, str], str],
        target: Target,
    ) -> None:
        """Have the lanes of partials reduced and joined to a target, at the latest by a flush.

        ``join`` writes the join of two vectors.
        """
        waiting = self._waiting.setdefault(joined, _Waiting(join))
        waiting.partials.append(partials)
        waiting.targets.append(target)
        if len(waiting.targets) == joined.lanes:
            self._reduce(joined)

    def flush(self) -> None:
        """Reduce all that wait."""
        for joined in list(self._waiting):
            self._reduce(joined)

    def _reduce(self, joined: Joined) -> None:
        waiting = self._waiting.pop(joined)
        rows: dict[object, list[tuple[int, int]]] = {}
        for number, target in enumerate(waiting.targets):
            row, place = target.row
            rows.setdefault(row, []).append((place, number))
        places = [one for row in rows.values() for one in sorted(row)]
        partials = [waiting.partials[number] for _, number in places]
        sums = reduced_together(self._writer, partials, joined, waiting.join)
        lane = 0
        for row in rows.values():
            for count in _runs(sorted(row)):
                self._join(joined, sums, lane, count, waiting.targets[places[lane][1]])
                lane += count

    def _join(self, joined: Joined, sums: str, lane: int, count: int, target: Target) -> None:
        """Join sums, from a lane on, to a target and to what is beside it."""
        with self._writer.in_lanes(joined.lanes):
            if count == 1:
                total = element(self._writer, sums, joined.type, lane)
            else:
                total = piece(self._writer, sums, joined.type, lane, count)
        if count == 1:
            target.join(total)
            return
        with self._writer.in_lanes(count):
            target.join_side_by_side(total)


def _runs(row: list[tuple[int, int]]) -> Iterator[int]:
    """Yield how many of a row are side by side, powers of two, from the first to the last."""
    start = 0
    while start < len(row):
        count = 1
        while start + count < len(row) and row[start + count][0] == row[start][0] + count:
            count += 1
        count = 1 << count.bit_length() - 1
        yield count
        start += count


def reduced_together(
    writer: Writer, vectors: list[str], joined: Joined, join: Callable[[str, str], str]
) -> str:
    """Write the vector of the sums of at most as many vectors as they have lanes.

    Each is reduced by halving: lane i with lane i + half, and so on. After a step a vector holds
    the halves of two, after the next one the quarters of four.
    """
    width = joined.lanes
    whole = f"<{width} x {joined.type}>"
    while width > 1:
        half = width // 2
        starts = range(0, 2 * joined.lanes, width)
        low = [start + i for start in starts for i in range(half)]
        high = [lane + half for lane in low]
        pairs = zip(vectors[::2], [*vectors[1::2], vectors[-1]])
        vectors = []
        for left, right in pairs:
            sides = [
                writer.emit_vector(shuffle(whole, left, right, lanes)) for lanes in (low, high)
            ]
            with writer.in_lanes(joined.lanes):
                vectors.append(join(*sides))
        width = half
    return vectors[0]
