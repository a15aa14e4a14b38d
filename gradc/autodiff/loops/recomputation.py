"""Weights for what a loop keeps: of keeping a value in every step, and of computing it again."""

from __future__ import annotations

from gradc_ir.core import sizes
from gradc_ir.core.graph import Node, Value
from gradc_ir.core.sizes import Expr
from gradc_ir.core.types import Type
from gradc_ir.graphs import cost
from gradc_ir.graphs.rearrange import scalar_constant

# Memory written in one loop and read in another, against arithmetic on what is in registers. It is
# weighed by its amount, too: what a loop keeps can be more than the machine has.
_BYTE = 8
_ARRAY = 16  # each is a stream of its own
# A tape in every step of another loop has room for all steps of the longest inner run: anything
# else is better.
_KEEPING_A_TAPE = cost.GREAT // 10**3
_MAKING_A_TAPE = cost.GREAT // 10**6
# The exponential and the division that functions of one number have in common, of an element: more
# than keeping a number, so that what the way back needs of them is made on the way there.
_LOGISTIC = 100


def of_keeping(value: Value) -> int:
    """Return what it costs to keep a value in every step of a loop."""
    if _is_tape(value.type):
        return _KEEPING_A_TAPE
    return _ARRAY + _BYTE * value.type.dtype.bytes * cost.elements(value)


def of_computing(node: Node) -> int:
    """Return what it costs to run a node again."""
    if any(_is_tape(result.type) for result in node.results):
        return _MAKING_A_TAPE
    return cost.work(node)


def shared_part(node: Node) -> tuple[Value, bool] | None:
    """Return what a node's function is mostly made of, None where no other has a part in it.

    sigmoid, its derivative and tanh take one exponential and one division, of a value or of twice
    a value; those of the same one side by side take them once, and little else.
    """
    name = node.op.name
    if name == "tanh":
        return node.operands[0], True
    if name not in ("sigmoid", "sigmoid_derivative"):
        return None
    (x,) = node.operands
    if x.op.name == "mul":
        for number, other in (x.operands, x.operands[::-1]):
            if scalar_constant(number) == 2:
                return other, True
    return x, False


def of_shared_part(node: Node) -> int:
    """Return what it costs to run once more what :func:`shared_part` names."""
    return _LOGISTIC * cost.elements(node.results[0])


def _is_tape(type_: Type) -> bool:
    return any(isinstance(size, Expr) for size in type_.shape) and str(sizes.TAPE) in type_.symbols
