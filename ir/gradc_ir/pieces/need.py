"""When the pass by pieces has something to do; before that it is not loaded."""

from __future__ import annotations

from gradc_ir.core.graph import Function
from gradc_ir.pipeline import OnNeed


def joins(function: Function) -> bool:
    """Whether a function joins arrays, or a body in it does."""
    for node in function.nodes:
        if node.op.joins:
            return True
        if node.op.family == "control":
            bodies = [item for item in node.attributes.values() if isinstance(item, Function)]
            if any(map(joins, bodies)):
                return True
    return False


IN_PIECES = OnNeed("gradc_ir.pieces.in_pieces", "InPieces", joins)
