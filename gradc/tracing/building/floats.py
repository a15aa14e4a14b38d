"""Ops of floats and along axes: what the special functions and the reductions are recorded as."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from gradc.tracing.building.axes import axes_of, reduced_shape
from gradc.tracing.building.elementwise import aligned
from gradc.tracing.core.as_tracer import as_tracer, cast, lists_as_tracers
from gradc.tracing.core.promote import common_dtype_of
from gradc.tracing.core.state import running
from gradc.tracing.core.tracer import Tracer, make, read
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.core.types import DType

Reduce: TypeAlias = Callable[[Value, tuple[int, ...]], Value]


def record_floats(op: str, operands: Sequence[Any]) -> Tracer:
    """Record an elementwise op of floats; integers are taken as float64."""
    trace = running()
    arrays = lists_as_tracers(operands)
    dtype = common_dtype_of(arrays)
    dtype = dtype if dtype.is_float else DType.F64
    values, contiguous = aligned(op, arrays, (dtype,) * len(arrays), trace)
    return make(trace, build.apply(op, *values), contiguous=contiguous)


def record_logsumexp(x: Any, axis: Any, keepdims: bool) -> Any:
    """Record logsumexp over axes."""
    return reduced(as_float(x), axis, keepdims, build.logsumexp)


def reduced(x: Tracer, axis: Any, keepdims: bool, reduce: Reduce) -> Any:
    """Return what an op makes of an array along axes."""
    axes = axes_of(axis, x.type.rank)
    value = reduce(read(x), axes)
    if keepdims:
        value = build.reshape(value, reduced_shape(x.type.shape, axes))
    return make(running(), value, contiguous=x.contiguous)


def as_float(x: Any) -> Any:
    """Return a tracer of floats; integers are taken as float64."""
    array = as_tracer(x)
    return array if array.type.dtype.is_float else cast(array, DType.F64.numpy)
