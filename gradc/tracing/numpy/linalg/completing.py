"""Orthonormal columns completed to an orthonormal basis.

The further columns are not determined by the matrix that was factorised: only the space that they
span is. The derivative is right for functions of that space, such as the projector onto it.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradc.tracing.building.call_node import with_rules
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.graphs.matrices import matrix_product, transposed_product

# How often the rule stands for its own derivative; that of the op qr is not finite here.
_DEPTH = 3


def completed(q: Value) -> Value:
    """Return square matrices whose first columns are those of q, which are orthonormal."""
    height, width = q.type.shape[-2:]
    if height == width:
        return q
    return build.concatenate([q, _complement(q, _DEPTH)], q.type.rank - 1)


def _complement(q: Value, depth: int) -> Value:
    """Return the further columns.

    With dC = -Q dQᵀ C the columns stay orthogonal to those of Q, and do not turn in their space.
    """

    def value(q: Value) -> Sequence[Value]:
        *stack, height, width = q.type.shape
        rank = q.type.rank
        # the reflections of LAPACK for the columns of q; there is nothing to reflect for zeros
        square = build.pad(q, (0,) * rank, (*stack, height, height), (1,) * rank)
        basis, _ = build.qr(square)
        starts = (*(0,) * (rank - 1), width)
        return [build.slice(basis, starts, (*stack, height, height - width), (1,) * rank)]

    if not depth:
        return value(q)[0]

    def push(q: Value, change: Value) -> Sequence[Value]:
        others = _complement(q, depth - 1)
        return [-matrix_product(q, transposed_product(change, others))]

    def pull(q: Value, cotangent: Value) -> Sequence[Value]:
        others = _complement(q, depth - 1)
        return [-matrix_product(others, transposed_product(cotangent, q))]

    return with_rules("complement", [q], value, push, pull)[0]
