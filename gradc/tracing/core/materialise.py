"""Arrays known while tracing as values of the graph: constants, or formulas for regular ones."""

from __future__ import annotations

import numpy as np

from gradc.tracing.core import source
from gradc.tracing.core.state import Trace
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import Array, DType, Type, dtype_of

# Below this many elements a constant costs less than the ops that would compute it.
_SMALL = 16


def constant_value(array: Array) -> Value:
    """Return an array as a value: a filled one, an arithmetic progression, or a constant."""
    if array.size <= _SMALL:
        return build.constant(array)
    return _progression(array) or _identity(array) or build.constant(array)


def note_unnamed(array: Array, trace: Trace) -> None:
    """Log an array that was reached by no name: it cannot be read again at every call."""
    type_ = Type(dtype_of(array.dtype), array.shape)
    trace.note(
        f"{source.location()}: an array {type_} reached by no name became a constant: "
        "later changes to it are not seen"
    )


def _progression(array: Array) -> Value | None:
    """Return ``start + step * iota`` when that has the array's bits, as np.arange makes them."""
    if array.ndim != 1 or array.dtype.kind not in "if":
        return None
    start, step = array[0], array[1] - array[0]
    if step == 0:
        return None
    with np.errstate(all="ignore"):
        again = start + np.arange(array.size).astype(array.dtype) * step
    if again.dtype != array.dtype or again.tobytes() != np.ascontiguousarray(array).tobytes():
        return None
    dtype = dtype_of(array.dtype)
    value = build.iota(dtype, array.size)
    if step != 1:
        value = value * step.item()
    # 0 * step is -0.0 for a negative step, which adding 0.0 makes +0.0
    plain = start == 0 and not np.signbit(start) and (step > 0 or dtype.is_integer)
    return value if plain else value + start.item()


def _identity(array: Array) -> Value | None:
    """Return an identity matrix by comparing row and column numbers."""
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        return None
    if array.dtype.kind == "f" and np.signbit(array).any():
        return None
    if not np.array_equal(array, np.eye(array.shape[0])):
        return None
    return identity(array.shape[0], dtype_of(array.dtype))


def identity(size: Size, dtype: DType) -> Value:
    """Return the identity matrix of a size that may be symbolic."""
    numbers = build.iota(DType.I64, size)
    rows = build.broadcast(numbers, (size, size), (0,))
    columns = build.broadcast(numbers, (size, size), (1,))
    return build.cast(build.eq(rows, columns), dtype)
