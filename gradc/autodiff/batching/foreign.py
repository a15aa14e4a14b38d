"""Batching of functions of C: of numbers, for all elements; of arrays, point after point."""

from __future__ import annotations

from collections.abc import Sequence

from gradc.autodiff.batching.bodies import building
from gradc.autodiff.batching.points import Mapped, Points, ValueRule, elementwise
from gradc.autodiff.parameters import parameters
from gradc_ir import build
from gradc_ir.core.graph import Node, Value


def _external(points: Points, node: Node, operands: list[Mapped]) -> Sequence[Value]:
    if node.attributes["sizes"] is None:
        return elementwise(points, node, operands)
    rows = [operand.value for operand in operands if operand.varies]
    shared = [operand.value for operand in operands if not operand.varies]
    with building() as builder:
        types = [*(x.type for x in shared), *(x.type.with_shape(x.type.shape[1:]) for x in rows)]
        params = parameters(types)
        of_shared, of_rows = iter(params[: len(shared)]), iter(params[len(shared) :])
        given = tuple(next(of_rows if operand.varies else of_shared) for operand in operands)
        made = builder.apply(node.op, given, node.attributes)
        body = builder.function(node.attributes["symbol"], params, made.results)
    return build.scan(body, shared, [], rows, length=points.size)


RULES: dict[str, ValueRule] = {"external": _external}
