"""Arrays taken apart along some axes: a number for each element, or an array of the rest."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from gradc_ir import build
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import Shape
from gradc_ir.core.types import DType
from gradc_ir.graphs.rearrange import scalar_constant

# Of values, by their places.
Objects: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Truths: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True)
class Cells:
    """An array as its cells.

    Parameters
    ----------
    shape: that of the array.
    values: the cells, by their places; an axis that stays has length 1. A cell has the axes that
        stay, in their order, or none where it is the same along all of them.
    zero: which cells are surely zero by their place, whatever the arguments are.
    stays: for each axis whether the cells have it.
    """

    shape: Shape
    values: Objects
    zero: Truths
    stays: tuple[bool, ...]

    @property
    def rest(self) -> Shape:
        """The axes that stay."""
        return tuple(size for size, stays in zip(self.shape, self.stays) if stays)

    @property
    def dtype(self) -> DType:
        """The dtype."""
        first: Value = self.values.flat[0]
        return first.type.dtype

    def place_in_rest(self, axis: int) -> int:
        """Return which axis of a cell an axis that stays is."""
        return sum(self.stays[:axis])

    def spread(self, cell: Value) -> Value:
        """Return a cell with all axes that stay."""
        return cell if cell.type.shape == self.rest else build.broadcast(cell, self.rest, ())


def lengths_of(shape: Shape, stays: Sequence[bool]) -> tuple[int, ...]:
    """Return how many cells an array has along each axis: one where it stays."""
    found = [1 if stay else size for size, stay in zip(shape, stays)]
    assert all(isinstance(size, int) for size in found)
    return tuple(found)  # type: ignore[arg-type]


def places(values: np.ndarray[Any, Any]) -> Iterator[tuple[int, ...]]:
    """Yield all places of cells."""
    return np.ndindex(values.shape)


def objects(shape: tuple[int, ...], cells: Sequence[Value]) -> Objects:
    """Return cells in row-major order as an array of them."""
    found = np.empty(len(cells), object)
    for i, cell in enumerate(cells):
        found[i] = cell
    return found.reshape(shape)


def taken_apart(array: Value, stays: tuple[bool, ...], *, zeros: bool) -> Cells:
    """Return the cells of an array; ``zeros``: whether those of a constant count as surely zero."""
    shape = array.type.shape
    lengths = lengths_of(shape, stays)
    known = scalar_constant(array)
    if known is not None:
        cell = build.full((), known, array.type.dtype)
        values = objects(lengths, [cell] * math.prod(lengths))
        return Cells(shape, values, np.full(lengths, zeros and known == 0), stays)
    if array.op.name == "constant" and not any(stays):
        elements = array.node.attributes["value"].array
        cells = [build.constant(element, array.type.dtype) for element in elements.flat]
        zero = (elements == 0) & zeros
        return Cells(shape, objects(lengths, cells), np.asarray(zero), stays)
    cells = [
        build.element(array, [None if stay else i for i, stay in zip(place, stays)])
        for place in np.ndindex(*lengths)
    ]
    return Cells(shape, objects(lengths, cells), np.zeros(lengths, bool), stays)


def put_together(cells: Cells) -> Value:
    """Return the array of cells."""
    axes = tuple(axis for axis, stays in enumerate(cells.stays) if not stays)
    spread = [cells.spread(cell) for cell in cells.values.flat]
    numbers = [scalar_constant(cell) for cell in spread]
    sizes = tuple(size for size in cells.shape if isinstance(size, int))
    if axes and None not in numbers and len(sizes) == len(cells.shape):
        made = np.array(numbers, cells.dtype.numpy).reshape(cells.values.shape)
        return build.constant(np.broadcast_to(made, sizes), cells.dtype)
    return build.stack(spread, cells.shape, axes)


def arranged(cells: Cells, wanted: tuple[bool, ...]) -> Cells:
    """Return the cells of the same array with other axes that stay."""
    for axis, stay in enumerate(wanted):
        if stay != cells.stays[axis]:
            cells = (_joined if stay else _divided)(cells, axis)
    return cells


def _divided(cells: Cells, axis: int) -> Cells:
    """Take cells apart along an axis that stayed."""
    size = cells.shape[axis]
    assert isinstance(size, int)
    place = cells.place_in_rest(axis)
    rank = len(cells.rest)

    def part(cell: Value, i: int) -> Value:
        if not cell.type.shape:
            return cell
        return build.element(cell, [i if at == place else None for at in range(rank)])

    layers = [
        objects(cells.values.shape, [part(cell, i) for cell in cells.values.flat])
        for i in range(size)
    ]
    stays = _changed(cells.stays, axis, False)
    zero = np.repeat(cells.zero, size, axis)
    return Cells(cells.shape, np.concatenate(layers, axis), zero, stays)


def _joined(cells: Cells, axis: int) -> Cells:
    """Put cells together along an axis."""
    stays = _changed(cells.stays, axis, True)
    values = np.moveaxis(cells.values, axis, 0)
    shape: tuple[int, ...] = values.shape[1:]
    new = sum(stays[:axis])
    rest = tuple(size for size, stay in zip(cells.shape, stays) if stay)

    def whole(column: list[Value]) -> Value:
        if all(cell is column[0] for cell in column) and not column[0].type.shape:
            return column[0]
        return build.stack([cells.spread(cell) for cell in column], rest, (new,))

    columns: Objects = values.reshape(len(values), -1).T
    made = objects(shape, [whole(list(column)) for column in columns])
    zero = np.asarray(cells.zero.all(axis, keepdims=True))
    return Cells(cells.shape, np.expand_dims(made, axis), zero, stays)


def _changed(flags: tuple[bool, ...], place: int, flag: bool) -> tuple[bool, ...]:
    return (*flags[:place], flag, *flags[place + 1 :])
