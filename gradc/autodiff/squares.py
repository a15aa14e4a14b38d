"""Sums of squares: they vanish only where all that is squared does, and their slopes with them."""

from __future__ import annotations

from gradc_ir.graph import Value
from gradc_ir.ops.linalg import parse_spec
from gradc_ir.rearrange import REARRANGEMENTS, scalar_constant


def is_sum_of_squares(value: Value) -> bool:
    """Whether a value is certainly a sum of squares, each times or by a positive number."""
    stack, seen = [value], {value}
    while stack:
        terms = _terms(stack.pop())
        if terms is None:
            return False
        stack += [term for term in terms if term not in seen]
        seen.update(terms)
    return True


def _terms(value: Value) -> tuple[Value, ...] | None:
    """Return what has to be sums of squares for a value to be one; None where it cannot be."""
    name, operands = value.op.name, value.operands
    if name in REARRANGEMENTS or name in ("add", "reduce_sum"):
        return operands
    if name == "mul":
        left, right = operands
        if left is right:
            return ()
        return (right,) if _is_positive(left) else (left,) if _is_positive(right) else None
    if name == "div":
        return operands[:1] if _is_positive(operands[1]) else None
    if name == "power":
        exponent = scalar_constant(operands[1])
        return () if exponent is not None and exponent > 0 and exponent % 2 == 0 else None
    if name == "contract" and operands[0] is operands[1]:
        left_labels, right_labels, _ = parse_spec(value.node.attributes["spec"])
        return () if left_labels == right_labels else None
    return None


def _is_positive(value: Value) -> bool:
    """Whether a value is a positive number, or how many elements there are."""
    while value.op.name in REARRANGEMENTS or value.op.name == "cast":
        value = value.operands[0]
    number = scalar_constant(value)
    return value.op.name == "size" or (number is not None and number > 0)
