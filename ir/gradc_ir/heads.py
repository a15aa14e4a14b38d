"""Which ops a product or a sum is made of: the first question of rules about them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from gradc_ir.rearrange import REARRANGEMENTS, peel
from gradc_ir.walk import answered

if TYPE_CHECKING:
    from gradc_ir.builder import Builder
    from gradc_ir.graph import Value

_PRODUCTS: Final = frozenset({"mul", "div", "neg"})
SUMS: Final = frozenset({"add", "sub"})
COMPOUND: Final = _PRODUCTS | SUMS

# A bit for each op that was met, so that a set of ops is a number.
_BITS: dict[str, int] = {}
# How far the ops of divisors stand from those of factors: more than there are ops.
_BELOW: Final = 512
_ABOVE: Final = (1 << _BELOW) - 1


def bits(names: Iterable[str]) -> int:
    """Return a set of ops, given by their names, as a number."""
    made = 0
    for name in names:
        made |= _BITS.setdefault(name, 1 << len(_BITS))
    return made


def factor_heads(value: Value, builder: Builder) -> tuple[int, int]:
    """Return the sets of ops that make the factors of a product or quotient: all, and the divisors.

    Of a sum, those of its terms. Answers are kept in the builder that made the value.
    """
    known: dict[Value, int] = builder.answers.setdefault(factor_heads, {})
    node = value.node
    if node.op.name in SUMS:
        left, right = node.operands
        found = _of_factors(left, known) | _of_factors(right, known)
    else:
        found = _of_factors(value, known)
    below = found >> _BELOW
    return (found & _ABOVE) | below, below


def _of_factors(value: Value, known: dict[Value, int]) -> int:
    found = known.get(value)
    return answered(value, known, _factors, _joined) if found is None else found


def _source(value: Value) -> Value:
    return peel(value)[0] if value.node.op.name in REARRANGEMENTS else value


def _factors(value: Value) -> tuple[Value, ...]:
    node = _source(value).node
    return node.operands if node.op.name in _PRODUCTS else ()


def _joined(value: Value, of: list[int]) -> int:
    name = _source(value).node.op.name
    if not of:
        return bits((name,))
    if name == "div":
        return of[0] | (of[1] >> _BELOW) | (of[1] & _ABOVE) << _BELOW
    return of[0] | of[-1]
