"""Arrays known while tracing as values of the graph: small ones as they are, regular ones by formula."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gradc.tracing.state import Trace
from gradc_ir import build
from gradc_ir.graph import Value
from gradc_ir.types import Type, dtype_of

# Below this many elements a constant costs less than the ops that would compute it.
_SMALL = 16
# Above this many bytes a constant is worth a line in the log.
_NOTABLE = 1024


def constant_value(array: npt.NDArray[Any], trace: Trace) -> Value:
    """Return an array as a value: a filled one, an arithmetic progression, or a constant."""
    if array.size <= _SMALL:
        return build.constant(array)
    value = _progression(array)
    if value is None:
        value = build.constant(array)
        if value.op.name == "constant" and array.nbytes > _NOTABLE:
            trace.note(
                f"an array {Type(dtype_of(array.dtype), array.shape)} became a constant of the graph"
            )
    return value


def _progression(array: npt.NDArray[Any]) -> Value | None:
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
    # adding 0.0 is exact and turns no zero's sign here: iota begins with +0.0
    return value if start == 0 and not np.signbit(start) else value + start.item()
