"""np.add.at: adding at indices, repeated ones added up."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.tracing import indexing, source
from gradc.tracing.state import running
from gradc.tracing.tracer import Tracer, make_view, read, refuse_write, write
from gradc_ir import build
from gradc_ir.errors import TraceError


def add_at(a: Any, indices: Any, b: Any) -> None:
    """Record ``np.add.at(a, indices, b)``."""
    if not isinstance(a, Tracer):
        raise TraceError(
            "np.add.at writes into an array outside of the traced function",
            at=source.location(),
            help="make the array inside, or pass it as an argument",
        )
    running()
    refuse_write(a)
    parsed = indexing.parse(a, indices)
    whole = a if parsed.window is None else make_view(a, parsed.window, parsed.window.shape)
    if not parsed.picks:
        view = whole
        part = indexing.assigned_value(b, view.type.shape, a)
        write(view, read(view) + part)
        return
    picked, axes = indexing.index_values(whole, parsed.picks)
    rest = tuple(size for axis, size in enumerate(whole.type.shape) if axis not in axes)
    place = parsed.place or 0
    index_shape = picked[0].type.shape
    shape = (*rest[:place], *index_shape, *rest[place:])
    part = indexing.assigned_value(b, shape, a)
    order = indexing.placement(place, len(index_shape), len(shape))
    part = build.transpose(part, tuple(int(axis) for axis in np.argsort(order)))
    write(whole, build.scatter_add(read(whole), part, picked, axes))
