"""Reductions with NumPy's signatures: sum, mean, prod, max, min, any, all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradc.tracing.building.axes import axes_of, truth
from gradc.tracing.core.as_tracer import as_tracer
from gradc.tracing.core.promote import supported
from gradc.tracing.core.source import dtype_error, shape_error
from gradc.tracing.core.state import running
from gradc.tracing.core.tracer import Tracer, make, read
from gradc.tracing.registry.numpy_function import numpy_function
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.core.types import DType, Type


def _finish(x: Tracer, value: Value, axes: Sequence[int], keepdims: bool) -> Tracer:
    if keepdims:
        shape = tuple(1 if i in axes else size for i, size in enumerate(x.type.shape))
        value = build.reshape(value, shape)
    return make(running(), value, contiguous=x.contiguous)


def _accumulated(type: Type, dtype: Any) -> DType:
    """Return the dtype in which NumPy sums: integers and bools as int64, unless told otherwise."""
    if dtype is not None:
        return supported(dtype)
    return type.dtype if type.dtype.is_float else DType.I64


def sum(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tracer:
    """Record ``np.sum``."""
    x = as_tracer(a)
    axes = axes_of(axis, x.type.rank)
    value = build.cast(read(x), _accumulated(x.type, dtype))
    return _finish(x, build.reduce_sum(value, axes), axes, keepdims)


def prod(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tracer:
    """Record ``np.prod``."""
    x = as_tracer(a)
    axes = axes_of(axis, x.type.rank)
    value = build.cast(read(x), _accumulated(x.type, dtype))
    return _finish(x, build.reduce_prod(value, axes), axes, keepdims)


def mean(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tracer:
    """Record ``np.mean``: the sum divided by the count, in float64 for integers."""
    x = as_tracer(a)
    axes = axes_of(axis, x.type.rank)
    wanted = supported(dtype) if dtype is not None else x.type.dtype
    if not wanted.is_float:
        wanted = DType.F64
    value = build.cast(read(x), wanted)
    count = build.broadcast_to(
        build.count(value, axes, wanted), build.reduce_sum(value, axes).type.shape
    )
    return _finish(x, build.reduce_sum(value, axes) / count, axes, keepdims)


def _extreme(name: str, reduce: Callable[..., Value]) -> Callable[..., Tracer]:
    def record(a: Any, axis: Any = None, keepdims: bool = False) -> Tracer:
        x = as_tracer(a)
        axes = axes_of(axis, x.type.rank)
        if any(x.type.shape[i] == 0 for i in axes):
            raise shape_error(f"np.{name} of no elements has no value", found=f"{x.type}")
        return _finish(x, reduce(read(x), axes), axes, keepdims)

    record.__doc__ = f"Record ``np.{name}``."
    return record


max = _extreme("max", build.reduce_max)
min = _extreme("min", build.reduce_min)


def _truth(name: str, reduce: Callable[..., Value]) -> Callable[..., Tracer]:
    def record(a: Any, axis: Any = None, keepdims: bool = False) -> Tracer:
        x = as_tracer(a)
        axes = axes_of(axis, x.type.rank)
        return _finish(x, reduce(truth(read(x)), axes), axes, keepdims)

    record.__doc__ = f"Record ``np.{name}``."
    return record


any_ = _truth("any", build.reduce_max)
all_ = _truth("all", build.reduce_min)


@numpy_function("ptp", out=2)
def ptp(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Record ``np.ptp``: max minus min."""
    x = as_tracer(a)
    if x.type.dtype is DType.BOOL:
        raise dtype_error("np.ptp does not take bool")
    high, low = max(x, axis, keepdims), min(x, axis, keepdims)
    return make(running(), read(high) - read(low), contiguous=x.contiguous)


def var(
    a: Any, axis: Any = None, dtype: Any = None, ddof: float = 0, keepdims: bool = False
) -> Tracer:
    """Record ``np.var``: the mean squared distance from the mean, divided by count - ddof."""
    x = as_tracer(a)
    axes = axes_of(axis, x.type.rank)
    centre = mean(x, axis, dtype, True)
    value = build.cast(read(x), centre.type.dtype)
    distance = value - build.broadcast_to(read(centre), value.type.shape)
    total = build.reduce_sum(distance * distance, axes)
    count = build.count(value, axes, value.type.dtype)
    if ddof:
        count = build.maximum(count - float(ddof), 0)
    return _finish(x, total / build.broadcast_to(count, total.type.shape), axes, keepdims)
