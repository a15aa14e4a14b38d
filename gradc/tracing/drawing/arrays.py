"""Arrays that were drawn, as traced code sees them: known, or read at every call when large."""

from __future__ import annotations

from typing import Any

from gradc.tracing.captured.captures import Capture
from gradc.tracing.core.state import running
from gradc.tracing.core.tracer import make
from gradc.tracing.registry.dispatch import wrap_known
from gradc_ir.core.types import _FROM_NUMPY as _SUPPORTED
from gradc_ir.core.types import Array, Type, dtype_of

# More floats than this are not written into machine code: that takes some 0.2 s a megabyte.
_MOST_CONSTANTS = 4096


def drawn_array(array: Array) -> Any:
    """Return an array that was drawn; whole numbers, which may be indices, stay known."""
    is_large = array.size > _MOST_CONSTANTS and array.dtype.kind == "f"
    if not is_large or array.dtype not in _SUPPORTED:
        return wrap_known(array, [])
    trace = running()
    root = trace.root
    root.keep_not("it draws many random numbers")
    type_ = Type(dtype_of(array.dtype), array.shape)
    value = root.hidden_input(Capture("drawn", type_, lambda: array))
    return make(trace, trace.lift(value, root))
