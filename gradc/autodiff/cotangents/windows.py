"""Cotangents of many windows of one value: padded and added, or joined side by side.

Each element has the cotangents of the windows that it is in added in the order in which they came,
or of two at most, whose order is no matter. So the bits are the same wherever the sizes of windows
are numbers, which tell what overlaps, and where they are symbols, which do not.
"""

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

    starts: Shape
    cotangent: Cotangent

    @property
    def shape(self) -> Shape:
        """The shape of the window."""
        return self.cotangent.value.type.shape


class Box(NamedTuple):
    """Where a window lies, or several: ``parts`` are those that are side by side along ``axis``."""

    starts: Shape
    shape: Shape
    window: Window | None = None
    axis: int = 0
    parts: tuple[Box, ...] = ()


def is_window(node: Node) -> bool:
    """Whether a node reads a window in unit steps."""
    return node.op.name == "slice" and all(step == 1 for step in node.attributes["steps"])


class Windows:
    """The windows of one value that have a cotangent."""

    def __init__(self) -> None:
        self._windows: list[Window] = []

    def add(self, starts: Shape, cotangent: Cotangent) -> None:
        """Add the cotangent of a window."""
        window = Window(starts, cotangent)
        if 0 not in window.shape:
            self._windows.append(window)

    def joined(self, whole: Type) -> Cotangent | None:
        """Return the sum over all windows, each in its place among zeros.

        Where that saves half of the sums, or changes no sum, windows are joined side by side.
        """
        boxes = _boxes(self._windows, whole)
        windows = self._windows
        if 2 * len(boxes) <= len(windows) or not _three_overlap(windows, whole):
            windows = [_made(box, whole) for box in boxes]
        total: Cotangent | None = None
        for window in windows:
            total = masks.add(total, _padded(window, whole))
        covered = _covered(self._windows, whole)
        return Cotangent(total.solid()) if covered and total is not None else total

    def added_to(self, total: Cotangent) -> Cotangent | None:
        """Return the total with each window added where it lies.

        Windows that do not overlap, and have as many elements as the whole, are joined and added as
        one; a few that have as many each are padded.
        """
        whole = total.value.type
        elements = sum((window.cotangent.value.type.count for window in self._windows), start=0)
        if sizes.at_least(elements, whole.count) and len(_boxes(self._windows, whole)) == 1:
            return masks.add(total, self.joined(whole))
        if sizes.at_least(2 * elements, len(self._windows) * whole.count):
            found: Cotangent | None = total
            for window in self._windows:
                found = masks.add(found, _padded(window, whole))
            return found
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


def _boxes(windows: Sequence[Window], whole: Type) -> list[Box]:
    """Return windows joined as far as they can be.

    Those that differ along one axis only, and do not overlap, are joined along it; what that makes
    is joined along the axis before, and so on. So the elements of a matrix, read one by one, become
    rows and then the matrix.
    """
    boxes = [Box(window.starts, window.shape, window) for window in windows]
    for axis in reversed(range(whole.rank)):
        groups: dict[tuple[object, ...], list[Box]] = {}
        for box in boxes:
            place = [*zip(box.starts, box.shape)]
            groups.setdefault((*place[:axis], *place[axis + 1 :]), []).append(box)
        boxes = [
            _side_by_side(layer, axis, whole) if len(layer) > 1 else layer[0]
            for group in groups.values()
            for layer in _layers(group, axis)
        ]
    return boxes


def _three_overlap(windows: Sequence[Window], whole: Type) -> bool:
    """Whether an element may be in three windows: boxes of which any two meet have one in common."""
    before: list[set[int]] = []
    for i, window in enumerate(windows):
        met = {j for j in range(i) if _may_meet(windows[j], window, whole)}
        if any(not met.isdisjoint(before[j]) for j in met):
            return True
        before.append(met)
    return False


def _may_meet(left: Window, right: Window, whole: Type) -> bool:
    """Whether two windows may have an element in common."""
    for axis in range(whole.rank):
        if _is_before(left, right, axis) or _is_before(right, left, axis):
            return False
    return True


def _is_before(left: Window, right: Window, axis: int) -> bool:
    return sizes.at_least(right.starts[axis], left.starts[axis] + left.shape[axis])


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


def _extents(places: Sequence[Window | Box], axis: int) -> list[tuple[int, int]]:
    """Return starts and sizes along an axis, of the windows of which they are numbers."""
    found = []
    for place in places:
        start, size = place.starts[axis], place.shape[axis]
        if isinstance(start, int) and isinstance(size, int):
            found.append((start, size))
    return found


def _layers(group: list[Box], axis: int) -> list[list[Box]]:
    """Divide windows into as few layers as can be without overlaps along an axis, in order."""
    extents = _extents(group, axis)
    if len(extents) < len(group):
        return [[box] for box in group]
    layers: list[list[Box]] = []
    ends: list[tuple[int, int]] = []
    for (start, size), i in sorted(zip(extents, range(len(group)))):
        if ends and ends[0][0] <= start:
            _, layer = heapq.heappop(ends)
            layers[layer].append(group[i])
        else:
            layer = len(layers)
            layers.append([group[i]])
        heapq.heappush(ends, (start + size, layer))
    return layers


def _side_by_side(layer: Sequence[Box], axis: int, whole: Type) -> Box:
    """Return windows joined along an axis, to one of the whole axis."""
    starts, shape = list(layer[0].starts), list(layer[0].shape)
    starts[axis], shape[axis] = 0, whole.shape[axis]
    return Box(tuple(starts), tuple(shape), axis=axis, parts=tuple(layer))


def _made(box: Box, whole: Type) -> Window:
    """Return the window of a box: that of its parts with zeros in the gaps."""
    if box.window is not None:
        return box.window
    axis = box.axis
    layer = [_made(part, whole) for part in box.parts]
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
    return Window(box.starts, Cotangent(build.concatenate(values, axis), mask))
