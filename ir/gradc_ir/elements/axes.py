"""Which axes of a function's values are alike, and along which of them elements are told apart.

An axis that an op goes through as it is, is one with that of the result: they have a class. A class
is *told apart* where some op reads or makes single places of it, or sums over it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.sizes import Shape, Size
from gradc_ir.core.types import Array
from gradc_ir.graphs.rearrange import scalar_constant
from gradc_ir.ops.linalg import contracted, parse_spec

_MATRICES = frozenset({"lu", "cholesky", "triangular_solve", "solve"})
# Along longer axes sums are loops.
_SHORT = 8
# Constants with more elements are not looked at.
_LONGEST = 4096
_ALONG = frozenset({"cumsum", "recurrence"})


def is_short(size: Size) -> bool:
    """Whether sums along an axis of a size are worth writing out."""
    return isinstance(size, int) and size <= _SHORT


def known_array(value: Value) -> Array | None:
    """Return the elements of a constant, spread or not, of known sizes; None for what is none."""
    if value.op.name == "constant":
        array: Array = value.node.attributes["value"].array
        return array
    number = scalar_constant(value)
    shape = [size for size in value.type.shape if isinstance(size, int)]
    if number is None or len(shape) < value.type.rank or math.prod(shape) > _LONGEST:
        return None
    return np.full(shape, number, value.type.dtype.numpy)


class AxisClasses:
    """The classes of all axes, by union-find."""

    def __init__(self, function: Function) -> None:
        self._first: dict[Value, int] = {}
        self._parent: list[int] = []
        self._size: list[Size] = []
        self._apart: set[int] = set()
        for node in function.nodes:
            for value in node.results:
                self._first[value] = len(self._parent)
                for size in value.type.shape:
                    self._parent.append(len(self._parent))
                    self._size.append(size)
            if node.operands:
                self._relate(node)
        self._told = {self._find(number) for number in self._apart}
        self._of = {
            value: [self._find(first + axis) for axis in range(value.type.rank)]
            for value, first in self._first.items()
        }

    def of(self, value: Value) -> list[int]:
        """Return the class of each axis of a value."""
        return self._of[value]

    def is_told_apart(self, number: int) -> bool:
        """Whether single places of a class's axes matter."""
        return number in self._told

    def size(self, number: int) -> Size:
        """Return the size of a class's axes."""
        return self._size[number]

    # -- relations ---------------------------------------------------------------------------------

    def _find(self, number: int) -> int:
        parent = self._parent
        while parent[number] != number:
            parent[number] = parent[parent[number]]
            number = parent[number]
        return number

    def _unite(self, x: Value, axis: int, y: Value, other: int) -> None:
        a, b = self._find(self._first[x] + axis), self._find(self._first[y] + other)
        self._parent[max(a, b)] = min(a, b)

    def _tell(self, value: Value, axes: Iterable[int]) -> None:
        self._apart.update(self._first[value] + axis for axis in axes)

    def _pairs(self, x: Value, y: Value, pairs: Iterable[tuple[int, int]]) -> None:
        for axis, other in pairs:
            self._unite(x, axis, y, other)

    def _relate(self, node: Node) -> None:
        name, given = node.op.name, node.attributes
        out, x = node.results[0], node.operands[0]
        if node.op.is_elementwise:
            for operand in node.operands:
                self._pairs(operand, out, ((axis, axis) for axis in range(out.type.rank)))
        elif name == "broadcast":
            self._pairs(x, out, enumerate(given["axes"]))
        elif name == "transpose":
            self._pairs(x, out, ((axis, i) for i, axis in enumerate(given["permutation"])))
        elif name == "reshape":
            self._reshape(x, out)
        elif name == "concatenate":
            for part in node.operands:
                self._except(part, out, [given["axis"]])
        elif name == "stack":
            kept = [axis for axis in range(out.type.rank) if axis not in given["axes"]]
            for part in node.operands:
                self._pairs(part, out, enumerate(kept))
            self._tell(out, given["axes"])
        elif name == "element":
            kept = [axis for axis, place in enumerate(given["at"]) if place is None]
            self._pairs(x, out, ((axis, i) for i, axis in enumerate(kept)))
            self._tell(x, (axis for axis in range(x.type.rank) if axis not in kept))
        elif name in ("slice", "pad"):
            self._except(x, out, _moved(node, x.type.shape, out.type.shape))
        elif name == "set_slice":
            part = node.operands[1]
            self._except(x, out, ())
            self._except(part, out, _moved(node, part.type.shape, out.type.shape))
        elif node.op.family == "reduce":
            reduced = given["axes"]
            kept = [axis for axis in range(x.type.rank) if axis not in reduced]
            self._pairs(x, out, ((axis, i) for i, axis in enumerate(kept)))
            self._tell(x, (axis for axis in reduced if is_short(x.type.shape[axis])))
        elif name == "contract":
            self._contract(node)
        elif node.op.family == "index":
            self._index(node)
        elif name in _ALONG:
            for operand in node.operands:
                self._except(operand, out, ())
            self._tell(out, [given["axis"]])
        elif name in _MATRICES:
            self._matrices(node)

    def _except(self, x: Value, out: Value, axes: Sequence[int]) -> None:
        """Relate axes one by one, and tell some apart."""
        rest = [axis for axis in range(out.type.rank) if axis not in axes]
        self._pairs(x, out, zip(rest, rest))
        self._tell(x, axes)
        self._tell(out, axes)

    def _reshape(self, x: Value, out: Value) -> None:
        """Relate axes that both shapes have behind as many elements; others are told apart."""
        ends = [_ends(value.type.shape) for value in (x, out)]
        known = [dict(zip(each, range(len(each)))) for each in ends]
        for end in known[0].keys() & known[1].keys():
            axis, other = known[0][end], known[1][end]
            if x.type.shape[axis] == out.type.shape[other]:
                self._unite(x, axis, out, other)
        for value, mine, others in ((x, ends[0], known[1]), (out, ends[1], known[0])):
            self._tell(value, (axis for axis, end in enumerate(mine) if end not in others))

    def _contract(self, node: Node) -> None:
        left, right, result = parse_spec(node.attributes["spec"])
        x, y = node.operands
        places: dict[str, tuple[Value, int]] = {}
        for value, letters in ((node.results[0], result), (x, left), (y, right)):
            for axis, letter in enumerate(letters):
                if letter in places:
                    self._unite(*places[letter], value, axis)
                else:
                    places[letter] = (value, axis)
        summed = contracted(node.attributes["spec"])
        if summed and all(is_short(places[x][0].type.shape[places[x][1]]) for x in summed):
            for letter, (value, axis) in places.items():
                is_stack = letter in left and letter in right and letter in result
                if not is_stack and is_short(value.type.shape[axis]):
                    self._tell(value, [axis])

    def _index(self, node: Node) -> None:
        x, *rest = node.operands
        out, axes = node.results[0], node.attributes["axes"]
        part = out if node.op.name == "gather" else rest[0]
        indices = rest if node.op.name == "gather" else rest[1:]
        kept = [axis for axis in range(x.type.rank) if axis not in axes]
        rank = indices[0].type.rank
        self._pairs(x, part, ((axis, rank + i) for i, axis in enumerate(kept)))
        for operand in indices:
            self._pairs(operand, part, ((axis, axis) for axis in range(rank)))
        if part is not out:
            self._except(x, out, ())
        if all(known_array(operand) is not None for operand in indices):
            self._tell(x, axes)
            self._tell(part, range(rank))

    def _matrices(self, node: Node) -> None:
        values = [*node.operands, *node.results]
        first = values[0]
        for value in values[1:]:
            self._pairs(first, value, ((axis, axis) for axis in range(first.type.rank - 2)))
        for value in values:
            self._tell(value, range(first.type.rank - 2, value.type.rank))


def _moved(node: Node, part: Shape, whole: Shape) -> list[int]:
    """Return along which axes a window is not all there is."""
    windows = zip(node.attributes["starts"], node.attributes["steps"], part, whole)
    return [
        axis
        for axis, (start, step, have, size) in enumerate(windows)
        if start != 0 or step != 1 or have != size
    ]


def _ends(shape: Shape) -> list[Size]:
    """Return how many elements there are behind each axis and in it, in row-major order."""
    found: list[Size] = []
    count: Size = 1
    for size in reversed(shape):
        count = count * size
        found.append(count)
    return found[::-1]
