"""Functions that choose elements: by conditions, by indices, by known masks; and write there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc.tracing.building import elementwise
from gradc.tracing.building.axes import along, axes_of, one_axis, reduced_shape
from gradc.tracing.building.by_name import array, is_traced, known, number, numpy, refuse
from gradc.tracing.core.as_tracer import lists_as_tracers
from gradc.tracing.core.promote import common_dtype_of
from gradc.tracing.core.source import dtype_error, shape_error, trace_error
from gradc.tracing.core.state import running
from gradc.tracing.core.table import AnyFunction
from gradc.tracing.core.tracer import Tracer, make, read, write
from gradc.tracing.indexing.picking import assigned_value
from gradc.tracing.numpy.shape import shaping
from gradc.tracing.registry.numpy_function import numpy_function
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.core.walk import answered


@numpy_function("where", masked="elementwise")
def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """Record ``np.where``; with one argument it is ``np.nonzero``."""
    if x is None and y is None:
        return numpy.nonzero(condition)
    if x is None or y is None:
        raise trace_error("np.where takes one argument or three")
    return elementwise.where(condition, x, y)


@numpy_function("clip", out=3, masked="elementwise")
def clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    """Record ``np.clip``; the derivative is 1 on the closed interval."""
    low = min if a_min is None else a_min
    high = max if a_max is None else a_max
    bounds = [bound for bound in (low, high) if bound is not None]
    operands = lists_as_tracers((a, *bounds))
    dtype = common_dtype_of(operands)
    trace = running()
    values, contiguous = elementwise.aligned("clip", operands, (dtype,) * len(operands), trace)
    value = values[0]
    if low is not None:
        value = _bounded(value, values[1], build.lt)
    if high is not None:
        value = _bounded(value, values[-1], build.gt)
    return make(trace, value, contiguous=contiguous)


def _bounded(x: Value, bound: Value, beyond: Callable[[Value, Value], Value]) -> Value:
    outside = beyond(x, bound)
    number = bound
    while number.op.name == "broadcast":
        number = number.operands[0]
    if bound.type.dtype.is_float and number.op.name != "constant":
        # a bound that is nan makes the result nan
        outside = build.logical_or(outside, build.ne(bound, bound))
    return build.select(outside, bound, x)


@numpy_function("select")
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """Record ``np.select``: for each element the first choice whose condition holds."""
    if len(condlist) != len(choicelist) or not len(condlist):
        raise shape_error("np.select needs as many choices as conditions, one at least")
    choices = [c if type(c) in (int, float) else array(c) for c in (*choicelist, default)]
    dtype = common_dtype_of(choices).numpy
    found = array(choices[-1]).astype(dtype)
    for condition, choice in zip(reversed(condlist), reversed(choices[:-1])):
        test = array(condition)
        if test.dtype != np.bool_:
            raise dtype_error("np.select: a condition is not boolean")
        found = numpy.where(test, array(choice).astype(dtype), found)
    return array(found)


@numpy_function("piecewise")
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """Record ``np.piecewise``: each function of all of x, chosen where its condition holds.

    NumPy calls a function with the selected elements only, so a function must be elementwise here.
    """
    points = array(x)
    conditions = _conditions(condlist, points)
    functions = list(funclist)
    if len(functions) not in (len(conditions), len(conditions) + 1):
        raise shape_error(
            f"np.piecewise: {len(functions)} functions for {len(conditions)} conditions",
        )
    extra = functions.pop() if len(functions) > len(conditions) else 0
    # the default first, then every condition in its order: the last that holds counts
    found = _applied(extra, points, args, kw)
    for condition, function in zip(conditions, functions):
        found = numpy.where(condition, _applied(function, points, args, kw), found)
    return shaping.copied(shaping.broadcast_to(array(found), points.shape))


def _conditions(condlist: Any, points: Any) -> list[Any]:
    """Return the conditions; as in NumPy a single one may come without a list."""
    single = not isinstance(condlist, list | tuple | np.ndarray | Tracer)
    if not single and points.ndim:
        single = not array(condlist[0]).ndim
    return [numpy.not_equal(condition, 0) for condition in ([condlist] if single else condlist)]


def _applied(function: Any, points: Any, args: tuple[Any, ...], kw: dict[str, Any]) -> Any:
    if not callable(function):
        return array(function).astype(points.dtype)
    result = array(function(points, *args, **kw))
    if result.known is None and points.known is None:
        _check_elementwise(read(result), read(points))
    return result.astype(points.dtype)


def _check_elementwise(result: Value, points: Value) -> None:
    """Raise TraceError when a result's element depends on other elements of the points."""

    def depends(value: Value, of_operands: list[bool]) -> bool:
        if any(of_operands) and not value.op.is_elementwise:
            raise refuse(
                "np.piecewise with a function that is not elementwise",
                "write np.where(condition, f(x), g(x)) with what each branch needs",
            )
        return any(of_operands)

    answered(result, {points: True}, lambda value: value.node.operands, depends)


