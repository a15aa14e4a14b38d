"""Reductions with NumPy's signatures: sum, prod, mean, max, min, any, all, var, std."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from gradc.tracing.building.axes import axes_of, reduced_shape, truth
from gradc.tracing.building.by_name import array, numpy
from gradc.tracing.building.floats import Reduce, reduced
from gradc.tracing.core.promote import supported
from gradc.tracing.core.source import dtype_error, shape_error
from gradc.tracing.core.state import running
from gradc.tracing.core.table import AnyFunction
from gradc.tracing.core.tracer import make, read
from gradc.tracing.numpy.shape import shaping
from gradc.tracing.registry.numpy_function import numpy_function
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.core.types import Axes, DType
from gradc_ir.graphs.rearrange import scalar_constant


def _leaves_out(where: Any) -> bool:
    return where is not None and where is not True


def _taken(a: Any, where: Any, unit: int) -> Any:
    """Return an array with ``unit`` in the places that ``where=`` leaves out."""
    x = array(a)
    return _or_else(x, where, x.dtype.type(unit)) if _leaves_out(where) else x


def _or_else(x: Any, where: Any, other: Any) -> Any:
    return array(numpy.where(shaping.broadcast_to(array(where), x.shape), x, other))


def _total(unit: int, reduce: Reduce, join: Callable[[Any, Any], Any]) -> AnyFunction:
    """Return what records np.sum or np.prod: integers and bools in int64, unless told otherwise."""

    def record(
        a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, initial: Any = None,
        where: Any = True,
    ) -> Any:  # fmt: skip
        x = _taken(a, where, unit)
        wanted = x.type.dtype if x.type.dtype.is_float else DType.I64
        wanted = wanted if dtype is None else supported(dtype)
        start = None if initial is None else array(initial).astype(wanted.numpy)
        if start is not None and counts_first(start, wanted):
            return reduced(
                x, axis, keepdims, lambda x, axes: begun(build.cast(x, wanted), axes, read(start))
            )
        total = reduced(x, axis, keepdims, lambda x, axes: reduce(build.cast(x, wanted), axes))
        return total if start is None else join(total, start)

    def begun(x: Value, axes: Axes, start: Value) -> Value:
        if not axes:
            return x * build.broadcast(start, x.type.shape, ())
        first, *rest = axes
        rows = reduce(x, tuple(rest)) if rest else x
        shape = (*rows.type.shape[:first], 1, *rows.type.shape[first + 1 :])
        starts = build.broadcast(start, shape, ())
        return reduce(build.concatenate([starts, rows], first), (first,))

    def counts_first(start: Any, wanted: DType) -> bool:
        """Whether NumPy begins with it, and it may keep the others from over- and underflow."""
        is_number = start.ndim == 0 and wanted.is_float
        return join is operator.mul and is_number and scalar_constant(read(start)) != unit

    return record


sum = numpy_function("sum", out=3, computes=True)(_total(0, build.reduce_sum, operator.add))
prod = numpy_function("prod", out=3, computes=True)(_total(1, build.reduce_prod, operator.mul))


def _truth(unit: int, reduce: Reduce) -> AnyFunction:
    def record(a: Any, axis: Any = None, keepdims: bool = False, where: Any = True) -> Any:
        x = _taken(a, where, unit)
        return reduced(x, axis, keepdims, lambda value, axes: reduce(truth(value), axes))

    return record


any_ = numpy_function("any", out=2, value_only=True)(_truth(0, build.reduce_max))
all_ = numpy_function("all", out=2, value_only=True)(_truth(1, build.reduce_min))


def _extreme(name: str, reduce: Reduce, better: str) -> AnyFunction:
    def record(
        a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
    ) -> Any:
        x = array(a)
        axes = axes_of(axis, x.ndim)
        none = any(x.type.shape[i] == 0 for i in axes)
        if initial is None:
            if _leaves_out(where):
                raise shape_error(
                    f"np.{name} with where= needs a value for no elements",
                    help="give initial=, such as -np.inf",
                )
            if none:
                raise shape_error(f"np.{name} of no elements has no value", found=f"{x.type}")
            return reduced(x, axis, keepdims, reduce)
        start = array(initial).astype(x.dtype)
        if none:
            rest = reduced_shape(x.shape, axes, keepdims)
            return numpy.full(rest, start, dtype=x.dtype)
        if _leaves_out(where):
            x = _or_else(x, where, start)
        return getattr(numpy, better)(reduced(x, axis, keepdims, reduce), start)

    return record


max = numpy_function("max", "amax", out=2)(_extreme("max", build.reduce_max, "maximum"))
min = numpy_function("min", "amin", out=2)(_extreme("min", build.reduce_min, "minimum"))


@numpy_function("ptp", out=2)
def ptp(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Record ``np.ptp``: max minus min."""
    x = array(a)
    if x.type.dtype is DType.BOOL:
        raise dtype_error("np.ptp does not take bool")
    high, low = max(x, axis, keepdims), min(x, axis, keepdims)
    return make(running(), read(high) - read(low), contiguous=x.contiguous)


