"""np.add.at: adding at indices, repeated ones added up."""

from __future__ import annotations

from typing import Any

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
    if parsed.picks:
        indexing.scatter(build.scatter_add, a, parsed, b)
        return
    view = a if parsed.window is None else make_view(a, parsed.window, parsed.window.shape)
    write(view, read(view) + indexing.assigned_value(b, view.type.shape, a))
