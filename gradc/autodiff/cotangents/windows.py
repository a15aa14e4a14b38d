"""Cotangents of many windows of one value: padded and added, or joined side by side.

Each element has the cotangents of the windows that it is in added in the order in which they came,
or of two at most, whose order is no matter. So the bits are the same wherever the sizes of windows
are numbers, which tell what overlaps, and where they are symbols, which do not.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from gradc.autodiff import zeros
from gradc.autodiff.cotangents import masks
from gradc.autodiff.cotangents.mask import Mask
from gradc.autodiff.cotangents.masks import Cotangent
from gradc.autodiff.cotangents.reads import Read
from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
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
    """The windows of one value that have a cotangent.

    An element at a known place is a window where the size of its axis is known, and else a read,
    for the program has to see whether it is there.
    """

    def __init__(self) -> None:
        self._all: list[Window | Read] = []

    def add(self, starts: Shape, cotangent: Cotangent) -> None:
        """Add the cotangent of a window."""
        window = Window(starts, cotangent)
        if 0 not in window.shape:
            self._all.append(window)

    def add_read(self, read: Read) -> None:
        """Add the cotangent of elements that are read at a known place."""
        self._all.append(read)

    def summed(self, total: Cotangent | None, x: Value, in_place: bool) -> Cotangent | None:
        """Return a total and all windows of x.

        ``in_place``: each window is added where it lies to the total, if there is one.
        """
        if not self._all:
            return total
        if in_place and total is not None:
            return self._in_place(total, x)
        axes = {each.axes if isinstance(each, Read) else None for each in self._all}
        if None not in axes and len(axes) == 1:
            # no element is read twice, so each may be added where it lies
            return self._one_by_one(total, x)
        return masks.add(total, self._apart(x))

    def _apart(self, x: Value) -> Cotangent | None:
        """Return the sum over all windows, each in its place among zeros.

        Where that saves most of the sums, or changes none, windows are joined side by side.
        """
        windows = [each for each in self._all if isinstance(each, Window)]
        reads = [each for each in self._all if isinstance(each, Read)]
        whole = x.type
        boxes = _boxes(windows, whole)
        is_less = 4 * len(boxes) <= len(windows)
        if not is_less and (reads or _three_overlap(windows, whole)):
            return self._one_by_one(None, x)
        total: Cotangent | None = None
        for box in boxes:
            total = masks.add(total, _padded(_made(box, whole), whole))
        if total is not None and _covered(windows, whole):
            total = Cotangent(total.solid())
        for read in reads:
            total = read.added_to(total, x)
        return total

    def _one_by_one(self, total: Cotangent | None, x: Value) -> Cotangent | None:
        for each in self._all:
            if isinstance(each, Read):
                total = each.added_to(total, x)
            else:
                total = masks.add(total, _padded(each, x.type))
        return total

    def _in_place(self, total: Cotangent, x: Value) -> Cotangent | None:
        """Return the total with each window added where it lies.

        Windows that do not overlap, and have as many elements as the whole, are added as one; where
        each has at least half as many, it is added among zeros.
        """
        whole = x.type
        windows = [each for each in self._all if isinstance(each, Window)]
        if len(windows) == len(self._all):
            elements = sum((window.cotangent.value.type.count for window in windows), start=0)
            if sizes.at_least(elements, whole.count) and len(_boxes(windows, whole)) == 1:
                return masks.add(total, self._apart(x))
            if all(
                sizes.at_least(2 * window.cotangent.value.type.count, whole.count)
                for window in windows
            ):
                return self._one_by_one(total, x)
        found: Cotangent | None = total
        for each in self._all:
            assert found is not None
            found = each.added_to(found, x) if isinstance(each, Read) else _written(found, each)
        return found


def _written(total: Cotangent, window: Window) -> Cotangent:
    """Return the total with a window added where it lies."""
    starts, cotangent = window
    steps = (1,) * len(starts)

    def read(x: Value) -> Value:
        return build.slice(x, starts, window.shape, steps)

    def write(x: Value, part: Value) -> Value:
        return build.set_slice(x, part, starts, steps)

    before = total.solid()
    value = write(before, build.add(read(before), cotangent.solid()))
    mask = total.mask and total.mask.widened(cotangent.mask, window.shape, read, write)
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
    """Whether an element may be in three windows.

    Boxes of which any two meet have an element in common.
    """
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
