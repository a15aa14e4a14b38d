"""Cotangents of windows that slide over an axis: sums along diagonals.

Element j is element k of the window that begins at j - k, where one begins at every element. So
what windows contribute to it is a sum over k, and nothing is added in memory one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import Shape, Size
from gradc_ir.core.types import Axes, DType
from gradc_ir.graphs.affine import affine, is_within

# Elements of longer windows are added one by one.
_LONGEST = 1024


class Sliding(NamedTuple):
    """Windows along an axis: element k of window i is element ``start + i + step * k``.

    ``along`` is which axis of the index is i; the other one is k.
    """

    axis: int
    start: Size
    step: int
    along: int
    count: Size
    length: int

    def covers(self, size: Size) -> bool:
        """Whether all elements of the axis, which has this size, are surely in some window."""
        # windows side by side have no gaps
        span = self.count + self.length - 1
        return self.step == 1 and self.start == 0 and span == size and self.count != 0

    def summed(self, cotangent: Value, shape: Shape) -> Value:
        """Return the cotangent of the array of this shape: zeros where no window is."""
        size, rest = shape[self.axis], cotangent.type.shape[2:]
        # element j has element k of the window j - start - step * k; zeros are where there is none
        reach = self.step * (self.length - 1)
        before = self.start + max(reach, 0)
        starts: list[Size] = [0, 0, *(0 for _ in rest)]
        padded = [*cotangent.type.shape]
        starts[self.along] = before
        padded[self.along] = before + (size - self.start) - min(reach, 0)
        whole = build.pad(cotangent, tuple(starts), tuple(padded), (1,) * len(padded))
        index = (size, self.length)
        window, place = _counting(index, 0), _counting(index, 1)
        window = build.sub(window, build.mul(place, self.step))
        first = build.size_value(before - self.start)
        window = build.add(window, build.broadcast(first, index, ()))
        found = build.gather(whole, (window, place), (self.along, 1 - self.along))
        total = build.reduce_sum(found, (1,))
        order = list(range(1, total.type.rank))
        order.insert(self.axis, 0)
        return build.transpose(total, tuple(order))


def sliding(shape: Shape, indices: Sequence[Value], axes: Axes) -> Sliding | None:
    """Return which windows of an array are read at indices; None where they are none that slide."""
    if len(indices) != 1 or indices[0].type.rank != 2:
        return None
    (index,), (axis,) = indices, axes
    found = affine(index)
    if found is None or not is_within(found, index.type.shape, shape[axis]):
        return None
    for along in (0, 1):
        count, length = index.type.shape[along], index.type.shape[1 - along]
        step = found.steps[1 - along]
        is_short = isinstance(length, int) and 0 < length <= _LONGEST
        if found.steps[along] == 1 and step and is_short:
            return Sliding(axis, found.start, step, along, count, length)
    return None


def _counting(shape: Shape, axis: int) -> Value:
    return build.broadcast(build.iota(DType.I64, shape[axis]), shape, (axis,))
