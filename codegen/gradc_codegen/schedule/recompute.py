"""Which values readers recompute, and what is read through them.

Data movement and cheap elementwise values may be recomputed at every reader, which then reads what
they read. All other values are kept: each element is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from gradc_codegen.nest.index_maps import Fixed, Index, Shifted, Windowed, identity, index_maps
from gradc_codegen.nest.loop_nest import KNOWN, Reading, dim_at, moving
from gradc_codegen.schedule.choices import Choices
from gradc_codegen.schedule.cost import operations
from gradc_ir.core.graph import Node, Value
from gradc_ir.core.sizes import Size

SOURCES = ("param", "constant")
# How deep a value is recomputed through others.
_LONGEST_CHAIN = 24

# Of what is joined so much is kept for a reader of one in so many elements.
_LEAST_SHARE = 4

Readings: TypeAlias = tuple[tuple[Value, Reading], ...]


def looks_into(node: Node, estimate: Callable[[Size], float]) -> bool:
    """Whether a node reads something joined at indices that are looked up, not just here and there.

    No reader knows then which operand it wants, so these are written one after another.
    """
    if node.op.name != "gather" or not node.operands[0].op.joins:
        return False
    read, there = node.results[0].type.count, node.operands[0].type.count
    return _LEAST_SHARE * estimate(read) >= estimate(there)


class Recomputed:
    """The values met so far that are not kept: parameters, constants, and what is recomputed."""

    def __init__(self, choices: Choices, nodes: Sequence[Node]) -> None:
        self._choices = choices
        self._along_diagonals = _along_diagonals(nodes)
        # what they read, their cost, their depth
        self._readings: dict[Value, Readings] = {}
        self._cost: dict[Value, int] = {}
        self._depth: dict[Value, int] = {}

    def add_source(self, value: Value) -> None:
        """Enter a parameter or a constant."""
        self._readings[value] = ((value, identity(value.type.rank)),) if value.type.shape else ()
        self._cost[value] = self._depth[value] = 0

    def add(self, node: Node) -> bool:
        """Enter a node's value if it is cheap and shall be recomputed; says whether it is."""
        value = node.results[0]
        own = operations(node)
        if own is None:
            return False
        if not value.type.shape and node.operands:
            return False  # one element: computed once
        cost = own + sum(map(self.cost, dict.fromkeys(node.operands)))
        depth = 1 + max((self._depth.get(operand, 0) for operand in node.operands), default=0)
        if depth > _LONGEST_CHAIN:
            return False
        readings = self.through(node)
        # a reader along diagonals is in no loop of the value's: rows are less than the whole
        rank = value.type.rank if value in self._along_diagonals else 1
        kept = {v for v, _ in readings if v.type.rank >= rank and v.op.name not in SOURCES}
        if not self._choices.recompute(node, cost, len(readings), len(kept)):
            return False
        self._readings[value] = readings
        self._cost[value] = cost
        self._depth[value] = depth
        return True

    def cost(self, value: Value) -> int:
        """Return the cheap operations that reading an element of a value takes."""
        return self._cost.get(value, 0)

    def through(self, node: Node) -> Readings:
        """Return what a node reads, through the operands that are recomputed."""
        found: dict[tuple[Value, Reading], None] = {}
        for operand, map_ in zip(node.operands, index_maps(node)):
            own = tuple(map(_reading, map_))
            for value, inner in self.of(operand):
                found[value, tuple(_through(own, read) for read in inner)] = None
        return tuple(found)

    def of(self, value: Value) -> Readings:
        """Return what reading a value reads: itself if it is kept."""
        readings = self._readings.get(value)
        return ((value, identity(value.type.rank)),) if readings is None else readings


def _along_diagonals(nodes: Sequence[Node]) -> set[Value]:
    """Return what is read along diagonals, and what it is made of element by element."""
    found: set[Value] = set()
    for node in reversed(nodes):
        if node.op.name == "view":
            (own,) = index_maps(node)
            is_diagonal = any(isinstance(at, Shifted) and len(at.terms) > 1 for at in own)
        else:
            is_moved = node.op.is_elementwise or node.op.name == "pad"
            is_diagonal = is_moved and node.results[0] in found
        if is_diagonal:
            found.update(operand for operand in node.operands if operand.type.rank > 1)
    return found


def _reading(index: Index) -> int:
    """Return what stands in a reading for an index."""
    if isinstance(index, int):
        return index
    if isinstance(index, Fixed):
        return KNOWN
    if isinstance(index, Windowed) and index.step == 1:
        return moving(index.dim)
    if isinstance(index, Shifted):
        # of several the outermost: windows begin at neighbours
        return next((moving(dim) for dim, step in index.terms if step == 1), -1)
    return -1


def _through(own: Reading, read: int) -> int:
    """Return what stands in a reading for an index that an operand is read at."""
    dim = dim_at(read)
    if dim < 0:
        return dim
    found = own[dim]
    return found if dim == read or found < 0 else moving(found)
