"""Which of two values is surely not the larger one, from how they are made."""

from __future__ import annotations

from gradc_ir.core.graph import Value


def at_most(small: Value, large: Value) -> bool:
    """Whether each element of one value is at most that of the other, unless one of them is nan.

    Looks one op deep: into the largest of several numbers, and sums with what is not negative.
    """
    if small is large:
        return True
    return _is_above(large, small) or _is_below(small, large)


def _is_above(large: Value, small: Value) -> bool:
    name = large.op.name
    if name == "maximum":
        return small in large.operands
    if name == "abs":
        return large.operands[0] is small
    if name == "add":
        return any(
            part is small and _is_nonnegative(other)
            for part, other in (large.operands, large.operands[::-1])
        )
    if name == "sub":
        return large.operands[0] is small and _is_nonpositive(large.operands[1])
    return name == "broadcast" and (
        _is_over(large, small, "reduce_max")
        or (_is_nonnegative(small) and _is_over(large, small, "reduce_sum"))
    )


def _is_below(small: Value, large: Value) -> bool:
    name = small.op.name
    if name == "minimum":
        return large in small.operands
    if name == "floor":
        return small.operands[0] is large
    if name == "sub":
        return small.operands[0] is large and _is_nonnegative(small.operands[1])
    return name == "broadcast" and _is_over(small, large, "reduce_min")


def _is_over(spread: Value, whole: Value, name: str) -> bool:
    """Whether a value is a reduction of another, spread again over the axes that were reduced."""
    reduced = spread.operands[0]
    while reduced.op.name == "stop_gradient":
        reduced = reduced.operands[0]
    if reduced.op.name != name or reduced.operands[0] is not whole:
        return False
    axes = reduced.node.attributes["axes"]
    kept = tuple(axis for axis in range(whole.type.rank) if axis not in axes)
    return bool(spread.node.attributes["axes"] == kept)


def _is_nonnegative(value: Value) -> bool:
    known = value.known
    return known is not None and known.low >= 0


def _is_nonpositive(value: Value) -> bool:
    known = value.known
    return known is not None and known.high <= 0