@numpy_function("choose", out=2)
def choose(a: Any, choices: Any, mode: str = "raise") -> Any:
    """Record ``np.choose``: element by element from the arrays an index names."""
    index = array(a)
    parts = numpy.broadcast_arrays(index, *(array(choice) for choice in choices))
    places = _within(array(parts[0]), len(parts) - 1, mode)
    if mode == "raise":
        # unlike an index, an entry below zero is an error
        places = numpy.where(numpy.less(places, 0), len(parts) - 1, places)
    stacked = shaping.stack(parts[1:], 0)
    return take_along_axis(stacked, array(places)[None], 0)[0]


def _within(index: Any, size: Any, mode: str) -> Any:
    """Return indices as ``mode`` treats those that are out of bounds."""
    if mode == "raise":
        return index
    if mode == "wrap":
        return index % array(size)
    if mode == "clip":
        return numpy.clip(index, 0, array(size) - 1)
    raise shape_error(f"mode={mode!r} is none of raise, wrap and clip")


@numpy_function("take", out=3)
def take(a: Any, indices: Any, axis: Any = None, mode: str = "raise") -> Any:
    """Record ``np.take``."""
    x, axis = shaping.flat_without_axis(a, axis)
    index = array(indices)
    if index.known is not None and index.known.size == 0:
        index = array(index.known.astype(np.int64))
    found = x[along(axis, _within(index, x.shape[axis], mode))]
    return shaping.copied(found) if isinstance(found, Tracer) else found


def _places(x: Any, indices: Any, axis: Any) -> tuple[Any, ...]:
    """Return the index arrays that pick along one axis at every place of the others."""
    index = array(indices)
    if index.ndim != x.ndim:
        raise shape_error(
            "indices along an axis need as many axes as the array",
            found=f"array: {x.type}    indices: {index.type}",
        )  # fmt: skip
    return tuple(index if i == axis else places_along(x, i) for i in range(x.ndim))


def places_along(x: Any, axis: int) -> Any:
    """Return the indices along an axis, in a shape that broadcasts to that of x."""
    return array(numpy.arange(x.shape[axis])).reshape(one_axis(axis, x.ndim))


@numpy_function("take_along_axis")
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    """Record ``np.take_along_axis``."""
    x, axis = shaping.flat_without_axis(arr, axis)
    return x[_places(x, indices, axis)]


@numpy_function("put_along_axis", writes=True)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    """Record ``np.put_along_axis``."""
    x, axis = shaping.flat_without_axis(written(arr, "np.put_along_axis"), axis)
    x[_places(x, indices, axis)] = values


def written(a: Any, name: str) -> Any:
    """Return an array a function writes into; TraceError for one that is not of the trace."""
    if not isinstance(a, Tracer):
        raise trace_error(
            f"{name} writes into an array outside of the traced function",
            help="make the array inside, or pass it as an argument",
        )
    return a


