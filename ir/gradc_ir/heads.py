"""Which ops a product or a sum is made of: the first question of rules about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gradc_ir.rearrange import peel
from gradc_ir.walk import answered

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
    def before(value: Value) -> tuple[Value, ...]:
        source, _ = peel(value)
        return source.operands if source.op.name in _PRODUCTS else ()

    def answer(value: Value, ops: list[frozenset[str]]) -> frozenset[str]:
        if not ops:
            return frozenset((peel(value)[0].op.name,))
        return ops[0] if ops[0] >= ops[-1] else ops[0] | ops[-1]

    return answered(value, known, before, answer)
