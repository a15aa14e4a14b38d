"""Functions that make arrays, for sizes and numbers that are not known while tracing."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.tracing.building.needed import need_number
from gradc.tracing.core import source
from gradc.tracing.core.as_tracer import as_tracer, cast, stacked
from gradc.tracing.core.materialise import identity
from gradc.tracing.core.promote import common_dtype_of, supported
from gradc.tracing.core.signals import NeedsConcreteSize
from gradc.tracing.core.source import shape_error, trace_error
from gradc.tracing.core.state import running
from gradc.tracing.core.symbolic_size import as_integer, as_size, is_integer, leaves_below
from gradc.tracing.core.tracer import Tracer, make, make_known, make_view, read
from gradc.tracing.core.views import Reshaped
from gradc.tracing.numpy.shape.shaping import broadcast_to, copied, new_shape, widened
from gradc.tracing.registry.numpy_function import numpy_function
from gradc_ir import build
from gradc_ir.core import sizes
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType


def _filled(shape: tuple[Size, ...], number: Any, dtype: DType) -> Tracer:
    if all(isinstance(size, int) for size in shape):
        return make_known(np.full(shape, number, dtype.numpy))
    return make(running(), build.full(shape, number, dtype))


def _dtype_or(dtype: Any, default: DType) -> DType:
    return default if dtype is None else supported(dtype)


@numpy_function("zeros", value_only=True)
def zeros(shape: Any, dtype: Any = None) -> Tracer:
    """Record ``np.zeros`` of a symbolic shape."""
    return _filled(new_shape(shape), 0, _dtype_or(dtype, DType.F64))


@numpy_function("ones", value_only=True)
def ones(shape: Any, dtype: Any = None) -> Tracer:
    """Record ``np.ones`` of a symbolic shape."""
    return _filled(new_shape(shape), 1, _dtype_or(dtype, DType.F64))


@numpy_function("empty", value_only=True, known=np.zeros)
def empty(shape: Any, dtype: Any = None) -> Tracer:
    """Record ``np.empty``: zeros, since what is in memory would not be the same at every call."""
    return zeros(shape, dtype)


@numpy_function("full")
def full(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    """Record ``np.full``."""
    wanted = new_shape(shape)
    part = as_tracer(fill_value)
    if dtype is not None:
        part = cast(part, dtype)
    return copied(broadcast_to(part, tuple(map(as_integer, wanted))), "C")


def _like(number: int) -> Any:
    def record(a: Any, dtype: Any = None, shape: Any = None) -> Tracer:
        x = as_tracer(a)
        wanted = x.type.shape if shape is None else new_shape(shape)
        return _filled(wanted, number, _dtype_or(dtype, x.type.dtype))

    return record


numpy_function("zeros_like", value_only=True, masked="elementwise")(_like(0))
numpy_function("empty_like", value_only=True, masked="elementwise", known=np.zeros_like)(_like(0))
numpy_function("ones_like", value_only=True, masked="elementwise")(_like(1))


@numpy_function("full_like", masked="elementwise")
def full_like(a: Any, fill_value: Any, dtype: Any = None, shape: Any = None) -> Any:
    """Record ``np.full_like``."""
    x = as_tracer(a)
    wanted = tuple(map(as_integer, x.type.shape)) if shape is None else shape
    return full(wanted, fill_value, _dtype_or(dtype, x.type.dtype).numpy)


@numpy_function("arange", value_only=True)
def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Tracer:
    """Record ``np.arange`` with symbolic integers."""
    if stop is None:
        start, stop = 0, start
    ends = []
    for end in (start, stop, step):
        known = end.known if isinstance(end, Tracer) else end
        number = known.item() if isinstance(known, np.ndarray) else known
        if not is_integer(number):
            if isinstance(end, Tracer):
                need_number(end, "np.arange")
            raise trace_error(
                "np.arange of a traced value: its length would not be known",
                help="use np.arange(length) * step + start with a known length",
            )
        ends.append(as_size(number))
    first, last, stride = ends
    if not isinstance(stride, int) or stride == 0:
        raise trace_error("np.arange needs a known step other than 0")
    extent = last - first if stride > 0 else first - last
    span = abs(stride)
    count = sizes.maximum(sizes.floor_quotient(extent + (span - 1), span), 0)
    wanted = _dtype_or(dtype, DType.I64)
    value = build.iota(wanted, count)
    if stride != 1:
        value = value * stride
    if first != 0:
        value = value + build.broadcast_to(build.size_value(first, wanted), (count,))
    return make(running(), value)


def linspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: Any = None
) -> Tracer:
    """Record ``np.linspace`` between numbers, computed like it as arange * step + start."""
    count = as_size(num)
    intervals = count - 1 if endpoint else count
    if not (isinstance(count, int) or leaves_below(intervals, 1)):
        raise NeedsConcreteSize(count, "np.linspace", source.location())
    count = sizes.maximum(count, 0)  # as slices and np.arange have it
    wanted = common_dtype_of([start, stop], float)
    a, b = (build.cast(read(end), wanted) for end in (start, stop))
    value = build.iota(wanted, count)
    if not isinstance(intervals, int) or intervals > 0:
        step = (b - a) / build.size_value(intervals, wanted)
        value = value * build.broadcast_to(step, (count,))
    value = value + build.broadcast_to(a, (count,))
    if endpoint and not (isinstance(count, int) and count <= 1):
        value = build.set_slice(value, build.reshape(b, (1,)), (count - 1,), (1,))
    return cast(make(running(), value), dtype or wanted.numpy)


@numpy_function("eye", value_only=True)
def eye(N: Any, M: Any = None, k: int = 0, dtype: Any = None) -> Tracer:
    """Record ``np.eye`` of a symbolic size."""
    rows, columns = as_size(N), as_size(N if M is None else M)
    wanted = _dtype_or(dtype, DType.F64)
    if rows == columns and k == 0:
        return make(running(), identity(rows, wanted))
    shape = (rows, columns)
    down, across = build.index_along(shape, 0), build.index_along(shape, 1)
    return make(running(), build.cast(build.eq(down + k, across), wanted))


@numpy_function("identity", value_only=True)
def identity_matrix(n: Any, dtype: Any = None) -> Tracer:
    """Record ``np.identity`` of a symbolic size."""
    return eye(n, dtype=dtype)


@numpy_function("array")
def array(object: Any, dtype: Any = None, copy: bool = True, ndmin: int = 0) -> Any:
    """Record ``np.array``: nested lists of traced numbers and arrays are stacked."""
    wanted = None if dtype is None else supported(dtype)
    if isinstance(object, list | tuple):
        x = stacked(object, wanted)
    else:
        x = as_tracer(object)
        if wanted is not None and x.type.dtype is not wanted:
            x = cast(x, wanted.numpy)
        elif copy or not isinstance(object, Tracer):
            x = copied(x)
    if x.scalar:
        # np.array makes a 0-d array of a number
        x = make(running(), read(x))
        x.scalar = False
    return widened(x, ndmin)


@numpy_function("asarray", "asanyarray", view=True)
def asarray(a: Any, dtype: Any = None, order: Any = None, *, copy: Any = None) -> Any:
    """Record ``np.asarray``: a tracer is returned as it is, lists are stacked."""
    if not isinstance(a, Tracer) or a.scalar:
        return array(a, dtype)
    fits = dtype is None or supported(dtype) is a.type.dtype
    if order == "F" and fits and copy is None:
        return by_columns(a)
    if order == "F" or (order == "C" and not a.contiguous):
        fits = False
    if copy is False and not fits:
        raise shape_error("np.asarray with copy=False would have to copy")
    if fits and not copy:
        return a
    fresh = copied(a) if dtype is None else cast(a, dtype)
    fresh.contiguous = order == "C" or (order != "F" and fresh.contiguous)
    return fresh


def by_columns(x: Tracer) -> Any:
    """Return an array laid out by columns: the array itself, or a copy, or what may be either."""
    shape = x.type.shape
    if len(shape) < 2 and x.contiguous:
        return x
    if x.contiguous and all(isinstance(size, int) and size > 1 for size in shape):
        fresh = copied(x)
        fresh.contiguous = False
        return fresh
    return make_view(x, Reshaped(shape, certain=False), shape)


@numpy_function("astype", masked="elementwise")
def astype(a: Any, dtype: Any, copy: bool = True) -> Tracer:
    """Record ``x.astype(dtype)``: a copy, or with ``copy=False`` the array that has the dtype."""
    return cast(a, dtype, copy)
