"""Running products, which the language has as recurrences that add nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gradc_ir.core.graph import Node, Value
from gradc_ir.graphs.rearrange import scalar_constant


def is_running_product(node: Node) -> bool:
    """Whether what a recurrence adds changes no bit, but at the first place."""
    term = node.operands[1]
    if node.attributes["reverse"] or term.op.name != "select":
        return False
    start, _, nothing = term.operands
    return _is_first(start, node.attributes["axis"]) and _adds_nothing(nothing)


def _is_first(condition: Value, axis: int) -> bool:
    """Whether a condition holds at most at the first place of an axis."""
    if condition.op.name == "broadcast":
        if condition.node.attributes["axes"] != (axis,):
            return False
        condition = condition.operands[0]
    if condition.op.name == "copy":
        condition = condition.operands[0]
    if condition.op.name != "eq" or condition.type.rank != 1:
        return False
    place, first = condition.operands
    return place.op.name == "iota" and scalar_constant(first) == 0


def _adds_nothing(value: Value) -> bool:
    """Whether a value is -0.0 everywhere, or the integer 0."""
    found = scalar_constant(value)
    if isinstance(found, float):
        return found == 0 and math.copysign(1, found) < 0
    return found == 0


def begins_with_factors(node: Node) -> bool:
    """Whether a node is a running product that begins with the first of its factors."""
    if node.op.name != "recurrence" or not is_running_product(node):
        return False
    factors, term = node.operands
    return term.operands[1] is factors


def unread(nodes: Sequence[Node], results: Sequence[Value]) -> set[Value]:
    """Return what is made for the terms of running products alone, of which nothing is read."""
    found: set[Value] = set()
    if not any(map(begins_with_factors, nodes)):
        return found
    read = set(results)
    for node in reversed(nodes):
        if read.isdisjoint(node.results):
            found.update(node.results)
        else:
            read.update(node.operands[: 1 if begins_with_factors(node) else None])
    return found
