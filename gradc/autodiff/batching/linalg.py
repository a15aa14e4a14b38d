"""Batching of contractions, and of factorisations, which are of stacks of matrices already."""

from __future__ import annotations

import string
from collections.abc import Sequence

from gradc.autodiff.batching.points import Mapped, Points, ValueRule
from gradc_ir import build
from gradc_ir.core.graph import Node, Value
from gradc_ir.ops.linalg import condition_of, parse_spec, print_spec


def stacked(points: Points, node: Node, operands: list[Mapped]) -> Sequence[Value]:
    """Make the points one more axis of the stack."""
    return build.apply_all(node.op.name, *points.spread_all(operands), **node.attributes)


def _contract(points: Points, node: Node, operands: list[Mapped]) -> Sequence[Value]:
    spec = node.attributes["spec"]
    left, right, result = parse_spec(spec)
    new = next(label for label in string.ascii_letters if label not in left + right)
    left, right = (
        new * operand.varies + labels for labels, operand in zip((left, right), operands)
    )
    x, y = (operand.value for operand in operands)
    return [build.contract(x, y, print_spec(left, right, new + result, condition_of(spec)))]


def _solution(points: Points, node: Node, operands: list[Mapped]) -> Sequence[Value]:
    """Solve for the points' right-hand sides as further columns, when they share the matrix."""
    a, b = operands
    if a.varies:
        return stacked(points, node, operands)
    *stack, rows, columns = b.value.type.shape[1:]
    rank = len(stack)
    between = build.transpose(b.value, (*range(1, rank + 2), 0, rank + 2))
    wide = build.reshape(between, (*stack, rows, points.size * columns))
    (found,) = build.apply_all(node.op.name, a.value, wide, **node.attributes)
    apart = build.reshape(found, (*stack, rows, points.size, columns))
    return [build.transpose(apart, (rank + 1, *range(rank + 1), rank + 2))]


RULES: dict[str, ValueRule] = {
    "contract": _contract,
    "solve": _solution,
    "triangular_solve": _solution,
}
