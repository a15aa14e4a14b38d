"""Elements picked along axes, one pick after another: joined into one pick an axis.

``np.delete(np.delete(a[1:], i, 1)[1:], j, 1)`` are rows and columns of ``a``. Picked from ``a`` at
once, what is picked in two ways is one value: the minors of a matrix are, that are made by deleting
one row and column after another.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Node, Value
from gradc_ir.core.sizes import Size

_Array: TypeAlias = npt.NDArray[np.int64]

# The most elements of a source. Of a large one, what is picked first may be small and read often.
_LARGEST = 4096


class _Window(NamedTuple):
    """``size`` elements of an axis, from ``start`` on in steps."""

    start: Size
    step: int
    size: Size


class _Axis(NamedTuple):
    """Where an axis of a value comes from: an axis of the source, and what is picked along it."""

    axis: int
    picked: _Window | _Array

    @property
    def is_listed(self) -> bool:
        """Whether elements are picked one by one."""
        return isinstance(self.picked, np.ndarray)


def join_picks(value: Value) -> Value | None:
    """Turn picks of picks into one of each axis of their source: windows first, then lists.

    A pick is a slice, or a gather at known indices along one axis; between them axes may change
    their order. The elements are the same, and so is the order in which a derivative adds them up.
    None where no list is among the picks, or they stand so already.
    """
    if not (value.op.name == "slice" or is_list(value.node)):
        return None
    found = _source(value)
    if found is None:
        return None
    source, axes = found
    sizes = [size for size in source.type.shape if isinstance(size, int)]
    if len(sizes) < len(source.type.shape) or math.prod(sizes) > _LARGEST:
        return None
    made = _picked(source, axes)
    return None if made is value else made


def is_list(node: Node) -> bool:
    """Whether a node picks elements at known indices along one axis."""
    if node.op.name != "gather" or len(node.operands) != 2:
        return False
    index = node.operands[1]
    if index.op.name != "constant" or len(index.type.shape) != 1:
        return False
    array = index.node.attributes["value"].array
    return 0 < array.size <= _LARGEST and bool(array.min() >= 0)


def _source(value: Value) -> tuple[Value, list[_Axis]] | None:
    """Return what a value is picked from, and whence its axes come; None where no list is met."""
    axes = [_Axis(i, _Window(0, 1, size)) for i, size in enumerate(value.type.shape)]
    seen = False
    while True:
        node = value.node
        below: list[_Axis] | None
        if is_list(node):
            seen = True
            below = _through_list(axes, node)
        elif node.op.name == "slice":
            below = _through_slice(axes, node)
        elif node.op.name == "transpose":
            permutation = node.attributes["permutation"]
            below = [one._replace(axis=permutation[one.axis]) for one in axes]
        else:
            below = None
        if below is None:
            return (value, axes) if seen else None
        axes, value = below, node.operands[0]


def _through_list(axes: list[_Axis], node: Node) -> list[_Axis] | None:
    (along,) = node.attributes["axes"]
    places: _Array = node.operands[1].node.attributes["value"].array.astype(np.int64)
    # the axis of the list comes first, the others as they stood
    others = [axis for axis in range(len(node.operands[0].type.shape)) if axis != along]
    below: list[_Axis] = []
    for one in axes:
        if one.axis:
            below.append(one._replace(axis=others[one.axis - 1]))
            continue
        picked = one.picked
        if isinstance(picked, _Window):
            start, step, size = picked
            if not isinstance(start, int) or not isinstance(size, int):
                return None
            picked = start + step * np.arange(size)
        below.append(_Axis(along, places[picked]))
    return below


def _through_slice(axes: list[_Axis], node: Node) -> list[_Axis] | None:
    starts, steps = node.attributes["starts"], node.attributes["steps"]
    below: list[_Axis] = []
    for one in axes:
        start, step, picked = starts[one.axis], steps[one.axis], one.picked
        if isinstance(picked, _Window):
            first = start + step * picked.start
            below.append(_Axis(one.axis, _Window(first, step * picked.step, picked.size)))
        elif isinstance(start, int):
            below.append(_Axis(one.axis, start + step * picked))
        else:
            return None
    return below


def _picked(source: Value, axes: list[_Axis]) -> Value:
    """Return the elements picked from a source, its axes in the order that is given."""
    starts: list[Size] = [0] * len(axes)
    shape, steps = list(source.type.shape), [1] * len(axes)
    for axis, picked in axes:
        if isinstance(picked, _Window):
            starts[axis], steps[axis], shape[axis] = picked.start, picked.step, picked.size
    made = build.slice(source, tuple(starts), tuple(shape), tuple(steps))
    order = list(range(len(axes)))  # the axes of the source, as they stand in what is made
    for axis, picked in sorted((one for one in axes if one.is_listed), key=lambda one: one.axis):
        along = order.index(axis)
        made = build.gather(made, [build.constant(np.asarray(picked))], (along,))
        order = [axis, *order[:along], *order[along + 1 :]]
    return build.transpose(made, tuple(order.index(one.axis) for one in axes))
