"""The canonical order of operands of commutative ops, a function of the graph's structure alone.

Parameters come first, then computed values, the shallower first, then constants. Ties are broken by
a hash of the structure, which is the same in every process.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias
from zlib import crc32

from gradc_ir import build
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.walk import answered
from gradc_ir.graphs.rearrange import REARRANGEMENTS, scalar_constant
from gradc_ir.matching.rewrite import FunctionRule
from gradc_ir.ops import TABLE

Key: TypeAlias = tuple[int, int, int]

_MASK = (1 << 64) - 1


class OperandOrder:
    """Keys of the values of one graph, by which operands are sorted."""

    def __init__(self) -> None:
        self._keys: dict[Node, Key] = {}

    def key(self, value: Value) -> Key:
        """Return the key of a value: its class, its height above the sources, its hash."""
        node = value.node
        found = self._keys.get(node)
        if found is None:
            found = answered(node, self._keys, _operand_nodes, self._made)
        return found if not value.index else (*found[:2], found[2] + value.index)

    def _made(self, node: Node, keys: list[Key]) -> Key:
        if node.op.name == "param":
            return (0, 0, node.attributes["index"])
        height = 0
        mixed = _word_hash(node.op.name)
        for operand, (_, below, inner) in zip(node.operands, keys):
            height = max(height, below)
            mixed = (mixed * 6364136223846793005 + inner + operand.index + 1) & _MASK
        for attribute in node.attributes.values():
            mixed = (mixed * 2862933555777941757 + _attribute_hash(attribute)) & _MASK
        name = node.op.name
        is_constant = name == "constant" or (
            name in REARRANGEMENTS and scalar_constant(node.results[0]) is not None
        )
        return (2 if is_constant else 1, height + 1, mixed ^ (mixed >> 31))


def _operand_nodes(node: Node) -> list[Node]:
    return [operand.node for operand in node.operands]


@lru_cache(maxsize=1024)
def _word_hash(word: str) -> int:
    return crc32(word.encode())


def _attribute_hash(attribute: Any) -> int:
    if isinstance(attribute, Function):
        # bodies that differ only inside may tie: then their order is the user's
        return _word_hash(" ".join(node.op.name for node in attribute.nodes))
    if isinstance(attribute, int):
        return attribute & _MASK
    return crc32(repr(attribute).encode())


def commutative_ops() -> frozenset[str]:
    """Return the names of the ops whose operands may be exchanged."""
    return frozenset(name for name, op in TABLE.items() if op.commutative)


def _ordered(value: Value) -> Value | None:
    node = value.node
    if len(node.operands) != 2:
        return None
    operands = in_order(*node.operands)
    if operands == node.operands:
        return None
    return build.apply(node.op.name, *operands, **node.attributes)


def in_order(left: Value, right: Value) -> tuple[Value, Value]:
    """Return two values of the active builder in the canonical order."""
    if left is right:
        return left, right
    answers = build.active().answers
    order = answers.get(OperandOrder)
    if order is None:
        order = answers[OperandOrder] = OperandOrder()
    return (left, right) if order.key(left) <= order.key(right) else (right, left)


ORDER_OPERANDS = FunctionRule("order-operands", commutative_ops(), _ordered)
