"""Horizontal reductions: the lanes of vectors of partials become sums, those of several at once.

One vector of eight lanes takes three shuffles and three additions that wait for each other. Eight
of them, transposed as they are reduced, take fourteen shuffles and seven additions in all, and end
as the lanes of one vector.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from gradc_codegen.text.module import shuffle
from gradc_codegen.text.vectors import element
from gradc_codegen.text.writer import Writer
from gradc_ir.classes.quick import dataclass


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


@dataclass
class _Waiting:
    join: Callable[[str, str], str]
    partials: list[str] = field(default_factory=list)
    uses: list[Callable[[str], None]] = field(default_factory=list)


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
        use: Callable[[str], None],
    ) -> None:
        """Have the lanes of partials reduced; ``use`` is given the sum, at the latest by a flush.

        ``join`` writes the join of two vectors.
        """
        waiting = self._waiting.setdefault(joined, _Waiting(join))
        waiting.partials.append(partials)
        waiting.uses.append(use)
        if len(waiting.uses) == joined.lanes:
            self._reduce(joined)

    def flush(self) -> None:
        """Reduce all that wait."""
        for joined in list(self._waiting):
            self._reduce(joined)

    def _reduce(self, joined: Joined) -> None:
        waiting = self._waiting.pop(joined)
        sums = reduced_together(self._writer, waiting.partials, joined, waiting.join)
        for lane, use in enumerate(waiting.uses):
            with self._writer.in_lanes(joined.lanes):
                total = element(self._writer, sums, joined.type, lane)
            use(total)


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
