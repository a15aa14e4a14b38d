"""How many operations a node takes, as an expression of the sizes.

An operation is one sum, product, comparison or function of an element; a fused multiply-add is two.
What only moves elements takes none. A loop without a known number of steps counts one step.
"""

from __future__ import annotations

from typing import NamedTuple

from gradc_ir.core import sizes
from gradc_ir.core.graph import Function, Node
from gradc_ir.core.sizes import Size
from gradc_ir.ops.linalg import contracted, parse_spec

# What is one instruction of a processor, or a few; all other elementwise ops are functions.
_ARITHMETIC = frozenset({
    "neg", "add", "sub", "mul", "div", "abs", "sign", "floor", "maximum", "minimum", "sqrt", "eq",
    "ne", "lt", "le", "logical_not", "logical_and", "logical_or", "logical_xor", "select",
    "floor_divide", "remainder", "cast",
})  # fmt: skip
_FREE = frozenset({"stop_gradient", "exactly", "fence"})


class Operations(NamedTuple):
    """How many there are in all, and how many of them are functions such as ``exp``."""

    all: Size = 0
    functions: Size = 0

    def __add__(self, other: object) -> Operations:
        assert isinstance(other, Operations)
        return Operations(self.all + other.all, self.functions + other.functions)

    def times(self, count: Size) -> Operations:
        """Return as many for each of some."""
        return Operations(self.all * count, self.functions * count)


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
        return Operations(made) if name in _ARITHMETIC else Operations(made, made)
    if family == "reduce":
        read = node.operands[0].type.count
        return Operations(2 * read, read) if name == "logsumexp" else Operations(
            read * (2 if name == "norm" else 1)
        )  # fmt: skip
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
            return Operations(
                sizes.maximum(*[branch.all for branch in branches]),
                sizes.maximum(*[branch.functions for branch in branches]),
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
