"""Which arrays are taken apart: the one model of what numbers cost, and loops.

Costs are in operations of single numbers; where axes stay, of vectors.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.walk import users
from gradc_ir.elements import factors, moves, sums
from gradc_ir.elements.axes import AxisClasses
from gradc_ir.elements.rule import RULES
from gradc_ir.ops.linalg import contracted, parse_spec

_ROOMS = (factors, moves, sums)
# An axis along which elements are told apart has at most as many, beside one that stays fewer; an
# array taken apart has at most …
_LONGEST = 64
_LONGEST_IN_LANES = 16
_MOST_CELLS = 256
# … and a contraction as many products.
_MOST_PRODUCTS = 1024
# As many operations may be written out for one function, and before zeros are left out for a group.
_MOST_OPERATIONS = 3000
_MOST_BEFORE = 30_000
# What a node costs in loops: once, and for each element; in vectors a share of it.
_LOOP = 12.0
_ELEMENT = 0.5
# A row of as many elements as a vector has is one vector or two, with no loop around.
_VECTOR = 8
_ROW = 2.0
_CONTRACTION = 40.0
_PRODUCT = 0.75
_FACTORS = 100.0
_MATRIX = 2.0
# where axes stay, each element that goes through scratch
_KEPT = 2.0
# What is read where it lies.
_VIEWS = frozenset({"broadcast", "reshape", "slice", "element"})


class Regions(NamedTuple):
    """Nodes that are written element by element, in groups that share arrays.

    Parameters
    ----------
    classes: those of the axes of all values.
    apart: the classes along which elements are told apart and written.
    groups: by each node the number of its group.
    nodes: all nodes of groups.
    kept: the values that loops in lanes would hand on through memory.
    flags: for each axis of all values whether it stays.
    counts: how many cells values have, as far as this was asked.
    """

    classes: AxisClasses
    apart: frozenset[int]
    groups: Mapping[Node, int]
    nodes: frozenset[Node]
    kept: frozenset[Value]
    flags: Mapping[Value, tuple[bool, ...]]
    counts: dict[Value, int]

    @classmethod
    def of(cls, function: Function) -> Regions:
        """Return all that could be taken apart in a function, see :class:`TakeApart`."""
        classes = AxisClasses(function)
        apart = frozenset(_apart(function, classes))
        flags = {
            value: tuple([number not in apart for number in classes.of(value)])
            for node in function.nodes
            for value in node.results
        }
        regions = cls(classes, apart, {}, frozenset(), frozenset(), flags, {})
        if not regions.apart:
            return regions
        nodes = [node for node in function.nodes if regions.may_take(node)]
        if all(regions.is_of_numbers(node) for node in nodes):
            return regions
        groups = _grouped(regions, nodes)
        volumes: Counter[int] = Counter()
        widest: Counter[int] = Counter()
        for node, group in groups.items():
            volumes[group] += _volume(regions, node)
            widest[group] = max(widest[group], *map(regions.cells, (*node.operands, *node.results)))
        groups = {
            node: group
            for node, group in groups.items()
            if volumes[group] <= _MOST_BEFORE and widest[group] > 1
        }
        kept = _kept(function, regions)
        return regions._replace(groups=groups, nodes=frozenset(groups), kept=kept)

    def stays(self, value: Value) -> tuple[bool, ...]:
        """Return for each axis of a value whether it stays."""
        return self.flags[value]

    def cells(self, value: Value) -> int:
        """Return how many cells a value has."""
        found = self.counts.get(value)
        if found is None:
            found = 1
            for size, stays in zip(value.type.shape, self.flags[value]):
                if not stays:
                    assert isinstance(size, int)
                    found *= size
            self.counts[value] = found
        return found

    def may_take(self, node: Node) -> bool:
        """Whether there is a rule for a node, and what it makes is small."""
        if not (node.op.is_elementwise or node.op.name in RULES):
            return False
        values = [*node.operands, *node.results]
        if not self.is_of_numbers(node) and all(all(self.stays(value)) for value in values):
            return False
        if any(0 in value.type.shape or self.cells(value) > _MOST_CELLS for value in values):
            return False
        if node.op.family == "factor" and any(any(self.stays(x)[-2:]) for x in node.operands):
            return False
        if node.op.name == "contract":
            return _products(self, node) <= _MOST_PRODUCTS and not _is_of_matrices(self, node)
        return True

    def is_of_numbers(self, node: Node) -> bool:
        """Whether a node is written as it is, but for what is known of its operands."""
        return node.op.is_elementwise and not node.results[0].type.shape

    def worthwhile(self, operations: Mapping[Node, int]) -> Regions:
        """Return the groups that take less work as numbers.

        ``operations``: how many ops were made for each node.
        """
        numbers: dict[int, float] = {}
        loops: dict[int, float] = {}
        for node, group in self.groups.items():
            numbers[group] = numbers.get(group, 0.0) + operations.get(node, 0)
            loops[group] = loops.get(group, 0.0) + _in_loops(self, node)
        kept: set[int] = set()
        total = 0.0
        for group in sorted(numbers, key=lambda group: (numbers[group], group)):
            if numbers[group] < loops[group] and total + numbers[group] <= _MOST_OPERATIONS:
                kept.add(group)
                total += numbers[group]
        groups = {node: group for node, group in self.groups.items() if group in kept}
        return self._replace(groups=groups, nodes=frozenset(groups))


def _apart(function: Function, classes: AxisClasses) -> set[int]:
    """Return the classes along which elements are told apart: short ones.

    Those of arrays that have another axis, one that stays, are shorter still: each element is then
    an array of its own. Of arrays that have two such axes none is told apart.
    """
    of = {value: classes.of(value) for node in function.nodes for value in node.results}
    found = {
        number
        for value, numbers in of.items()
        for number, size in zip(numbers, value.type.shape)
        if isinstance(size, int)
        and (size == 1 or (0 < size <= _LONGEST and classes.is_told_apart(number)))
    }

    def is_long(number: int) -> bool:
        size = classes.size(number)
        return not isinstance(size, int) or size > _LONGEST_IN_LANES

    while True:
        whole: set[int] = set()
        for numbers in of.values():
            stay = sum(number not in found for number in numbers)
            if stay:
                whole.update(n for n in numbers if stay > 1 or is_long(n))
        whole = {number for number in whole if classes.size(number) != 1}
        if found.isdisjoint(whole):
            return found
        found -= whole


def _grouped(regions: Regions, nodes: list[Node]) -> dict[Node, int]:
    """Return the groups of nodes that share arrays with elements told apart."""
    parent = {node: node for node in nodes}

    def find(node: Node) -> Node:
        while parent[node] is not node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    first: dict[Value, Node] = {}
    for node in nodes:
        for value in (*node.operands, *node.results):
            if value.type.shape and all(regions.stays(value)):
                continue
            other = first.setdefault(value, node)
            parent[find(node)] = find(other)
    number: dict[Node, int] = {}
    for node in nodes:
        number.setdefault(find(node), len(number))
    return {node: number[find(node)] for node in nodes}


def _products(regions: Regions, node: Node) -> int:
    left, right, _ = parse_spec(node.attributes["spec"])
    x, y = node.operands
    sizes = {
        **dict(zip(left, zip(x.type.shape, regions.stays(x)))),
        **dict(zip(right, zip(y.type.shape, regions.stays(y)))),
    }
    return math.prod(size for size, stays in sizes.values() if not stays)  # type: ignore[misc]


def _volume(regions: Regions, node: Node) -> int:
    """Return how many operations a node is at most, written out."""
    if node.op.moves:
        return 0
    if node.op.name == "contract":
        return _products(regions, node)
    count = max(map(regions.cells, (*node.operands, *node.results)))
    return count * math.isqrt(count) if node.op.family == "factor" else count


def _is_of_matrices(regions: Regions, node: Node) -> bool:
    """Whether what a contraction would be made of are such themselves, not products of rows."""
    left, right, result = parse_spec(node.attributes["spec"])
    x, y = node.operands
    stays = {**dict(zip(left, regions.stays(x))), **dict(zip(right, regions.stays(y)))}
    summed = any(stays[letter] for letter in contracted(node.attributes["spec"]))
    return summed and any(stays[letter] for letter in result)


def _in_loops(regions: Regions, node: Node) -> float:
    """Return what a node costs in loops."""
    out = node.results[0]
    values = (*node.operands, *node.results)
    if not any(_is_apart(regions, value) for value in values):
        return 1.0
    is_wide = any(any(regions.stays(value)) for value in values)
    if is_wide:
        return _in_lanes(regions, node)
    if node.op.moves:
        return 0.0 if node.op.name in _VIEWS else _LOOP / 2
    if node.op.name == "contract":
        return _CONTRACTION + _PRODUCT * _products(regions, node)
    count = max(map(regions.cells, values))
    if node.op.family == "factor":
        return _FACTORS + _MATRIX * count * math.sqrt(count)
    if not out.type.shape:
        return 1.0
    is_row = count >= _VECTOR and sum(size != 1 for size in out.type.shape) == 1
    return (_ROW if is_row else _LOOP) + _ELEMENT * count


def _in_lanes(regions: Regions, node: Node) -> float:
    """Return what a node costs in loops inside of lanes: its operations, and what is kept."""
    out = node.results[0]
    kept = _KEPT * regions.cells(out) if out in regions.kept else 0.0
    if node.op.moves:
        return 0.0 if node.op.name in _VIEWS else kept
    if node.op.name == "contract":
        return _products(regions, node) + kept
    count = max(map(regions.cells, (*node.operands, *node.results)))
    if node.op.family == "factor":
        return _FACTORS + _MATRIX * count * math.sqrt(count)
    return count + kept


def _is_apart(regions: Regions, value: Value) -> bool:
    return bool(value.type.shape) and not all(regions.stays(value))


def _kept(function: Function, regions: Regions) -> frozenset[Value]:
    """Return the values that go through memory where lanes run over what stays.

    They have elements told apart, and are read in another order than they are made in.
    """
    return frozenset(
        value
        for value, nodes in users(function).items()
        if value.node.operands
        and _is_apart(regions, value)
        and any(not node.op.is_elementwise for node in nodes)
    )
