"""Reductions over rows and other axes, taken apart so that the one over the rows stands alone.

It is the order that the language gives: axes one at a time, the last one first.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradc.row_sums.row_axes import over_rows
from gradc_ir import build
from gradc_ir.core.builder import rebuilt
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.graphs.in_turn import contracted_in_turn, logsumexp_in_turn, reduced_in_turn
from gradc_ir.meaning.norms import SCALES
from gradc_ir.ops.linalg import contracted


def spelled(function: Function) -> Function:
    """Return an equal function whose reductions over rows are sums, products or extrema."""
    return rebuilt(function, _is_composite, lambda node, operands: [_spell(node, operands)])


def _is_composite(node: Node) -> bool:
    if not over_rows(node):
        return False
    if node.op.name == "contract":
        return len(contracted(node.attributes["spec"])) > 1
    return node.op.name in ("logsumexp", "norm") or len(node.attributes["axes"]) > 1


def _spell(node: Node, operands: Sequence[Value]) -> Value:
    if node.op.name == "contract":
        x, y = operands
        return contracted_in_turn(x, y, node.attributes["spec"])
    axes = tuple(node.attributes["axes"])
    if node.op.name == "logsumexp":
        return logsumexp_in_turn(operands[0], axes)
    if node.op.name == "norm":
        return _norm(operands[0], axes)
    return reduced_in_turn(node.op.name, operands[0], axes)


def _norm(x: Value, axes: tuple[int, ...]) -> Value:
    """Return the root of three sums, of which one counts: so one pass over the rows is enough."""
    least, up, down = SCALES[x.type.dtype.bytes]
    total = reduced_in_turn("reduce_sum", x * x, axes)
    larger, smaller = x * build.full_like(x, up), x * build.full_like(x, down)
    of_tiny = build.sqrt(reduced_in_turn("reduce_sum", larger * larger, axes))
    of_huge = build.sqrt(reduced_in_turn("reduce_sum", smaller * smaller, axes))
    tiny = build.lt(total, build.full_like(total, least))
    huge = build.eq(total, build.full_like(total, float("inf")))
    plain = build.select(huge, of_huge * build.full_like(total, up), build.sqrt(total))
    return build.select(tiny, of_tiny * build.full_like(total, down), plain)
