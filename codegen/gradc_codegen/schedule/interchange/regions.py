"""Regions: the nodes around loops that may run for one strip of an axis after another.

A region holds loops that keep the rows of an axis apart, what leads from one of them to another,
what they alone lead to, and what leads to them. No way leads out of a region and back: what reads
a sum over all rows is behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TypeAlias

from gradc_codegen.nest.carry_storage import inits
from gradc_codegen.schedule.estimates import Estimates
from gradc_codegen.schedule.interchange.apart import Apart
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.sizes import Size
from gradc_ir.core.walk import users
from gradc_ir.meaning import reduction

# What loops hand to each other in memory is worth to be kept near from so many bytes on ...
_WORTH = 2**19
# ... and so many are near: half of a usual second cache.
_NEAR = 2**19
# Odd multiples of a group: rows of a power of two long share their places in the first cache.
_SHORTEST, _LONGEST = 32, 160


Readers: TypeAlias = Mapping[Value, list[Node]]


class Region(NamedTuple):
    """A region of a function.

    Parameters
    ----------
    apart: of which axis.
    level: how many sums over regions there are before it, one after another.
    nodes: in the order of the function.
    strip: how many rows go through it at once.
    """

    apart: Apart
    level: int
    nodes: tuple[Node, ...]
    strip: int

    @property
    def loops(self) -> list[Node]:
        """Its loops, in this order."""
        return [node for node in self.nodes if _is_loop(node)]


class Regions(NamedTuple):
    """The regions along one axis, and the level of every node of the function."""

    regions: tuple[Region, ...]
    levels: dict[Node, int]


def sizes_carried(function: Function, estimate: Estimates) -> list[Size]:
    """Return the sizes of axes that loops carry, the longest first."""
    found: dict[Size, None] = {}
    for node in function.nodes:
        if node.op.name == "scan":
            for i in inits(node):
                found.update(dict.fromkeys(node.operands[i].type.shape))
    long = [size for size in found if estimate(size) > _SHORTEST]
    return sorted(long, key=lambda size: (-estimate(size), str(size)))


def regions_along(function: Function, apart: Apart, estimate: Estimates) -> Regions:
    """Return the regions along an axis in which so much is moved that strips are worth it."""
    readers = users(function)
    read = {*readers, *function.results}

    def may_be_inside(node: Node) -> bool:
        has = [apart.has(value) for value in node.results]
        if node.op.name == "param" or not any(has) or not apart.keeps(node):
            return False
        # without rows there is no strip, so nothing else may come of one
        some = isinstance(apart.size, int)
        return some or all(x or value not in read for x, value in zip(has, node.results))

    inside = set(filter(may_be_inside, function.nodes))
    while True:
        levels = _levels(function, inside)
        groups = _groups(function, inside, levels)
        kept: set[Node] = set()
        strips: dict[int, int] = {}
        for level, nodes in groups.items():
            loops = [node for node in nodes if _is_loop(node)]
            rows = list(_rows_between(apart, nodes, function.results, readers))
            handed = [*rows, *_carried(apart, loops)]
            if handed and _bytes(handed, estimate) >= _WORTH:
                kept |= _around(loops, nodes, readers)
                strips[level] = _strip(apart, loops, rows, estimate)
        if kept == inside:
            break
        inside = kept
    found = [
        Region(apart, level, tuple(nodes), strips[level])
        for level, nodes in _groups(function, inside, levels).items()
        if level in strips and estimate(apart.size) >= 2 * strips[level]
    ]
    return Regions(tuple(found), levels)


def _is_loop(node: Node) -> bool:
    return node.op.name == "scan"


def _levels(function: Function, inside: Collection[Node]) -> dict[Node, int]:
    """Return for each node how often what it is made of has left regions."""
    levels: dict[Node, int] = {}
    for node in function.nodes:
        is_outside = node not in inside
        before = (
            levels[operand.node] + (is_outside and operand.node in inside)
            for operand in node.operands
        )
        levels[node] = max(before, default=0)
    return levels


def _groups(
    function: Function, inside: Collection[Node], levels: dict[Node, int]
) -> dict[int, list[Node]]:
    groups: dict[int, list[Node]] = {}
    for node in function.nodes:
        if node in inside:
            groups.setdefault(levels[node], []).append(node)
    return groups


def _rows_between(
    apart: Apart, nodes: Collection[Node], results: Collection[Value], readers: Readers
) -> Iterator[Value]:
    """Yield the stacks of rows that loops of a group make, and that only others of it read."""
    members = set(nodes)
    for node in filter(_is_loop, nodes):
        for value in node.results[len(inits(node)) :]:
            reading = [user for user in readers.get(value, ()) if not apart.sums_up(user)]
            if reading and apart.has(value) and value not in results and members >= {*reading}:
                yield value


def _carried(apart: Apart, loops: Iterable[Node]) -> Iterator[Value]:
    """Yield the rows that a step hands to the next."""
    for node in loops:
        yield from filter(apart.has, node.results[: len(inits(node))])


def _bytes(values: Iterable[Value], estimate: Estimates) -> float:
    return sum(estimate(value.type.count) * value.type.dtype.bytes for value in values)


def _strip(
    apart: Apart, loops: Iterable[Node], rows: Collection[Value], estimate: Estimates
) -> int:
    """Return how many rows go through loops at once: what these read and make is to stay near."""
    read = {value for node in loops for value in node.operands if apart.has(value)}
    of_one = _bytes(read.union(rows), estimate) / estimate(apart.size)
    strip = _LONGEST
    while strip > _SHORTEST and strip * of_one > _NEAR:
        strip -= 2 * reduction.GROUP
    return strip


def _around(loops: Collection[Node], nodes: Collection[Node], readers: Readers) -> set[Node]:
    """Return the nodes of a group before and behind its loops, and what is between such nodes."""
    members = set(nodes)

    def above(node: Node) -> Iterator[Node]:
        return (operand.node for operand in node.operands)

    def below(node: Node) -> Iterator[Node]:
        return (user for value in node.results for user in readers.get(value, ()))

    before = _reached(loops, above, members)
    behind = _reached(loops, below, members)
    between = _reached(before, below, members) & _reached(behind, above, members)
    return before | behind | between


def _reached(
    start: Iterable[Node], following: Callable[[Node], Iterator[Node]], members: Collection[Node]
) -> set[Node]:
    found = set(start)
    waiting = list(found)
    while waiting:
        for node in following(waiting.pop()):
            if node in members and node not in found:
                found.add(node)
                waiting.append(node)
    return found
