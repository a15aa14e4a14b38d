"""Cotangents of many windows of one value, joined side by side instead of padded and added."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any, NamedTuple

from gradc.autodiff import zeros
from gradc.autodiff.cotangents import masks
from gradc.autodiff.cotangents.mask import Mask
from gradc.autodiff.cotangents.masks import Cotangent
from gradc_ir import build
from gradc_ir.core import sizes
from gradc_ir.core.graph import Node, Value
from gradc_ir.core.sizes import Shape, Size
from gradc_ir.core.types import DType, Type


class Window(NamedTuple):
    """Where a window lies (unit steps), and its cotangent."""

    starts: tuple[int, ...]
    cotangent: Cotangent

    @property
    def shape(self) -> Shape:
        """The shape of the window."""
        return self.cotangent.value.type.shape


def is_window(node: Node) -> bool:
    """Whether a node reads a window in unit steps whose place is known.

    On each axis it starts at a number and has a number of elements, or it is the whole axis.
    """
    if node.op.name != "slice":
        return False
    attributes = node.attributes
    axes = zip(attributes["starts"], attributes["shape"], node.operands[0].type.shape)
    return all(step == 1 for step in attributes["steps"]) and all(
        isinstance(start, int) and (isinstance(size, int) or (start == 0 and size == whole))
        for start, size, whole in axes
    )


class Windows:
    """The windows of one value that have a cotangent."""

    def __init__(self) -> None:
        self._windows: list[Window] = []

    def add(self, starts: tuple[int, ...], cotangent: Cotangent) -> None:
        """Add the cotangent of a window."""
        self._windows.append(Window(starts, cotangent))

    def joined(self, whole: Type) -> Cotangent | None:
        """Return the sum over all windows, each in its place among zeros.

        Windows that differ along one axis only, and do not overlap, are joined along it; what that
        makes is joined along the axis before, and so on. So the elements of a matrix, read one by
        one, become rows and then the matrix.
        """
        windows = [window for window in self._windows if 0 not in window.shape]
        covered = _covered(windows, whole)
        for axis in reversed(range(whole.rank)):
            groups: dict[tuple[object, ...], list[Window]] = {}
            for window in windows:
                place = [*zip(window.starts, window.shape)]
                groups.setdefault((*place[:axis], *place[axis + 1 :]), []).append(window)
            windows = [
                _side_by_side(layer, axis, whole) if len(layer) > 1 else layer[0]
                for group in groups.values()
                for layer in _layers(group, axis)
            ]
        total: Cotangent | None = None
        for window in windows:
            total = masks.add(total, _padded(window, whole))
        return Cotangent(total.solid()) if covered and total is not None else total

    def added_to(self, total: Cotangent) -> Cotangent | None:
        """Return the total with each window added where it lies.

        Windows that have as many elements as the whole are joined, and added as one.
        """
        whole = total.value.type
        elements = sum((window.cotangent.value.type.count for window in self._windows), start=0)
        if sizes.at_least(elements, whole.count):
            return masks.add(total, self.joined(whole))
        value, mask = total.solid(), total.mask
        steps = (1,) * whole.rank
        for starts, cotangent in self._windows:
            shape = cotangent.value.type.shape

            def read(x: Value, starts: Any = starts, shape: Any = shape) -> Value:
                return build.slice(x, starts, shape, steps)

            def write(x: Value, part: Value, starts: Any = starts) -> Value:
                return build.set_slice(x, part, starts, steps)

            value = write(value, build.add(read(value), cotangent.solid()))
            mask = mask and mask.widened(cotangent.mask, shape, read, write)
        return Cotangent(value, mask)


def _padded(window: Window, whole: Type) -> Cotangent:
    if window.shape == whole.shape:
        return window.cotangent
    steps = (1,) * whole.rank
    return window.cotangent.spread(lambda v: build.pad(v, window.starts, whole.shape, steps))


def _covered(windows: Sequence[Window], whole: Type) -> bool:
    """Whether unmasked windows certainly cover everything, along the one axis they differ in."""
    if any(window.cotangent.mask is not None for window in windows):
        return False
    partial = {
        axis
        for window in windows
        for axis, (size, full) in enumerate(zip(window.shape, whole.shape))
        if size != full
    }
    if len(partial) != 1:
        return False
    (axis,) = partial
    end = 0
    for start, size in sorted(_extents(windows, axis)):
        if start > end:
            return False
        end = max(end, start + size)
    return end == whole.shape[axis]


def _extents(windows: Sequence[Window], axis: int) -> list[tuple[int, int]]:
    """Return starts and sizes along an axis, of the windows whose size is a number."""
    found = []
    for window in windows:
        size = window.shape[axis]
        if isinstance(size, int):
            found.append((window.starts[axis], size))
    return found


def _layers(group: list[Window], axis: int) -> list[list[Window]]:
    """Divide windows into as few layers as can be without overlaps along an axis, in order."""
    if len(_extents(group, axis)) < len(group):
        return [[window] for window in group]
    layers: list[list[Window]] = []
    ends: list[tuple[int, int]] = []
    order = sorted(zip(_extents(group, axis), range(len(group))))
    for (start, size), i in order:
        if ends and ends[0][0] <= start:
            _, layer = heapq.heappop(ends)
            layers[layer].append(group[i])
        else:
            layer = len(layers)
            layers.append([group[i]])
        heapq.heappush(ends, (start + size, layer))
    return layers


def _side_by_side(layer: Sequence[Window], axis: int, whole: Type) -> Window:
    """Join windows along an axis, with zeros in the gaps, to a window of the whole axis."""
    values: list[Value] = []
    bits: list[tuple[Mask | None, Shape, bool]] = []
    position: Size = 0

    def leave_gap(until: Size) -> None:
        if until != position:
            shape = layer[0].shape
            hole = (*shape[:axis], until - position, *shape[axis + 1 :])
            values.append(zeros.zeros(whole.with_shape(hole)))
            bits.append((None, hole, False))

    for window in layer:
        leave_gap(window.starts[axis])
        values.append(window.cotangent.solid())
        bits.append((window.cotangent.mask, window.shape, True))
        position = window.starts[axis] + window.shape[axis]
    leave_gap(whole.shape[axis])

    def join(*found: Value) -> Value:
        given = iter(found)
        parts = [
            build.full(shape, holds, DType.BOOL) if mask is None else next(given)
            for mask, shape, holds in bits
        ]
        return build.concatenate(parts, axis)

    mask = None
    if any(part is not None or not holds for part, _, holds in bits):
        mask = Mask(sources=[part for part, _, _ in bits if part is not None], build=join)
    starts = (*layer[0].starts[:axis], 0, *layer[0].starts[axis + 1 :])
    return Window(starts, Cotangent(build.concatenate(values, axis), mask))