def _floating(x: Any, dtype: Any) -> DType:
    """Return the dtype in which means are computed, float64 for integers."""
    wanted: DType = x.type.dtype if dtype is None else supported(dtype)
    return wanted if wanted.is_float else DType.F64


@numpy_function("mean", out=3, computes=True)
def mean(
    a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, where: Any = True
) -> Any:
    """Record ``np.mean``: the sum divided by the count."""
    x = array(a)
    wanted = _floating(x, dtype)
    if _leaves_out(where):
        total = sum(x, axis, wanted.numpy, keepdims, where=where)
        return total / _counted(x, where, axis, keepdims, wanted.numpy)

    def divided(value: Value, axes: Sequence[int]) -> Value:
        value = build.cast(value, wanted)
        total = build.reduce_sum(value, axes)
        return total / build.broadcast_to(build.count(value, axes, wanted), total.type.shape)

    return reduced(x, axis, keepdims, divided)


def _counted(x: Any, where: Any, axis: Any, keepdims: bool, dtype: Any) -> Any:
    """Return how many elements a mask takes, in a dtype."""
    mask = shaping.broadcast_to(array(where), x.shape)
    return array(numpy.sum(mask, axis=axis, keepdims=keepdims)).astype(dtype)


_mean = mean


@numpy_function("var", out=3, computes=True)
def var(
    a: Any, axis: Any = None, dtype: Any = None, ddof: Any = 0, keepdims: bool = False,
    where: Any = True, mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    """Record ``np.var``: the mean squared distance from the mean, divided by count - ddof."""
    x = array(a)
    wanted = _floating(x, dtype)
    ddof = ddof if correction is None else correction
    if _leaves_out(where) or mean is not None:
        centre = _mean(x, axis, wanted.numpy, True, where) if mean is None else mean
        distance = x.astype(wanted.numpy) - centre
        total = sum(distance * distance, axis, wanted.numpy, keepdims, where=where)
        count = _counted(x, where, axis, keepdims, wanted.numpy)
        return total / numpy.maximum(count - ddof, 0)
    centre = read(_mean(x, axis, dtype, True))

    def spread(value: Value, axes: Sequence[int]) -> Value:
        value = build.cast(value, wanted)
        distance = value - build.broadcast_to(centre, value.type.shape)
        total = build.reduce_sum(distance * distance, axes)
        count = build.count(value, axes, wanted)
        if ddof:
            count = build.maximum(count - float(ddof), 0)
        return total / build.broadcast_to(count, total.type.shape)

    return reduced(x, axis, keepdims, spread)


@numpy_function("std", out=3, computes=True)
def std(
    a: Any, axis: Any = None, dtype: Any = None, ddof: Any = 0, keepdims: bool = False,
    where: Any = True, mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    """Record ``np.std``; like that of a norm, its derivative where it is zero is zero."""
    return root(var(a, axis, dtype, ddof, keepdims, where, mean, correction))


def root(spread: Any) -> Any:
    """Return the square root, zero with slope zero at zero."""
    value = read(spread)
    root = build.select(build.eq(value, 0.0), value, build.sqrt(value))
    return make(running(), root, contiguous=spread.contiguous)
