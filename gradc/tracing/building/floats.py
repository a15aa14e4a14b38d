"""Recording of the special functions: what :mod:`gradc.special` does for traced arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradc.tracing.building.axes import axes_of, reduced_shape
from gradc.tracing.building.elementwise import aligned
from gradc.tracing.core.as_tracer import as_tracer, lists_as_tracers
from gradc.tracing.core.promote import common_dtype, kind
from gradc.tracing.core.state import running
from gradc.tracing.core.tracer import Tracer, make, read
from gradc_ir import build
from gradc_ir.core.types import DType


def record_floats(op: str, operands: Sequence[Any]) -> Tracer:
    """Record an elementwise op of floats; integers are taken as float64."""
    trace = running()
    arrays = lists_as_tracers(operands)
    dtype = common_dtype([kind(x) for x in arrays])
    dtype = dtype if dtype.is_float else DType.F64
    values, contiguous = aligned(op, arrays, (dtype,) * len(arrays), trace)
    return make(trace, build.apply(op, *values), contiguous=contiguous)


def record_logsumexp(x: Any, axis: Any, keepdims: bool) -> Tracer:
    """Record logsumexp over axes."""
    array = as_float(x)
    axes = axes_of(axis, array.type.rank)
    value = build.logsumexp(read(array), axes)
    if keepdims:
        value = build.reshape(value, reduced_shape(array.type.shape, axes))
    return make(running(), value, contiguous=array.contiguous)


def as_float(x: Any) -> Tracer:
    """Return a tracer of floats; integers are taken as float64."""
    trace = running()
    array = as_tracer(x)
    if array.type.dtype.is_float:
        return array
    return make(trace, build.cast(read(array), DType.F64), contiguous=array.contiguous)
