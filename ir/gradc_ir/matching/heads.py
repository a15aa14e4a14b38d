"""Which ops a product or a sum is made of: the first question of rules about them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from gradc_ir.core.graph import Value
from gradc_ir.graphs.rearrange import SEEN_THROUGH, peel

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
        made |= _bit(name)
    return made


def _bit(name: str) -> int:
    found = _BITS.get(name)
    return _BITS.setdefault(name, 1 << len(_BITS)) if found is None else found


def factor_heads(value: Value) -> tuple[int, int]:
    """Return the sets of ops that make the factors of a product or quotient: all, and the divisors.

    Of a sum, those of its terms.
    """
    node = value.node
    if node.op.name in SUMS:
        left, right = node.operands
        found = _of_factors(left) | _of_factors(right)
    else:
        found = _of_factors(value)
    below = found >> _BELOW
    return (found & _ABOVE) | below, below


def _of_factors(value: Value) -> int:
    """Return the ops of the factors, of those below the line ``_BELOW`` bits higher.

    It is kept in the value, which never changes. No recursion: products are as long as programs.
    """
    if value.heads is not None:
        return value.heads
    stack = [value]
    while stack:
        top = stack[-1]
        node = top.node
        if node.op.name in SEEN_THROUGH:
            node = peel(top)[0].node
        name = node.op.name
        if name in _PRODUCTS:
            left, right = node.operands[0], node.operands[-1]
            one, other = left.heads, right.heads
            if one is None or other is None:
                stack += [left] if one is None else [right]
                continue
            if name == "div":
                other = (other >> _BELOW) | (other & _ABOVE) << _BELOW
            top.heads = one | other
        else:
            top.heads = _bit(name)
        stack.pop()
    assert value.heads is not None
    return value.heads
