"""Index arrays that grow by equal steps along each of their axes, as those of windows do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Node, Value
from gradc_ir.core.sizes import Size, at_least

# The deepest expression that is looked through.
_DEEPEST = 8


class Affine(NamedTuple):
    """The elements ``start + sum(step * position)`` of an array, with one step for each axis."""

    start: Size
    steps: tuple[int, ...]


def affine(index: Value) -> Affine | None:
    """Return how the elements of an array of integers grow; None where that is not so, or unknown.

    Integers are taken as numbers without an end, so only indices that are checked, or are known to
    be within the bounds of an array, are what is returned.
    """
    return _affine(index, _DEEPEST) if index.type.dtype.is_integer else None


def reads_of(gather: Node) -> list[Affine] | None:
    """Return how the indices of a gather grow; None where one does not, or may lie outside."""
    x, *indices = gather.operands
    found: list[Affine] = []
    for index, axis in zip(indices, gather.attributes["axes"]):
        growing = affine(index)
        if growing is None or not is_within(growing, index.type.shape, x.type.shape[axis]):
            return None
        found.append(growing)
    return found


def is_within(index: Affine, shape: tuple[Size, ...], length: Size) -> bool:
    """Whether all elements of an array of a shape are surely indices of an axis, none negative."""
    lowest = highest = index.start
    for step, size in zip(index.steps, shape):
        if step < 0:
            lowest = lowest + step * (size - 1)
        else:
            highest = highest + step * (size - 1)
    return at_least(lowest, 0) and at_least(length - 1, highest)


def _affine(value: Value, depth: int) -> Affine | None:
    find = _FINDERS.get(value.op.name)
    return None if find is None or depth == 0 else find(value.node, depth)


def _iota(node: Node, depth: int) -> Affine:
    return Affine(0, (1,))


def _size(node: Node, depth: int) -> Affine:
    size: Size = node.attributes["size"]
    return Affine(size, ())


def _constant(node: Node, depth: int) -> Affine | None:
    array: npt.NDArray[Any] = node.attributes["value"].array
    if array.size == 0:
        return None
    first = int(array.flat[0])
    steps: list[int] = []
    for axis, size in enumerate(array.shape):
        second = [0] * array.ndim
        second[axis] = 1
        steps.append(int(array[tuple(second)]) - first if size > 1 else 0)
    last = first + sum(step * (size - 1) for step, size in zip(steps, array.shape))
    # most index arrays are told by their last element, however long they are
    if last != int(array.flat[-1]):
        return None
    if not all(_grows(array, axis, step) for axis, step in enumerate(steps)):
        return None
    return Affine(first, tuple(steps))


def _grows(array: npt.NDArray[Any], axis: int, step: int) -> bool:
    return bool((np.diff(array.astype(np.int64), axis=axis) == step).all())


def _broadcast(node: Node, depth: int) -> Affine | None:
    found = _affine(node.operands[0], depth - 1)
    if found is None:
        return None
    steps = [0] * node.results[0].type.rank
    for axis, step in zip(node.attributes["axes"], found.steps):
        steps[axis] = step
    return Affine(found.start, tuple(steps))


def _cast(node: Node, depth: int) -> Affine | None:
    (x,) = node.operands
    return _affine(x, depth - 1) if x.type.dtype.is_integer else None


def _sum(node: Node, depth: int, sign: int = 1) -> Affine | None:
    x, y = (_affine(operand, depth - 1) for operand in node.operands)
    if x is None or y is None:
        return None
    steps = tuple([a + sign * b for a, b in zip(x.steps, y.steps)])
    return Affine(x.start + sign * y.start, steps)


def _difference(node: Node, depth: int) -> Affine | None:
    return _sum(node, depth, -1)


def _product(node: Node, depth: int) -> Affine | None:
    x, y = (_affine(operand, depth - 1) for operand in node.operands)
    if x is None or y is None:
        return None
    if any(x.steps):
        x, y = y, x
    if any(x.steps) or not isinstance(x.start, int):
        return None
    return Affine(x.start * y.start, tuple([x.start * step for step in y.steps]))


_Finder: TypeAlias = Callable[[Node, int], "Affine | None"]
_FINDERS: dict[str, _Finder] = {
    "iota": _iota,
    "size": _size,
    "constant": _constant,
    "broadcast": _broadcast,
    "cast": _cast,
    "add": _sum,
    "sub": _difference,
    "mul": _product,
}
