"""Which ops a product or a sum is made of: the first question of rules about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gradc_ir.rearrange import peel

if TYPE_CHECKING:
    from gradc_ir.builder import Builder
    from gradc_ir.graph import Value

_PRODUCTS: Final = frozenset({"mul", "div", "neg"})
SUMS: Final = frozenset({"add", "sub"})
COMPOUND: Final = _PRODUCTS | SUMS


def factor_ops(value: Value, builder: Builder) -> frozenset[str]:
    """Return the ops that make the factors of a product or quotient, or of the terms of a sum.

    Answers are kept in the builder that made the value.
    """
    known: dict[Value, frozenset[str]] = builder.answers.setdefault(factor_ops, {})
    if value.op.name in SUMS:
        left, right = value.operands
        return _of_factors(left, known) | _of_factors(right, known)
    return _of_factors(value, known)


def _of_factors(value: Value, known: dict[Value, frozenset[str]]) -> frozenset[str]:
    stack = [value]
    while stack:
        top = stack[-1]
        if top in known:
            stack.pop()
            continue
        source, _ = peel(top)
        if source.op.name not in _PRODUCTS:
            known[top] = frozenset((source.op.name,))
            continue
        pending = [operand for operand in source.operands if operand not in known]
        if pending:
            stack += pending
            continue
        sets = [known[operand] for operand in source.operands]
        known[top] = sets[0] if len(sets) == 1 or sets[0] >= sets[1] else sets[0] | sets[1]
    return known[value]
