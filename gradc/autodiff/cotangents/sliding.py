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
from gradc_ir.core.types import Axes
from gradc_ir.graphs.affine import Affine, affine, is_within

# Elements of longer windows are added one by one.
_LONGEST = 1024


class Sliding(NamedTuple):
    """Windows along an axis: element k of window i is element ``start + i + step * k``.

    ``along`` is which axis of the index is i; the other one is k. With a second axis, what is read
    is not a vector but a matrix, at ``[start + i + step * k, k]``: diagonals.
    """

    axes: Axes
    start: Size
    step: int
    along: int
    number: Size
    length: int

    def cover(self, shape: Shape) -> bool:
        """Whether all elements of an array of this shape are surely read."""
        # windows side by side have no gaps
        span = self.number + self.length - 1
        is_whole = self.step == 1 and self.start == 0 and span == shape[self.axes[0]]
        return is_whole and len(self.axes) == 1 and self.number != 0

    def placed(self, cotangent: Value, shape: Shape) -> Value:
        """Return the cotangent of the array of this shape: zeros where no window is."""
        size, rest = shape[self.axes[0]], cotangent.type.shape[2:]
        # element j has element k of the window j - start - step * k; zeros are where there is none
        reach = self.step * (self.length - 1)
        before = self.start + max(reach, 0)
        starts: list[Size] = [0, 0, *(0 for _ in rest)]
        padded = [*cotangent.type.shape]
        starts[self.along] = before
        padded[self.along] = before + (size - self.start) - min(reach, 0)
        whole = build.pad(cotangent, tuple(starts), tuple(padded), (1,) * len(padded))
        windows = (size, self.length)
        window, place = build.index_along(windows, 0), build.index_along(windows, 1)
        window = build.sub(window, build.mul(place, self.step))
        window = build.add(
            window, build.broadcast(build.size_value(before - self.start), windows, ())
        )
        total = build.gather(whole, (window, place), (self.along, 1 - self.along))
        if len(self.axes) == 1:
            total = build.reduce_sum(total, (1,))
        others = iter(range(len(self.axes), total.type.rank))
        order = [
            self.axes.index(axis) if axis in self.axes else next(others)
            for axis in range(total.type.rank)
        ]
        return build.transpose(total, tuple(order))


def sliding(shape: Shape, indices: Sequence[Value], axes: Axes) -> Sliding | None:
    """Return which windows of an array are read at indices; None where they are none that slide."""
    index_shape = indices[0].type.shape
    if len(index_shape) != 2 or len(indices) > 2:
        return None
    start, *more = map(affine, indices)
    if start is None or not is_within(start, index_shape, shape[axes[0]]):
        return None
    for along in (0, 1):
        count, length = index_shape[along], index_shape[1 - along]
        step = start.steps[1 - along]
        if not isinstance(length, int) or not 0 < length <= _LONGEST:
            continue
        counting = Affine(0, (along, 1 - along))
        is_diagonal = all(one == counting and shape[axes[1]] == length for one in more)
        if start.steps[along] == 1 and step and is_diagonal:
            return Sliding(axes, start.start, step, along, count, length)
    return None
