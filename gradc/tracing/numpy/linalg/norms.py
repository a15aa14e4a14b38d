"""np.linalg.norm of vectors, and the Frobenius norm of matrices; its derivative at zero is zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.tracing.building.axes import axes_of
from gradc.tracing.core.as_tracer import as_tracer
from gradc.tracing.core.source import trace_error
from gradc.tracing.core.state import running
from gradc.tracing.core.tracer import Tracer, make, read
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.core.types import DType
from gradc_ir.errors import TraceError


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tracer:
    """Record ``np.linalg.norm``: of vectors ord None, 2, 1, inf and -inf, of matrices "fro".

    The 2-norm is ``sqrt(sum(x * x))`` as in NumPy. Where the sum is zero it is the sum itself,
    whose derivative there is zero.
    """
    array = as_tracer(x)
    rank = array.type.rank
    if ord is None and axis is None:
        axes = tuple(range(rank))
    elif axis is None and rank > 2:
        raise _unsupported(ord, rank)
    else:
        axes = axes_of(axis, rank)
    value = read(array)
    if not value.type.dtype.is_float:
        value = build.cast(value, DType.F64)
    result = _norm(value, ord, axes)
    if keepdims:
        shape = tuple(1 if i in axes else size for i, size in enumerate(value.type.shape))
        result = build.reshape(result, shape)
    return make(running(), result, contiguous=array.contiguous)


def _norm(x: Value, ord: Any, axes: tuple[int, ...]) -> Value:
    if ord is None or (ord == 2 and len(axes) == 1) or (ord == "fro" and len(axes) == 2):
        total = build.reduce_sum(x * x, axes)
        return build.select(build.eq(total, 0.0), total, build.sqrt(total))
    if len(axes) == 1 and ord == 1:
        return build.reduce_sum(build.abs(x), axes)
    if len(axes) == 1 and ord == np.inf:
        return build.reduce_max(build.abs(x), axes)
    if len(axes) == 1 and ord == -np.inf:
        return build.reduce_min(build.abs(x), axes)
    raise _unsupported(ord, len(axes))


def _unsupported(ord: Any, rank: int) -> TraceError:
    return trace_error(
        f"np.linalg.norm: ord={ord!r} over {rank} axes is not supported for traced arrays",
        help="supported: None, 2, 1, inf and -inf of vectors, None and 'fro' of matrices",
    )
