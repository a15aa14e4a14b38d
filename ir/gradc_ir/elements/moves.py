"""What moves elements about, cell by cell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradc_ir import build
from gradc_ir.core.graph import Node, Value
from gradc_ir.core.sizes import Shape
from gradc_ir.core.types import Axes, DType
from gradc_ir.elements import numbers
from gradc_ir.elements.axes import known_array
from gradc_ir.elements.cells import Cells, arranged, lengths_of, objects
from gradc_ir.elements.rule import Wanted, rule


def _where(stays: Sequence[bool]) -> tuple[int, ...]:
    return tuple(axis for axis, stay in enumerate(stays) if stay)


@rule("broadcast")
def _broadcast(node: Node, wanted: Wanted, x: Cells) -> Cells:
    shape: Shape = node.attributes["shape"]
    axes: Axes = node.attributes["axes"]
    target = list(wanted)
    for axis, stay in zip(axes, x.stays):
        target[axis] = stay
    rest = tuple(size for size, stay in zip(shape, target) if stay)
    at = tuple(sum(target[: axes[axis]]) for axis in _where(x.stays))

    def spread(cell: Value) -> Value:
        return build.broadcast(cell, rest, at) if cell.type.shape else cell

    lengths = lengths_of(shape, target)
    added = tuple(axis for axis in range(len(shape)) if axis not in axes)
    values = objects(x.values.shape, [spread(cell) for cell in x.values.flat])
    return Cells(
        shape,
        np.broadcast_to(np.expand_dims(values, added), lengths),
        np.broadcast_to(np.expand_dims(x.zero, added), lengths),
        tuple(target),
    )


@rule("transpose")
def _transpose(node: Node, wanted: Wanted, x: Cells) -> Cells:
    permutation: Axes = node.attributes["permutation"]
    kept = _where(x.stays)
    order = tuple(kept.index(axis) for axis in permutation if x.stays[axis])

    def turned(cell: Value) -> Value:
        return build.transpose(cell, order) if cell.type.shape else cell

    values = objects(x.values.shape, [turned(cell) for cell in x.values.flat])
    return Cells(
        tuple(x.shape[axis] for axis in permutation),
        values.transpose(permutation),
        x.zero.transpose(permutation),
        tuple(x.stays[axis] for axis in permutation),
    )


@rule("reshape")
def _reshape(node: Node, wanted: Wanted, x: Cells) -> Cells | None:
    """Axes that stay are to be there before and after, with as many elements between them."""
    shape: Shape = node.attributes["shape"]
    if _segments(shape, wanted) != _segments(x.shape, x.stays):
        return None
    lengths = lengths_of(shape, wanted)
    return Cells(shape, x.values.reshape(lengths), x.zero.reshape(lengths), wanted)


def _segments(shape: Shape, stays: Sequence[bool]) -> list[Any]:
    """Return the sizes of axes that stay, and how many cells lie between them."""
    found: list[Any] = [1]
    for size, stay in zip(shape, stays):
        if stay:
            found += [(size,), 1]
        else:
            found[-1] *= size
    return found


@rule("concatenate")
def _concatenate(node: Node, wanted: Wanted, *parts: Cells) -> Cells:
    axis: int = node.attributes["axis"]
    shape = node.results[0].type.shape
    parts = tuple(arranged(part, wanted) for part in parts)
    if not wanted[axis]:
        return Cells(
            shape,
            np.concatenate([part.values for part in parts], axis),
            np.concatenate([part.zero for part in parts], axis),
            wanted,
        )
    place = parts[0].place_in_rest(axis)
    rows = [
        build.concatenate([part.spread(cell) for part, cell in zip(parts, cells)], place)
        for cells in zip(*(part.values.flat for part in parts))
    ]
    zero = np.logical_and.reduce([part.zero for part in parts])
    return Cells(shape, objects(parts[0].values.shape, rows), zero, wanted)


@rule("stack")
def _stack(node: Node, wanted: Wanted, *parts: Cells) -> Cells:
    shape: Shape = node.attributes["shape"]
    axes: Axes = node.attributes["axes"]
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    counts: list[Any] = [shape[axis] for axis in axes]
    stays = tuple(parts[0].stays[kept.index(i)] if i in kept else False for i in range(len(shape)))
    order = np.argsort((*axes, *kept))

    def joined(arrays: list[Any]) -> Any:
        rows = np.stack(arrays)
        return rows.reshape([*counts, *rows.shape[1:]]).transpose(order)

    values, zero = joined([p.values for p in parts]), joined([p.zero for p in parts])
    return Cells(shape, values, zero, stays)


@rule("element")
def _element(node: Node, wanted: Wanted, x: Cells) -> Cells:
    at: Sequence[int | None] = node.attributes["at"]
    x = arranged(x, tuple(stay and place is None for stay, place in zip(x.stays, at)))
    key = tuple(slice(None) if place is None else place for place in at)
    kept = [axis for axis, place in enumerate(at) if place is None]
    return Cells(
        tuple(x.shape[axis] for axis in kept),
        _at(x.values, key),
        np.asarray(x.zero[key]),
        tuple(x.stays[axis] for axis in kept),
    )


def _at(values: Any, key: Any) -> Any:
    """Return a part of an array of objects as such an array, whatever its rank."""
    part = np.empty((), object)
    found = values[key]
    if isinstance(found, np.ndarray):
        return found
    part[()] = found
    return part


@rule("slice")
def _slice(node: Node, wanted: Wanted, x: Cells) -> Cells | None:
    given = node.attributes
    shape: Shape = given["shape"]
    key: list[Any] = []
    for axis, (start, step, size) in enumerate(zip(given["starts"], given["steps"], shape)):
        whole = start == 0 and step == 1 and size == x.shape[axis]
        if whole:
            key.append(slice(None))
        elif not (isinstance(start, int) and isinstance(size, int)):
            return None
        elif x.stays[axis] and wanted[axis]:
            x = _windowed(x, axis, start, step, size)
            key.append(slice(None))
        else:
            x = _few(x, axis, [start + step * i for i in range(size)])
            key.append(slice(None))
    return Cells(shape, x.values[tuple(key)], x.zero[tuple(key)], x.stays)


def _windowed(x: Cells, axis: int, start: int, step: int, size: int) -> Cells:
    """Take a window of an axis that stays."""
    place = x.place_in_rest(axis)
    rest = x.rest
    starts = tuple(start if i == place else 0 for i in range(len(rest)))
    steps = tuple(step if i == place else 1 for i in range(len(rest)))
    shape = tuple(size if i == place else have for i, have in enumerate(rest))

    def window(cell: Value) -> Value:
        return build.slice(cell, starts, shape, steps) if cell.type.shape else cell

    values = objects(x.values.shape, [window(cell) for cell in x.values.flat])
    return Cells((*x.shape[:axis], size, *x.shape[axis + 1 :]), values, x.zero, x.stays)


def _few(x: Cells, axis: int, at: Sequence[int]) -> Cells:
    """Take the elements at some places of an axis, which does not stay."""
    shape = (*x.shape[:axis], len(at), *x.shape[axis + 1 :])
    if not x.stays[axis]:
        return Cells(shape, x.values.take(at, axis), x.zero.take(at, axis), x.stays)
    place, rank = x.place_in_rest(axis), len(x.rest)

    def part(cell: Value, i: int) -> Value:
        if not cell.type.shape:
            return cell
        return build.element(cell, [i if other == place else None for other in range(rank)])

    layers = [objects(x.values.shape, [part(cell, i) for cell in x.values.flat]) for i in at]
    stays = tuple(stay and i != axis for i, stay in enumerate(x.stays))
    values = np.concatenate(layers, axis)
    return Cells(shape, values, np.repeat(x.zero, len(at), axis), stays)


def _window_key(node: Node, part: Shape, x: Cells) -> tuple[Any, ...] | None:
    """Return the index of a window in cells, None where it moves along an axis that stays."""
    key: list[Any] = []
    given = node.attributes
    for axis, (start, step, size) in enumerate(zip(given["starts"], given["steps"], part)):
        if start == 0 and step == 1 and size == x.shape[axis]:
            key.append(slice(None))
        elif x.stays[axis] or not (isinstance(start, int) and isinstance(size, int)):
            return None
        else:
            key.append([start + step * i for i in range(size)])
    full = (range(n) if isinstance(k, slice) else k for k, n in zip(key, x.values.shape))
    return np.ix_(*map(list, full)) if key else ()


@rule("pad")
def _pad(node: Node, wanted: Wanted, x: Cells) -> Cells | None:
    shape: Shape = node.attributes["shape"]
    dtype = x.dtype
    zero_cell = build.full((), 0, dtype)
    lengths = lengths_of(shape, wanted)
    values = objects(lengths, [zero_cell] * math.prod(lengths))
    made = Cells(shape, values, np.ones(lengths, bool), wanted)
    key = _window_key(node, x.shape, made)
    if key is None:
        return None
    x = arranged(x, wanted)
    made.values[key] = x.values
    made.zero[key] = x.zero
    return made


@rule("set_slice")
def _set_slice(node: Node, wanted: Wanted, x: Cells, part: Cells) -> Cells | None:
    x = arranged(x, wanted)
    key = _window_key(node, part.shape, x)
    if key is None:
        return None
    part = arranged(part, wanted)
    values, zero = x.values.copy(), x.zero.copy()
    values[key], zero[key] = part.values, part.zero
    return Cells(x.shape, values, zero, x.stays)


# At more indices than these elements are picked together, in a loop.
_LONGEST = 64


# -- at indices that are known ---------------------------------------------------------------------


def _known_indices(node: Node, first: int) -> list[Any] | None:
    """Return the index arrays among a node's operands, wrapped once; None where one is not known.

    An index outside is left to the program that runs.
    """
    found = []
    whole = node.operands[0].type.shape
    for operand, axis in zip(node.operands[first:], node.attributes["axes"]):
        size = whole[axis]
        array = known_array(operand)
        if array is None or not isinstance(size, int):
            return None
        if array.size and not (array.min() >= -size and array.max() < size):
            return None
        found.append(np.where(array < 0, array + size, array))
    return found


def _are_many(node: Node, x: Cells, indices: Sequence[Any]) -> bool:
    """Whether elements that are indexed stay together: there are many of them, or of indices."""
    return any(x.stays[axis] for axis in node.attributes["axes"]) or indices[0].size > _LONGEST


def _of_each_cell(node: Node, indices: Sequence[Any], x: Cells, part: Cells | None) -> Cells:
    """Apply an op at indices to the cells along other axes, each with those that are indexed."""
    axes: Axes = node.attributes["axes"]
    rank = indices[0].ndim
    x = arranged(x, tuple(stay or axis in axes for axis, stay in enumerate(x.stays)))
    rest = [axis for axis in range(len(x.stays)) if axis not in axes]
    places = [build.constant(index, DType.I64) for index in indices]
    inside = tuple(x.place_in_rest(axis) for axis in axes)
    stays = (True,) * rank + tuple(x.stays[axis] for axis in rest)
    if part is not None:
        part = arranged(part, stays)
    lengths = lengths_of(x.shape, x.stays)
    values = objects(lengths, [x.values.flat[0]] * math.prod(lengths))
    zero = x.zero.copy()
    for at in np.ndindex(*lengths):
        cell: Any = x.values[at]
        cell = x.spread(cell)
        if part is None:
            values[at] = build.gather(cell, places, inside)
            continue
        there = (*(0,) * rank, *(at[axis] for axis in rest))
        new: Any = part.values[there]
        new = part.spread(new)
        values[at] = build.apply(node.op.name, cell, new, *places, axes=inside)
        zero[at] = zero[at] and part.zero[there]
    if part is not None:
        return Cells(x.shape, values, zero, x.stays)
    shape = node.results[0].type.shape
    found = lengths_of(shape, stays)
    order = (*axes, *rest)
    cells = values.transpose(order).reshape(found), zero.transpose(order).reshape(found)
    return Cells(shape, *cells, stays)


def _indexed(x: Cells, axes: Axes) -> Cells:
    """Take cells apart along the axes that are indexed."""
    return arranged(x, tuple(stay and axis not in axes for axis, stay in enumerate(x.stays)))


@rule("gather", operands=1)
def _gather(node: Node, wanted: Wanted, x: Cells) -> Cells | None:
    indices = _known_indices(node, 1)
    if indices is None:
        return None
    axes: Axes = node.attributes["axes"]
    if _are_many(node, x, indices):
        return _of_each_cell(node, indices, x, None)
    x = _indexed(x, axes)
    values = _at(np.moveaxis(x.values, axes, range(len(axes))), tuple(indices))
    zero = np.moveaxis(x.zero, axes, range(len(axes)))[tuple(indices)]
    rest = tuple(stay for axis, stay in enumerate(x.stays) if axis not in axes)
    stays = (False,) * indices[0].ndim + rest
    return Cells(node.results[0].type.shape, values, np.asarray(zero), stays)


@rule("scatter_set", operands=2)
def _scatter_set(node: Node, wanted: Wanted, x: Cells, part: Cells) -> Cells | None:
    return _scattered(node, x, part, None)


@rule("scatter_add", operands=2)
def _scatter_add(node: Node, wanted: Wanted, x: Cells, part: Cells) -> Cells | None:
    return _scattered(node, x, part, "add")


def _scattered(node: Node, x: Cells, part: Cells, word: str | None) -> Cells | None:
    indices = _known_indices(node, 2)
    if indices is None:
        return None
    axes: Axes = node.attributes["axes"]
    if _are_many(node, x, indices):
        return _of_each_cell(node, indices, x, part)
    x = _indexed(x, axes)
    rest = tuple(stay for axis, stay in enumerate(x.stays) if axis not in axes)
    part = arranged(part, (False,) * indices[0].ndim + rest)
    values, zero = x.values.copy(), x.zero.copy()
    targets = np.moveaxis(values, axes, range(len(axes)))
    flags = np.moveaxis(zero, axes, range(len(axes)))
    for position in np.ndindex(indices[0].shape):
        for inner in np.ndindex(part.values.shape[len(position) :]):
            at = (*(int(index[position]) for index in indices), *inner)
            new: Value = part.values[(*position, *inner)]
            if word is None:
                targets[at], flags[at] = new, part.zero[(*position, *inner)]
                continue
            targets[at] = numbers.build_of(word, targets[at], new)
            flags[at] = flags[at] and part.zero[(*position, *inner)]
    return Cells(x.shape, values, zero, x.stays)


@rule("iota", operands=0)
def _iota(node: Node, wanted: Wanted) -> Cells | None:
    size = node.attributes["size"]
    if wanted[0] or not isinstance(size, int):
        return None
    cells = [build.full((), i, node.attributes["dtype"]) for i in range(size)]
    zero = np.zeros(size, bool)
    return Cells((size,), objects((size,), cells), zero, wanted)
