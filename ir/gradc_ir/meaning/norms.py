"""Roots of sums of squares: rows whose sum leaves the range are scaled, and summed again."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.types import Array, Axes
from gradc_ir.meaning.reduction import reduce_in_order


class Scales(NamedTuple):
    """How far a sum of squares may go, and the powers of two that bring its terms back.

    Below ``least`` squares may be lost that count. A scaled sum is far from both ends of the range
    whatever the elements are, as long as there are less than 2**40 of them.
    """

    least: float
    up: float
    down: float


# by the bytes of a dtype
SCALES = {
    8: Scales(2.0**-900, 2.0**600, 2.0**-600),
    4: Scales(2.0**-76, 2.0**90, 2.0**-90),
}


def norm(x: Array, *, axes: Axes) -> Array:
    """Return the root of the sum of squares over axes."""
    least, up, down = (x.dtype.type(each) for each in SCALES[x.dtype.itemsize])
    with np.errstate(all="ignore"):
        total = _sum(x * x, axes)
        tiny, huge = total < least, total == np.inf
        scale = np.where(tiny, up, down)
        scaled = x * np.expand_dims(scale, axes)
        again = np.sqrt(_sum(scaled * scaled, axes)) * np.where(tiny, down, up)
        return np.asarray(np.where(tiny | huge, again, np.sqrt(total)))


def _sum(x: Array, axes: Axes) -> Any:
    return reduce_in_order(x, axes, np.add, -0.0, 0)
