"""Symbolic zeros: which values can carry a tangent at all; a zero tangent is None, not an array."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gradc_ir import build
from gradc_ir.errors import DTypeError
from gradc_ir.graph import Function, Node, Value
from gradc_ir.types import Type


def zeros(type_: Type) -> Value:
    """Return zeros of a type, for the places where a symbolic zero does not do."""
    return build.full(type_.shape, 0, type_.dtype)


def solid(value: Value | None, type_: Type) -> Value:
    """Return the value, or zeros of the type when it is a symbolic zero."""
    return zeros(type_) if value is None else value


def is_number(value: Value, number: float) -> bool:
    """Whether the value is certainly filled with one number."""
    while value.op.name in ("broadcast", "reshape"):
        value = value.operands[0]
    if value.op.name != "constant":
        return False
    array = value.node.attributes["value"].array
    return array.ndim == 0 and bool(array == number)


def passes(node: Node) -> bool:
    """Whether tangents of a node's operands reach its results, going by what is written there."""
    name = node.op.name
    if name == "mul" or name == "contract":
        # a literal zero: grad(0 * sqrt(x)) at 0 is 0, not 0 * inf
        return not any(is_number(operand, 0) for operand in node.operands)
    from gradc.derivatives import registry

    return not registry.is_zero(node.op)


def active(function: Function, wrt: Sequence[int], results: Iterable[Value]) -> set[Node]:
    """Return the nodes on a path of float values from the parameters at ``wrt`` to the results."""
    varied = {function.params[position].node for position in wrt}
    found = []
    for node in function.nodes:
        if (
            any(operand.node in varied and operand.type.dtype.is_float for operand in node.operands)
            and any(value.type.dtype.is_float for value in node.results)
            and passes(node)
        ):
            varied.add(node)
            found.append(node)
    useful = {result.node for result in results if result.type.dtype.is_float}
    for node in reversed(found):
        if node in useful:
            useful.update(
                operand.node for operand in node.operands if operand.type.dtype.is_float
            )
    return varied & useful


def check_wrt(function: Function, wrt: Sequence[int]) -> None:
    """Raise DTypeError unless the parameters at ``wrt`` are floats."""
    for position in wrt:
        param = function.params[position]
        if not param.type.dtype.is_float:
            raise DTypeError(
                f"{function.name}: no derivative with respect to {function.names[position]}, "
                f"which is {param.type}",
                at=function.location,
                help="derivatives are with respect to floats: pass 3.0 instead of 3, or "
                "x.astype(np.float64)",
            )
