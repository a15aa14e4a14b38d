"""Signs of zeros in forms that stand in place of a sum."""

from __future__ import annotations

from gradc_ir.core.graph import Value
from gradc_ir.graphs.rearrange import scalar_constant
from gradc_ir.ranges import knowledge


def plus_zero(value: Value) -> Value:
    """Return a value with 0 in place of -0, which no sum of different terms is.

    It is an addition, left out where the value is never zero. Rules that are patterns write
    ``add(…, 0)``. What sees no sign drops it again: the exact rules of functions of ``x + 0``.
    """
    if knowledge.is_nonzero(value) or _is_plus_zero(value):
        return value
    return value + 0.0


def _is_plus_zero(value: Value) -> bool:
    if value.op.name == "log":
        return True  # of one it is 0
    if value.op.name != "add":
        return False
    return any(scalar_constant(operand) == 0 for operand in value.operands)
