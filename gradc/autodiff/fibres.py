"""Fibres: which elements of a value each element of a formula's end is made of.

An axis of a value is an axis of the end, or one that is summed along before the end. Where an
element serves several elements of the end, no formula goes through.
"""

from __future__ import annotations

from typing import TypeAlias

from gradc_ir.core.graph import Node, Value
from gradc_ir.core.sizes import Shape

# For each axis of a value which axis of the end it is, None if it is summed along.
Fibre: TypeAlias = tuple[int | None, ...]


def end_of(value: Value) -> Fibre:
    """Return the fibre of the end itself."""
    return tuple(range(value.type.rank))


def summed_along(fibre: Fibre) -> tuple[int, ...]:
    """Return the axes that are summed along."""
    return tuple(i for i, axis in enumerate(fibre) if axis is None)


def fibre_read(node: Node, fibre: Fibre) -> Fibre | None:
    """Return the fibre of a node's operands, from that of its result; None where there is none."""
    match node.op.name:
        case "broadcast":
            kept = node.attributes["axes"]
            if any(axis is not None for i, axis in enumerate(fibre) if i not in kept):
                return None
            return tuple(fibre[i] for i in kept)
        case "concatenate":
            return fibre if fibre[node.attributes["axis"]] is None else None
        case "reshape":
            return _reshaped(node.results[0].type.shape, fibre, node.operands[0].type.shape)
    if node.op.family != "reduce":
        return fibre
    rest = iter(fibre)
    reduced = node.attributes["axes"]
    return tuple(None if i in reduced else next(rest) for i in range(node.operands[0].type.rank))


def _reshaped(after: Shape, fibre: Fibre, before: Shape) -> Fibre | None:
    """Return the fibre before axes of size 1 came or went, None for any other reshape."""
    rest = [pair for pair in zip(after, fibre) if pair != (1, None)]
    found: list[int | None] = []
    for size in before:
        if rest and rest[0][0] == size:
            found.append(rest.pop(0)[1])
        elif size == 1:
            found.append(None)
        else:
            return None
    return None if rest else tuple(found)
