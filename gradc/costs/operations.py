"""How many operations a node takes, as an expression of the sizes.

An operation is one sum, product, comparison or function of an element; a fused multiply-add is two.
What only moves elements takes none. A loop without a known number of steps counts one step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gradc_ir.classes.named import NamedTuple
from gradc_ir.core import sizes
from gradc_ir.core.graph import Function, Node
from gradc_ir.core.op import TABLE, Op
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType
from gradc_ir.ops.linalg import contracted, parse_spec

# What is one instruction of a processor, or a few; all other elementwise ops are functions.
_ARITHMETIC = frozenset({
    "neg", "add", "sub", "mul", "div", "abs", "sign", "floor", "maximum", "minimum", "sqrt", "eq",
    "ne", "lt", "le", "logical_not", "logical_and", "logical_or", "logical_xor", "select",
    "floor_divide", "remainder", "cast",
})  # fmt: skip
# Those of them that take several times as long as others.
_SLOW = frozenset({"div", "sqrt", "floor_divide", "remainder"})
_FREE = frozenset({"stop_gradient", "exactly", "fence"})


class SlowOp(NamedTuple):
    """An op that takes an element longer than a sum does: a function, a quotient, a root."""

    op: Op
    operands: tuple[DType, ...]
    attributes: tuple[tuple[str, Any], ...]

    @property
    def is_function(self) -> bool:
        """Whether it is a function, such as ``exp``."""
        return self.op.name not in _SLOW

    def __str__(self) -> str:
        return f"{self.op.name} {self.operands[-1]}"


@dataclass(frozen=True)
class Operations:
    """How many there are in all, and how many of those that are slow, by op."""

    all: Size = 0
    slow: Mapping[SlowOp, Size] = field(default_factory=dict)

    @property
    def functions(self) -> Size:
        """How many are functions such as ``exp``."""
        found: Size = 0
        for one, count in self.slow.items():
            found = found + (count if one.is_function else 0)
        return found

    def __add__(self, other: Operations) -> Operations:
        slow = dict(self.slow)
        for one, count in other.slow.items():
            slow[one] = slow.get(one, 0) + count
        return Operations(self.all + other.all, slow)

    def times(self, count: Size) -> Operations:
        """Return as many for each of some."""
        return Operations(self.all * count, {one: x * count for one, x in self.slow.items()})


def operations(node: Node) -> Operations:
    """Return how many operations a node takes."""
    name, family = node.op.name, node.op.family
    made = node.results[0].type.count
    if family == "control":
        return _of_control(node)
    if node.op.is_elementwise:
        if name in _FREE:
            return Operations()
        body = node.attributes.get("body")
        if name == "recover":  # whose formula hardly ever runs
            return Operations(made)
        if isinstance(body, Function):
            return of_function(body).times(made)
        slow = name not in _ARITHMETIC or name in _SLOW
        return Operations(made, {_slow(node.op, node): made} if slow else {})
    if family == "reduce":
        read = node.operands[0].type.count
        if name == "logsumexp":
            return Operations(2 * read, {_slow(TABLE["exp"], node): read})
        return Operations(read * (2 if name == "norm" else 1))
    if name == "contract":
        left, right, _ = parse_spec(node.attributes["spec"])
        x, y = node.operands
        lengths = {**dict(zip(left, x.type.shape)), **dict(zip(right, y.type.shape))}
        products = sizes.product(lengths.values())
        return Operations(2 * products if contracted(node.attributes["spec"]) else products)
    if family == "factor":
        return Operations(_of_factor(node))
    if name == "argsort":
        axis = node.operands[0].type.shape[node.attributes["axis"]]
        return Operations(made * sizes.bit_length(axis))
    each = {"cumsum": 1, "recurrence": 2, "scatter_add": 1}.get(name, 0)
    counted = node.operands[1].type.count if name == "scatter_add" else made
    return Operations(each * counted)


def _slow(op: Op, node: Node) -> SlowOp:
    names = op.attributes  # those of another op's node are none of its own
    attributes = tuple([(name, node.attributes[name]) for name in names if op is node.op])
    return SlowOp(op, tuple([operand.type.dtype for operand in node.operands]), attributes)


def of_function(function: Function) -> Operations:
    """Return how many operations a function takes."""
    total = Operations()
    for node in function.body:
        total += operations(node)
    return total


def _of_control(node: Node) -> Operations:
    attributes = node.attributes
    match node.op.name:
        case "scan":
            length = attributes["length"]
            return of_function(attributes["body"]).times(1 if length is None else length)
        case "while":
            return of_function(attributes["condition"]) + of_function(attributes["body"])
        case "cond":
            branches = [of_function(attributes[name]) for name in ("then", "otherwise")]
            slow = dict.fromkeys(one for branch in branches for one in branch.slow)
            return Operations(
                sizes.maximum(*[branch.all for branch in branches]),
                {one: sizes.maximum(*[x.slow.get(one, 0) for x in branches]) for one in slow},
            )
    return of_function(attributes["body"])


def _of_factor(node: Node) -> Size:
    """Return the leading terms of LAPACK's counts."""
    shape = node.operands[0].type.shape
    rows, columns = shape[-2], shape[-1]
    batch = sizes.product(shape[:-2])
    least = sizes.minimum(rows, columns)
    columns_of_b: Size = 1
    if len(node.operands) > 1:
        columns_of_b = node.operands[1].type.shape[-1]
    cube = rows * rows * rows
    match node.op.name:
        case "cholesky":
            count = sizes.floor_quotient(cube, 3)
        case "lu":
            count = sizes.floor_quotient(2 * cube, 3)
        case "triangular_solve":
            count = rows * rows * columns_of_b
        case "solve":
            count = sizes.floor_quotient(2 * cube, 3) + 2 * rows * rows * columns_of_b
        case "qr":
            count = 4 * rows * columns * least
        case "eigh":
            count = 9 * cube
        case _:
            count = 14 * rows * columns * least
    return batch * count
