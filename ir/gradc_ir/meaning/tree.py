"""The tree by which the chunks of a sum join: which nodes some rows are, and how nodes join.

A node is known by its level and its number there: node ``(0, i)`` is chunk i, and node
``(k + 1, j)`` joins nodes 2j and 2j + 1 of level k. A last one without a neighbour rises as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from gradc_ir.classes.named import NamedTuple
from gradc_ir.meaning.reduction import CHUNK

_Sum = TypeVar("_Sum")


class Place(NamedTuple):
    """Where a node stands."""

    level: int
    number: int

    @property
    def start(self) -> int:
        """The first row under the node."""
        return (self.number << self.level) * CHUNK

    @property
    def stop(self) -> int:
        """The row behind the last one under the node, unless the rows end before."""
        return ((self.number + 1) << self.level) * CHUNK

    @property
    def sibling(self) -> Place:
        """The node it is joined to."""
        return Place(self.level, self.number ^ 1)

    @property
    def parent(self) -> Place:
        """What both together are."""
        return Place(self.level + 1, self.number >> 1)


def cover(first: int, last: int, most: int | None = None) -> Iterator[Place]:
    """Yield the fewest nodes, from left to right, that are chunks ``first`` up to ``last``.

    There are at most two a level. Those of levels above ``most`` are left to their parts.
    """
    while first < last:
        level = (last - first).bit_length() - 1
        if first:
            level = min(level, (first & -first).bit_length() - 1)
        if most is not None:
            level = min(level, most)
        yield Place(level, first >> level)
        first += 1 << level


def enter(
    nodes: dict[Place, _Sum], place: Place, found: _Sum, join: Callable[[_Sum, _Sum], _Sum]
) -> None:
    """Add a node to some, joining it to its sibling where that is there, and so on upwards."""
    while place.sibling in nodes:
        other = nodes.pop(place.sibling)
        left, right = (found, other) if place.number % 2 == 0 else (other, found)
        place, found = place.parent, join(left, right)
    nodes[place] = found


def joined(nodes: Mapping[Place, _Sum], join: Callable[[_Sum, _Sum], _Sum]) -> _Sum:
    """Return the sum of all rows from nodes of which no two are siblings: what is last rises."""
    *before, last = sorted(nodes, key=lambda place: place.start)
    found = nodes[last]
    for place in reversed(before):
        found = join(nodes[place], found)
    return found
