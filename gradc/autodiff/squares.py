"""Sums of squares: they vanish only where all that is squared does, and their slopes with them."""

from __future__ import annotations

import functools

from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.graphs.rearrange import REARRANGEMENTS, scalar_constant
from gradc_ir.ops.linalg import parse_spec


def where_squares_vanish(value: Value) -> Value | None:
    """Return where a sum of squares is zero; None where a value is not certainly such a sum.

    Each square may be times or by a positive number. Numbers are asked themselves, since their
    squares underflow; of what is summed over axes only the sum is.
    """
    stack, seen = [value], {value}
    bases: dict[Value, None] = {}
    while stack:
        top = stack.pop()
        base = _base(top)
        if base is not None:
            bases[base] = None
            continue
        terms = _terms(top)
        if terms is None:
            return None
        stack += [term for term in terms if term not in seen]
        seen.update(terms)
    if any(base.type != value.type for base in bases):
        return build.eq(value, build.zeros_like(value))
    zeros = [build.eq(base, build.zeros_like(base)) for base in bases]
    return functools.reduce(build.logical_and, zeros)


def _base(value: Value) -> Value | None:
    """Return what a value is the square, or another even power, of."""
    name, operands = value.op.name, value.operands
    if name == "mul" and operands[0] is operands[1]:
        return operands[0]
    if name == "power":
        exponent = scalar_constant(operands[1])
        return operands[0] if exponent and exponent > 0 and exponent % 2 == 0 else None
    if name == "contract" and operands[0] is operands[1]:
        left_labels, right_labels, _ = parse_spec(value.node.attributes["spec"])
        return operands[0] if left_labels == right_labels else None
    return None


def _terms(value: Value) -> tuple[Value, ...] | None:
    """Return what has to be sums of squares for a value to be one; None where it cannot be."""
    name, operands = value.op.name, value.operands
    if name in REARRANGEMENTS or name in ("add", "reduce_sum"):
        return operands
    if name == "mul":
        left, right = operands
        return (right,) if _is_positive(left) else (left,) if _is_positive(right) else None
    if name == "div":
        return operands[:1] if _is_positive(operands[1]) else None
    return None


def _is_positive(value: Value) -> bool:
    """Whether a value is a positive number, or how many elements there are."""
    while value.op.name in REARRANGEMENTS or value.op.name == "cast":
        value = value.operands[0]
    number = scalar_constant(value)
    return value.op.name == "size" or (number is not None and number > 0)
