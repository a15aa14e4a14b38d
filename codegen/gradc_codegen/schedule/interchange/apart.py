"""Which ops keep the rows of an axis apart: row i of what they make is of row i of operands alone.

An axis is known by its size. A value with two axes of that size is none that is kept apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gradc_codegen.arrays.blas import LEAST_LENGTH
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.sizes import Size, product, symbols
from gradc_ir.core.types import Axes, Type
from gradc_ir.ops.linalg import condition_of, parse_spec

# The reductions of which a part of the axis makes a part, and how two parts join.
JOINS = {
    "reduce_sum": "add",
    "reduce_prod": "mul",
    "reduce_max": "maximum",
    "reduce_min": "minimum",
}
# What goes from one element of its axis to the next.
_ALONG = ("cumsum", "recurrence", "argsort")
_LOOPS = ("scan", "cond", "checkpoint")


class Apart:
    """The questions about one axis, by its size.

    With ``blas`` products that BLAS might compute, in an order of its own, are left whole.

    Attributes
    ----------
    names: of the sizes that its size is made of.
    """

    def __init__(self, size: Size, blas: bool = False) -> None:
        self.size = size
        self.blas = blas
        self.names = () if isinstance(size, int) else symbols(size)
        self._known: dict[Node, bool] = {}

    def axis(self, type_: Type) -> int | None:
        """Return which axis of a type it is, None for none."""
        return type_.shape.index(self.size) if self.size in type_.shape else None

    def has(self, value: Value) -> bool:
        """Whether a value has the axis."""
        return self.size in value.type.shape

    def keeps(self, node: Node) -> bool:
        """Whether a node keeps the rows apart, or knows nothing of them."""
        found = self._known.get(node)
        if found is None:
            found = self._known[node] = self._keeps(node)
        return found

    def sums_up(self, node: Node) -> bool:
        """Whether a node reduces over the axis, before any other."""
        if node.op.name not in JOINS:
            return False
        axis = self.axis(node.operands[0].type)
        return axis is not None and max(node.attributes["axes"], default=-1) == axis

    def _keeps(self, node: Node) -> bool:
        values = (*node.operands, *node.results)
        if any(value.type.shape.count(self.size) > 1 for value in values):
            return False
        if node.op.family == "control":
            return self._control(node)
        if not any(map(self.has, values)):
            return True
        if not self.has(node.results[0]):
            return False
        if node.op.is_elementwise:
            return True
        rule = _RULES.get(node.op.name) or _BY_FAMILY.get(node.op.family)
        return rule is not None and rule(self, node)

    def _control(self, node: Node) -> bool:
        if not any(map(self.has, (*node.operands, *node.results))):
            return True
        length = node.attributes.get("length")
        if node.op.name not in _LOOPS or self.counts(length):
            return False
        bodies = [item for item in node.attributes.values() if isinstance(item, Function)]
        return all(self.keeps(inner) for body in bodies for inner in body.nodes)

    def counts(self, size: Size | None) -> bool:
        """Whether a size is that of the axis, or made of it."""
        if size is None or isinstance(size, int):
            return size == self.size
        return not set(self.names).isdisjoint(symbols(size))

    def axes(self, values: Iterable[Value]) -> list[int | None]:
        """Return the axis of each of some values."""
        return [self.axis(value.type) for value in values]


def _always(apart: Apart, node: Node) -> bool:
    return True


def _reshape(apart: Apart, node: Node) -> bool:
    old, new = node.operands[0].type, node.results[0].type
    before, after = apart.axis(old), apart.axis(new)
    if before is None or after is None:
        return False
    return product(old.shape[:before]) == product(new.shape[:after])


def _gather(apart: Apart, node: Node) -> bool:
    axes: Axes = node.attributes["axes"]
    return apart.axis(node.operands[0].type) not in axes


def _scatter(apart: Apart, node: Node) -> bool:
    x, part, *indices = node.operands
    axes: Axes = node.attributes["axes"]
    both = apart.has(x) and apart.has(part)
    return both and apart.axis(x.type) not in axes and not any(map(apart.has, indices))


def _concatenate(apart: Apart, node: Node) -> bool:
    along: int = node.attributes["axis"]
    return apart.axis(node.results[0].type) != along


def _all_have(apart: Apart, node: Node) -> bool:
    return all(map(apart.has, node.operands))


def _window(apart: Apart, node: Node) -> bool:
    axis = apart.axis(node.results[0].type)
    if axis is None or any(found != axis for found in apart.axes(node.operands)):
        return False
    return bool((node.attributes["starts"][axis], node.attributes["steps"][axis]) == (0, 1))


def _along(apart: Apart, node: Node) -> bool:
    along: int = node.attributes["axis"]
    return apart.axis(node.results[0].type) != along


def _contract(apart: Apart, node: Node) -> bool:
    spec = node.attributes["spec"]
    if condition_of(spec) is not None:
        return False
    left, right, result = parse_spec(spec)
    letters = {
        labels[axis]
        for labels, axis in zip((left, right), apart.axes(node.operands))
        if axis is not None
    }
    lengths = dict(zip(left + right, (*node.operands[0].type.shape, *node.operands[1].type.shape)))
    others = product(length for letter, length in lengths.items() if letter not in letters)
    if apart.blas and not (isinstance(others, int) and others < LEAST_LENGTH**2):
        return False
    return len(letters) == 1 and letters.issubset(result)


_RULES: dict[str, Callable[[Apart, Node], bool]] = {
    "param": _always,
    "constant": _always,
    "iota": _always,
    "broadcast": _always,
    "transpose": _always,
    "element": _always,
    "gather": _gather,
    "scatter_set": _scatter,
    "scatter_add": _scatter,
    "reshape": _reshape,
    "concatenate": _concatenate,
    "stack": _all_have,
    "slice": _window,
    "pad": _window,
    "set_slice": _window,
    "contract": _contract,
    **dict.fromkeys(_ALONG, _along),
}
_BY_FAMILY: dict[str, Callable[[Apart, Node], bool]] = {"reduce": _all_have}
