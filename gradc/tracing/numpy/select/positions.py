"""Where a traced mask holds: np.nonzero and its like, whose results only a selection can be."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.tracing.building.axes import along, truth
from gradc.tracing.building.by_name import array, numpy
from gradc.tracing.building.decided import known_mask
from gradc.tracing.core.selection import Selection
from gradc.tracing.core.source import trace_error
from gradc.tracing.core.state import running
from gradc.tracing.core.tracer import make, make_known, read
from gradc.tracing.numpy.shape import shaping
from gradc.tracing.registry.numpy_function import numpy_function
from gradc_ir import build


@numpy_function("nonzero", value_only=True)
def nonzero(a: Any) -> tuple[Any, ...]:
    """Record ``np.nonzero``: for each axis the indices of the elements that are not zero."""
    x = array(a)
    if not x.ndim:
        raise trace_error("np.nonzero of a number", help="write np.atleast_1d(x) for it")
    mask = make(running(), truth(read(x)))
    known = known_mask(mask)
    if known is not None:
        return tuple(make_known(places) for places in np.nonzero(known))
    found = []
    for axis in range(x.ndim):
        part = Selection(make(running(), build.index_along(x.type.shape, axis)), mask, 0)
        part.position = axis
        found.append(part)
    return tuple(found)


@numpy_function("flatnonzero", value_only=True)
def flatnonzero(a: Any) -> Any:
    """Record ``np.flatnonzero``: the indices into the flattened array."""
    return nonzero(shaping.ravel(a))[0]


@numpy_function("argwhere", value_only=True)
def argwhere(a: Any) -> Any:
    """Record ``np.argwhere``: the indices of each element that is not zero, in a row."""
    parts = nonzero(a)
    if not isinstance(parts[0], Selection):
        return shaping.stack(parts, -1)
    return parts[0].derived(shaping.stack([part.full for part in parts], -1))


@numpy_function("compress", out=3)
def compress(condition: Any, a: Any, axis: Any = None) -> Any:
    """Record ``np.compress``: the slices along an axis where a condition holds."""
    x, axis = shaping.flat_without_axis(a, axis)
    mask = numpy.not_equal(condition, 0)
    size = x.shape[axis]
    if array(mask).known is not None and array(mask).shape != (size,):
        # a shorter condition leaves the rest out
        return x[along(axis, array(mask).known.nonzero()[0])]
    return x[along(axis, mask)]


@numpy_function("extract")
def extract(condition: Any, arr: Any) -> Any:
    """Record ``np.extract``: the elements where a condition holds, flattened."""
    return compress(shaping.ravel(condition), arr)
