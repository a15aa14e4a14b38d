"""The canonical order of operands of commutative ops, a function of the graph's structure alone.

Parameters come first, then computed values, the shallower first, then numbers: constants, and what
is computed of sizes. Ties are broken by a hash of the structure, which is the same in every
process; what ties even so, by what was asked for first.

Cotangents are added in an order that follows from this one, so it is the same for all kernels of a
function: nothing here looks at sizes, which are numbers in one kernel and symbols in another, or at
numbers, which may be computed of sizes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any
from zlib import crc32

from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.attributes import SIZED
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.walk import answered
from gradc_ir.graphs.rearrange import REARRANGEMENTS
from gradc_ir.matching.rewrite import FunctionRule
from gradc_ir.ops import TABLE

_PARAMETER, _COMPUTED, _NUMBER = range(3)
_MASK = (1 << 64) - 1


class Key(NamedTuple):
    """What values are sorted by; ``seen`` is how many had a key before."""

    kind: int
    height: int
    hash: int
    seen: int


class OperandOrder:
    """Keys of the values of one graph, by which operands are sorted."""

    def __init__(self) -> None:
        self._keys: dict[Node, Key] = {}

    def key(self, value: Value) -> Key:
        """Return the key of a value."""
        node = value.node
        found = self._keys.get(node)
        if found is None:
            found = answered(node, self._keys, _operand_nodes, self._made)
        return found if not value.index else found._replace(hash=found.hash + value.index)

    def _made(self, node: Node, keys: list[Key]) -> Key:
        name = node.op.name
        seen = len(self._keys)
        if name == "param":
            return Key(_PARAMETER, 0, node.attributes["index"], seen)
        if _is_number(node, keys):
            return Key(_NUMBER, 1, 0, seen)
        height = 0
        mixed = _word_hash(name)
        for operand, (_, below, inner, _) in zip(node.operands, keys):
            height = max(height, below)
            mixed = (mixed * 6364136223846793005 + inner + operand.index + 1) & _MASK
        for attribute, item in node.attributes.items():
            if attribute not in SIZED:
                mixed = (mixed * 2862933555777941757 + self._attribute_hash(item)) & _MASK
        return Key(_COMPUTED, height + 1, mixed ^ (mixed >> 31), seen)

    def _attribute_hash(self, attribute: Any) -> int:
        if isinstance(attribute, Function):
            return sum([self.key(result).hash for result in attribute.results]) & _MASK
        if isinstance(attribute, int):
            return attribute & _MASK
        return crc32(repr(attribute).encode())


def _is_number(node: Node, keys: list[Key]) -> bool:
    """Whether a node is a constant, or a number computed of sizes and constants, spread or not."""
    name = node.op.name
    if name in ("constant", "size"):
        return True
    if name in REARRANGEMENTS:
        # a constant array that is moved is computed
        source = node.operands[0]
        return keys[0].kind == _NUMBER and not (source.op.name == "constant" and source.type.shape)
    return node.op.is_elementwise and all([key.kind == _NUMBER for key in keys])


def _operand_nodes(node: Node) -> list[Node]:
    return [operand.node for operand in node.operands]


@lru_cache(maxsize=1024)
def _word_hash(word: str) -> int:
    return crc32(word.encode())


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
