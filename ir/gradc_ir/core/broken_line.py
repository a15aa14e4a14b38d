"""Broken lines over the numbers 0, 1, 2 …: what maxima of one size with numbers add up to.

Such a line is told by where it starts, how it rises first, and where it bends by how much, in one
way only. So sums and maxima that look different but are equal for every size become the same.
"""

from __future__ import annotations

from collections.abc import Mapping

from gradc_ir.classes.named import NamedTuple


class BrokenLine(NamedTuple):
    """A function of n = 0, 1, 2 …: ``start + rise * n``, plus ``bend * max(n - k, 0)`` for each k.

    bends: how much steeper it is after k, by k; each k is at least 1, no bend is 0.
    """

    start: int
    rise: int
    bends: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, start: int, rise: int, bends: Mapping[int, int]) -> BrokenLine:
        """Return the line of bends in any order."""
        return cls(start, rise, tuple(sorted((k, bend) for k, bend in bends.items() if bend)))

    def at(self, n: int) -> int:
        """Return its value at a number."""
        return self.start + self.rise * n + sum(b * (n - k) for k, b in self.bends if n > k)

    @property
    def last_rise(self) -> int:
        """How much it rises behind its last bend."""
        return self.rise + sum(bend for _, bend in self.bends)

    @property
    def is_positive(self) -> bool:
        """Whether it is never below 0: not where it starts or bends, and it does not fall last."""
        return (
            self.last_rise >= 0 and self.start >= 0 and all(self.at(k) >= 0 for k, _ in self.bends)
        )

    def or_zero(self) -> BrokenLine:
        """Return the line of the larger of its value and 0."""
        places = {0, 1}
        corners = [0, *(k for k, _ in self.bends)]
        rises = [self.rise]
        for _, bend in self.bends:
            rises.append(rises[-1] + bend)
        for number, (corner, rise) in enumerate(zip(corners, rises)):
            value = self.at(corner)
            # where it meets 0, perhaps between two numbers, is a bend on each side of that
            if value * rise < 0:
                met = corner + abs(value) // abs(rise)
                if number + 1 == len(corners) or met <= corners[number + 1]:
                    places |= {met, met + 1}
            places |= {corner, corner + 1}

        def value_at(n: int) -> int:
            return max(self.at(n), 0)

        bends = {k: value_at(k + 1) - 2 * value_at(k) + value_at(k - 1) for k in places if k}
        return BrokenLine.of(value_at(0), value_at(1) - value_at(0), bends)
