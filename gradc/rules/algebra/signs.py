"""Signs of zeros in forms that stand in place of a sum."""

from __future__ import annotations

from gradc_ir.core.graph import Value
from gradc_ir.graphs.rearrange import scalar_constant
from gradc_ir.ranges import knowledge


def plus_zero(value: Value) -> Value:
    """Return a value with 0 in place of -0, which no sum of different terms is.

    It is an addition, left out where the value is never -0. Rules that are patterns write
    ``add(…, 0)``. What sees no sign drops it again: the exact rules of functions of ``x + 0``.
    """
    # a logarithm is 0 of one alone
    if value.op.name == "log" or knowledge.is_unsigned(value) or _is_plus_zero(value):
        return value
    return value + 0.0


def _is_plus_zero(value: Value) -> bool:
    if value.op.name != "add":
        return False
    return any(scalar_constant(operand) == 0 for operand in value.operands)


def without_sign(value: Value) -> Value:
    """Return what a value is, or is minus that; a zero may have either sign."""
    while True:
        if value.op.name == "neg" or (
            value.op.name == "sub" and scalar_constant(value.operands[0]) == 0
        ):
            value = value.operands[-1]
        elif _is_plus_zero(value):
            first, second = value.operands
            value = second if scalar_constant(first) == 0 else first
        else:
            return value
