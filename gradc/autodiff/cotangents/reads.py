"""Cotangents of elements that are read at indices: added where they were read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradc.autodiff.cotangents.mask import Mask, either, everywhere
from gradc.autodiff.cotangents.masks import Cotangent
from gradc.autodiff.cotangents.sliding import Sliding, sliding
from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core import sizes
from gradc_ir.core.builder import active
from gradc_ir.core.graph import Value
from gradc_ir.core.types import Axes, DType
from gradc_ir.location import Location


class Read(NamedTuple):
    """The cotangent of elements that were read at indices, and the user's lines that read them."""

    cotangent: Cotangent
    indices: Sequence[Value]
    axes: Axes
    lines: tuple[Location, ...]

    def added_to(self, total: Cotangent | None, x: Value) -> Cotangent:
        """Return the total and this; x is what was read. Elements never read have none."""
        with active().at(self.lines):
            windows = sliding(x.type.shape, self.indices, self.axes)
            start = None if total is None else total.solid()
            value = self._placed(start, self.cotangent.solid(), x, windows)
            if total is not None:
                return Cotangent(value, self._joined(total.mask, x, windows))
            if windows and windows.cover(x.type.shape) and not self.cotangent.mask:
                return Cotangent(value)
            return Cotangent(value, self._was_read(x, windows))

    def _placed(self, start: Value | None, part: Value, x: Value, windows: Sliding | None) -> Value:
        """Return the start, or zeros, with a part added where it was read of x."""
        if windows:
            total = windows.placed(part, x.type.shape)
            return total if start is None else build.add(start, total)
        if start is None:
            start = build.full(x.type.shape, 0, part.type.dtype)
        return build.scatter_add(start, part, self.indices, self.axes)

    def _joined(self, outer: Mask | None, x: Value, windows: Sliding | None) -> Mask | None:
        """Return where the total is, and this; written into the mask of the total where it can."""
        if outer is None:
            return None
        own = self.cotangent.mask
        if own is not None and not distinct(self.indices):
            return either(outer, self._was_read(x, windows))
        return outer.widened(
            own,
            self.cotangent.value.type.shape,
            read=lambda mask: build.gather(mask, self.indices, self.axes),
            write=lambda mask, part: build.scatter_set(mask, part, self.indices, self.axes),
        )

    def _was_read(self, x: Value, windows: Sliding | None) -> Mask:
        """Return where an element of x was read for this cotangent."""

        def read(mask: Value) -> Value:
            with active().at(self.lines):  # it is made later; an index outside is shown there
                times = self._placed(None, build.cast(mask, DType.I64), x, windows)
                return build.lt(build.zeros_like(times), times)

        return (self.cotangent.mask or everywhere(self.cotangent.value)).moved(read)


def distinct(indices: Sequence[Value]) -> bool:
    """Whether no element is certainly indexed twice."""
    if sizes.at_least(1, indices[0].type.count):
        return True
    for index in indices:
        if index.op.name == "iota":
            return True
        if index.op.name == "constant":
            array = index.node.attributes["value"].array
            # a negative index may be another name of a positive one
            if array.min() >= 0 and np.unique(array).size == array.size:
                return True
    return False