@numpy_function("copyto", writes=True)
def copyto(dst: Any, src: Any, where: Any = True) -> None:
    """Record ``np.copyto``: write an array, or its elements where a mask holds."""
    target = written(dst, "np.copyto")
    part = array(src)
    # a Python integer fits every dtype of integers
    have = np.dtype(bool) if isinstance(src, int) else part.dtype
    if not np.can_cast(have, target.dtype, "same_kind"):
        raise dtype_error(f"np.copyto: {part.type} does not fit into {target.type}")
    value = assigned_value(part, target.type.shape, target)
    if where is not True:
        mask = read(shaping.broadcast_to(array(where), target.shape))
        value = build.select(mask, value, read(target))
    write(target, value)


@numpy_function("putmask", writes=True)
def putmask(a: Any, mask: Any, values: Any) -> None:
    """Record ``np.putmask``: values, repeated to the array's size, where a mask holds."""
    target = written(a, "np.putmask")
    part = array(values)
    if part.type.count != 1 and part.shape != target.shape:
        part = array(numpy.resize(part, target.shape))
    if part.type.count == 1:
        part = part.reshape(())
    test = numpy.not_equal(mask, 0)
    copyto(target, part.astype(target.dtype), test)


@numpy_function("place", writes=True)
def place(arr: Any, mask: Any, vals: Any) -> None:
    """Record ``np.place``: the first values where a known mask holds, or one value everywhere."""
    target = written(arr, "np.place")
    part = shaping.ravel(vals)
    if part.type.count == 1:
        putmask(target, mask, part)
        return
    chosen = known(mask, "np.place with several values").astype(bool)
    target[chosen] = numpy.resize(part, (int(chosen.sum()),))


@numpy_function("put", writes=True)
def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """Record ``np.put``: values, repeated as often as needed, at flat indices."""
    target = written(a, "np.put")
    index = shaping.ravel(ind)
    if array(v).type.count == 0:
        # there is nothing to repeat
        return
    size = target.size
    places = _within(index, size, mode)
    part = array(numpy.resize(v, (index.shape[0],)))
    if target.ndim < 2:
        shaping.ravel(target)[places] = part
        return
    shape = tuple(number(n, "np.put") for n in target.shape)
    if is_traced(places):
        raise refuse("np.put at traced indices of several axes", "write x[i, j] = v")
    target[np.unravel_index(array(places).known % int(np.prod(shape)), shape)] = part


@numpy_function("fill_diagonal", writes=True)
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """Record ``np.fill_diagonal``."""
    x = written(a, "np.fill_diagonal")
    if x.ndim < 2:
        raise shape_error("np.fill_diagonal needs a matrix")
    if len(set(x.type.shape)) == 1:
        count = x.shape[0]
        places = (numpy.arange(count),) * x.ndim
    else:
        if x.ndim > 2:
            raise shape_error("np.fill_diagonal: the sizes differ")
        rows, columns = (number(size, "np.fill_diagonal") for size in x.shape)
        end = rows * columns if wrap else min(rows, columns) * (columns + 1)
        flat = np.arange(0, min(end, rows * columns), columns + 1)
        places, count = np.unravel_index(flat, (rows, columns)), flat.size
    part = array(val)
    if part.type.count == 0:
        return
    x[places] = numpy.resize(part, (count,)) if part.type.count != 1 else part.reshape(())


def _extreme_place(name: str, reduce: str) -> AnyFunction:
    """Return what records ``np.argmax`` or ``np.argmin``: the first place, that of a nan if any."""

    def record(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
        given = array(a)
        x, along_axis = shaping.flat_without_axis(given, axis)
        best = getattr(numpy, reduce)(x, axis=along_axis, keepdims=True)
        found = numpy.equal(x, best) | numpy.not_equal(x, x)
        none = array(x.shape[along_axis])
        index = numpy.min(numpy.where(found, places_along(x, along_axis), none), axis=along_axis)
        if not keepdims:
            return index
        return array(index).reshape(reduced_shape(given.shape, axes_of(axis, given.ndim)))

    return record


numpy_function("argmax", out=2, value_only=True)(_extreme_place("argmax", "max"))
numpy_function("argmin", out=2, value_only=True)(_extreme_place("argmin", "min"))
