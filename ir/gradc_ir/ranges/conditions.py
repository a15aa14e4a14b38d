"""What a condition says about the values it compares, where it holds and where it does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from gradc_ir.core.graph import Node, Value
from gradc_ir.core.range import INF, Range, intersection, make, next_above, next_below
from gradc_ir.graphs.rearrange import REARRANGEMENTS

# Values, and the rearrangements of them, the outermost first, whose elements are meant.
Key: TypeAlias = tuple[Value, tuple[Node, ...]]
Facts: TypeAlias = dict[Key, Range]
Reader: TypeAlias = Callable[[Value], Range]

# How many conditions joined by "and", and ops below a compared value, are looked into.
_DEPTH = 4


def facts(condition: Value, holds: bool, read: Reader, depth: int = _DEPTH) -> Facts | None:
    """Return what is known of values where a condition holds, or does not; None: nowhere.

    ``read`` tells the range of a value without the condition. The facts are of the elements at the
    condition's own places.
    """
    name, operands = condition.op.name, condition.operands
    if name == "constant":
        known = read(condition)
        return {} if known.low <= holds <= known.high else None
    if name == "logical_not":
        return facts(operands[0], not holds, read, depth)
    if name in ("lt", "le"):
        left, right = operands
        if holds:
            return _ordered(left, right, read, strict=name == "lt", number=True, depth=depth)
        return _ordered(right, left, read, strict=name == "le", number=False, depth=depth)
    if name in ("eq", "ne"):
        return _equal(operands, read) if holds == (name == "eq") else _different(operands, read)
    if depth and name == ("logical_and" if holds else "logical_or"):
        parts = [facts(operand, holds, read, depth - 1) for operand in operands]
        return None if None in parts else merged(*(part for part in parts if part is not None))
    if name in REARRANGEMENTS:
        inner = facts(operands[0], holds, read, depth)
        if inner is None:
            return None
        return {(value, (condition.node, *moves)): x for (value, moves), x in inner.items()}
    return {}


def merged(*parts: Facts) -> Facts | None:
    """Return what several facts say together, None when they exclude each other."""
    joined: Facts = {}
    for part in parts:
        for key, known in part.items():
            both = known
            if key in joined:
                both = intersection(key[0].type.dtype, joined[key], known)
            if both.is_empty and not both.nan:
                return None
            joined[key] = both
    return joined


def moved_in(value: Value, known: Facts) -> Facts:
    """Return the facts about what a rearrangement rearranges, given those about its results."""
    found: Facts = {}
    for (other, moves), range_ in known.items():
        if moves and _same_move(moves[0], value.node):
            key = (other, moves[1:])
        elif not moves and _same_move(other.node, value.node):
            key = (other.operands[0], ())
        else:
            continue
        before = found.get(key)
        found[key] = range_ if before is None else intersection(other.type.dtype, before, range_)
    return found


def _same_move(one: Node, other: Node) -> bool:
    return one.op is other.op and one.attributes == other.attributes


def _ordered(
    small: Value, large: Value, read: Reader, *, strict: bool, number: bool, depth: int
) -> Facts | None:
    """Return the facts of ``small < large`` or ``small <= large``.

    ``number``: neither is nan; otherwise the order is known only where neither is.
    """
    dtype = small.type.dtype
    low, high = read(small), read(large)
    below = next_below(dtype, high.high) if strict else high.high
    above = next_above(dtype, low.low) if strict else low.low
    if number and (low.is_empty or high.is_empty):
        return None
    parts: list[Facts] = []
    if number or not high.nan:
        parts.append({(small, ()): make(dtype, -INF, below, nan=not number)})
    if number or not low.nan:
        parts.append({(large, ()): make(dtype, above, INF, nan=not number)})
    return _with_consequences(parts, read, depth)


def _equal(operands: tuple[Value, ...], read: Reader) -> Facts | None:
    left, right = operands
    dtype = left.type.dtype
    # 0.0 and -0.0 are equal
    shared = intersection(dtype, *(read(x)._replace(signed=True) for x in operands))
    shared = make(dtype, shared.low, shared.high, whole=shared.whole, nan=False)
    if shared.is_empty:
        return None
    return _with_consequences([{(left, ()): shared, (right, ()): shared}], read, 1)


def _different(operands: tuple[Value, ...], read: Reader) -> Facts | None:
    for one, other in (operands, operands[::-1]):
        number = read(other)
        if number.is_number and number.low == 0:
            nonzero = make(one.type.dtype, -INF, INF, nonzero=True)
            return _with_consequences([{(one, ()): nonzero}], read, 1)
    return {}


def _with_consequences(parts: list[Facts], read: Reader, depth: int) -> Facts | None:
    """Return facts joined, with what they say about operands and with what was known before."""
    found: list[Facts] = []
    for part in parts:
        for (value, _), known in part.items():
            known = intersection(value.type.dtype, known, read(value))
            found.append({(value, ()): known})
            if depth:
                below = _about_operand(value, known)
                found += [] if below is None else [below]
    return merged(*found)


def _about_operand(value: Value, known: Range) -> Facts | None:
    """Return what a fact about an absolute value, a negation or a square says of its operand."""
    name, operands, dtype = value.op.name, value.operands, value.type.dtype
    if not dtype.is_float:
        return None
    if name == "neg":
        about = make(dtype, -known.high, -known.low, nan=known.nan)
    elif name == "abs":
        about = make(dtype, -known.high, known.high, nonzero=known.low > 0, nan=known.nan)
    elif name == "mul" and operands[0] is operands[1] and known.low > 0:
        about = make(dtype, -INF, INF, nonzero=True, nan=known.nan)
    elif name == "stop_gradient":
        about = known
    else:
        return None
    return {(operands[0], ()): about}
