"""Which nodes are differentiated: those on a path of floats from a parameter to a result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gradc import derivatives
from gradc.autodiff import zeros
from gradc_ir.graph import Function, Node, Value


def passes(node: Node) -> bool:
    """Whether tangents of a node's operands reach its results, going by what is written there."""
    name = node.op.name
    if name == "mul" or name == "contract":
        # a literal zero: grad(0 * sqrt(x)) at 0 is 0, not 0 * inf
        return not any(zeros.is_number(operand, 0) for operand in node.operands)
    return derivatives.TABLE[node.op.name].kind != "zero"


def active_nodes(function: Function, wrt: Sequence[int], results: Iterable[Value]) -> set[Node]:
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
            useful.update(operand.node for operand in node.operands if operand.type.dtype.is_float)
    return varied & useful
