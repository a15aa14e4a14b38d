"""Long sorts in pieces, for several threads: pieces are sorted, and merged two by two.

The order that sorts is one and the same, however it is found: it is stable.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradc_codegen.arrays.sort_pieces import LEVELS, MERGED, SORTED
from gradc_ir.core.builder import active, rebuilt
from gradc_ir.core.graph import Function, Node, Value

# What is shorter takes less time than to wake other threads for each level.
_LEAST = 1 << 15


def with_sorts_split(function: Function) -> Function:
    """Return the function with its long sorts of a vector in pieces; equal to the bit."""
    if not any(map(_is_long, function.nodes)):
        return function
    return rebuilt(function, _is_long, _split)


def _is_long(node: Node) -> bool:
    if node.op.name != "argsort" or node.operands[0].type.rank != 1:
        return False
    length = node.operands[0].type.shape[0]
    return not isinstance(length, int) or length >= _LEAST


def _split(node: Node, operands: list[Value]) -> Sequence[Value]:
    made: Any = active().apply(SORTED, tuple(operands), {}).results
    for level in range(LEVELS):
        made = active().apply(MERGED, tuple(made), {"level": level}).results
    return [made[1]]
