"""The defined order of reduction: the same bits from every schedule, lane width and thread count.

A reduction of length up to 32 goes left to right. A longer one is cut into groups of 32: in a
group, element ``i`` joins partial ``i mod lanes`` (8 lanes for 8-byte elements, 16 for 4-byte
ones), the partials fold by halving (``p[j] + p[j + half]``), groups join left to right into chunks
of 4096 elements, and chunks join by a binary tree: on each level neighbours ``2j`` and ``2j + 1``,
and a last one without a neighbour rises as it is. So what a node of the tree is depends on its
place alone, and whoever computes a part of a sum hands over one node a level. Missing elements of
the last group count as the identity, which changes no bit (the identity of a sum is -0.0). Several
axes are reduced one at a time, last axis first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc_ir.core.types import Array

GROUP = 32
CHUNK = 4096


def lanes(dtype: np.dtype[Any]) -> int:
    """Return how many partials a group of 32 elements of this dtype has."""
    return 16 if dtype.itemsize == 4 else 8


def reduce_in_order(
    values: Array, axes: Sequence[int], combine: Callable[..., Array], identity: Any, empty: Any
) -> Array:
    """Reduce ``values`` over ``axes`` by ``combine`` in the defined order."""
    for axis in sorted(axes, reverse=True):
        moved = np.moveaxis(values, axis, 0)
        join = _join_first if moved.shape[0] > GROUP else _left_to_right
        if moved.shape[0] == 0:
            values = np.full(moved.shape[1:], empty, dtype=values.dtype)
        else:
            values = join(moved, combine, np.asarray(identity, dtype=values.dtype))
    return values


def groups(values: Array, identity: Array) -> Array:
    """Cut axis 0 into ``(groups, 32 // lanes, lanes)``, padded with the identity."""
    width = lanes(values.dtype)
    count = -(-values.shape[0] // GROUP)
    padding = np.broadcast_to(identity, (count * GROUP - values.shape[0], *values.shape[1:]))
    padded = np.concatenate([values, padding.astype(values.dtype)])
    return padded.reshape(count, GROUP // width, width, *values.shape[1:])


def fold_partials(partials: Array, combine: Callable[..., Array]) -> Array:
    """Fold axis 1 of ``(groups, lanes, …)`` by halving."""
    while partials.shape[1] > 1:
        half = partials.shape[1] // 2
        partials = combine(partials[:, :half], partials[:, half:])
    return partials[:, 0]


def join_groups(totals: Array, combine: Callable[..., Array]) -> Array:
    """Join group totals (axis 0) left to right within chunks, then the chunks in pairs."""
    step = CHUNK // GROUP
    whole = totals.shape[0] // step * step
    chunks = []
    if whole:
        side_by_side = totals[:whole].reshape(whole // step, step, *totals.shape[1:])
        chunks.append(_left_to_right(np.moveaxis(side_by_side, 1, 0), combine))
    if whole < totals.shape[0]:
        chunks.append(_left_to_right(totals[whole:], combine)[np.newaxis])
    return _in_pairs(np.concatenate(chunks), combine)


def _in_pairs(nodes: Array, combine: Callable[..., Array]) -> Array:
    """Join neighbours of axis 0 until one is left; what has no neighbour rises as it is."""
    while nodes.shape[0] > 1:
        paired = nodes.shape[0] // 2 * 2
        joined = combine(nodes[0:paired:2], nodes[1:paired:2])
        nodes = np.concatenate([joined, nodes[paired:]])
    result: Array = nodes[0]
    return result


def _left_to_right(
    values: Array, combine: Callable[..., Array], identity: Array | None = None
) -> Array:
    result: Array = values[0]
    for i in range(1, values.shape[0]):
        result = combine(result, values[i])
    return result


def _join_first(values: Array, combine: Callable[..., Array], identity: Array) -> Array:
    cut = groups(values, identity)
    partials = cut[:, 0]
    for step in range(1, cut.shape[1]):
        partials = combine(partials, cut[:, step])
    return join_groups(fold_partials(partials, combine), combine)


def contract_in_order(
    left: Array, right: Array, fma: Callable[..., Array], counts: Array | None = None
) -> Array:
    """Sum ``left * right`` over axis 0 in the defined order, each product joined by one fma.

    Where ``counts`` is given, the other products change nothing, and the sum begins with 0.
    """
    if left.shape[0] == 0:
        return np.zeros(left.shape[1:], dtype=left.dtype)
    if counts is not None:
        # a product of -0.0 is the identity
        left = np.where(counts, left, -0.0).astype(left.dtype)
        right = np.where(counts, right, 1).astype(left.dtype)
        total: Array = contract_in_order(left, right, fma) + left.dtype.type(0)
        return total
    if left.shape[0] <= GROUP:
        result: Array = left[0] * right[0]
        for i in range(1, left.shape[0]):
            result = fma(left[i], right[i], result)
        return result
    # the padding must not make a product: -0.0 = 1.0 * -0.0 is the identity of addition
    a = groups(left, np.asarray(1, dtype=left.dtype))
    b = groups(right, np.asarray(-0.0, dtype=left.dtype))
    partials = a[:, 0] * b[:, 0]
    for step in range(1, a.shape[1]):
        partials = fma(a[:, step], b[:, step], partials)
    return join_groups(fold_partials(partials, np.add), np.add)
