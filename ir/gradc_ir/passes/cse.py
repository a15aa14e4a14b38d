"""Merges values with the same op, operands and attributes."""

from __future__ import annotations

from gradc_ir.core.graph import Function
from gradc_ir.matching.operand_order import ORDER_OPERANDS
from gradc_ir.matching.rewrite import rewrite
from gradc_ir.pipeline import PlainPass


class MergeCommonSubexpressions(PlainPass):
    """Computes once what is written more than once; operands of commutative ops count in any order.

    The builder never makes a node twice, so rebuilding with ordered operands is all it takes.
    """

    name = "cse"
    summary = "merge values with the same op, operands and attributes"

    def __call__(self, function: Function) -> Function:
        """Return the function with equal values merged; every result keeps its bits."""
        return rewrite(function, [ORDER_OPERANDS])
