"""Sliding windows: ``np.lib.stride_tricks.sliding_window_view``, which cannot be written."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.tracing.building.axes import each, position, with_size
from gradc.tracing.building.by_name import array, number
from gradc.tracing.core.source import shape_error
from gradc.tracing.core.symbolic_size import leaves_below
from gradc.tracing.core.tracer import Tracer, make_view, shape_of
from gradc.tracing.core.views import View
from gradc.tracing.registry.numpy_function import numpy_function
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import at_least
from gradc_ir.core.types import Array


class Sliding(View):
    """All windows of a length along an axis; the places in a window are a new last axis."""

    why_fixed = (
        "np.lib.stride_tricks.sliding_window_view returns a read-only view; copy it first: x.copy()"
    )

    def __init__(self, axis: int, length: int) -> None:
        self.axis = axis
        self.length = length

    def known(self, base: Array) -> Array:
        """Return the view of a known array."""
        return np.lib.stride_tricks.sliding_window_view(base, self.length, self.axis)

    def forward(self, base: Value) -> Value:
        """Return the view's elements."""
        count = base.type.shape[self.axis] - self.length + 1
        both = (count, self.length)
        index = build.index_along(both, 0) + build.index_along(both, 1)
        found = build.gather(base, [index], (self.axis,))
        # what is indexed comes first: back to its axis, and to the end
        others = list(range(2, base.type.rank + 1))
        return build.transpose(found, (*others[: self.axis], 0, *others[self.axis :], 1))


@numpy_function("lib.stride_tricks.sliding_window_view", view=True)
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Tracer:
    """Record ``np.lib.stride_tricks.sliding_window_view``; ``subok`` changes nothing."""
    name = "np.lib.stride_tricks.sliding_window_view"
    found: Tracer = array(x)
    rank = found.type.rank
    lengths = each(window_shape)
    axes = range(rank) if axis is None else each(axis)
    if len(lengths) != len(axes):
        raise shape_error(
            f"{name}: one length for each axis is wanted",
            found=f"lengths: {len(lengths)}    axes: {len(axes)}",
            help="say which: axis=-1" if axis is None else None,
        )
    if writeable:
        raise shape_error(
            f"{name}: writeable=True is not supported",
            help="write into the array itself",
        )
    for length, one in zip(lengths, axes):
        found = _slide(found, number(length, name), position(one, rank), name)
    return found


def _slide(x: Tracer, length: int, axis: int, name: str) -> Tracer:
    size = x.type.shape[axis]
    if length < 0 or not (at_least(size, length) or leaves_below(size, length)):
        size = number(shape_of(x)[axis], f"the axis {axis} of {name}")
        if not 0 <= length <= size:
            raise shape_error(f"{name}: a window of {length} does not fit an axis of {size}")
    wanted = with_size(x.type.shape, axis, size - length + 1)
    return make_view(x, Sliding(axis, length), (*wanted, length))
