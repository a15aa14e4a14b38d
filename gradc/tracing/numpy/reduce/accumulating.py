"""Running sums, products and extremes along an axis.

All go from the first element to the last, as NumPy's do, sums and products to the bit. A running
extreme is an element, the first of equal ones, and its derivative goes to that: a loop finds where
it is.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc.tracing.building.axes import position, with_size
from gradc.tracing.building.by_name import array, numpy
from gradc.tracing.core.promote import supported
from gradc.tracing.core.state import Trace, running
from gradc.tracing.core.table import AnyFunction
from gradc.tracing.core.tracer import make, read
from gradc.tracing.numpy.reduce.ignoring_nan import without_nan
from gradc.tracing.numpy.select import choosing
from gradc.tracing.numpy.shape import shaping
from gradc.tracing.registry.numpy_function import numpy_function
from gradc_ir import build, build_control
from gradc_ir.core.types import Type
from gradc_ir.errors import ShapeError


def accumulate(name: str, a: Any, axis: Any, dtype: Any = None) -> Any:
    """Return the running results of a binary function along an axis; None flattens."""
    x, axis = shaping.flat_without_axis(a, axis)
    if dtype is not None:
        x = x.astype(supported(dtype).numpy)
    elif name in ("add", "multiply") and x.dtype.kind in "bi":
        x = x.astype("int64")
    if name == "add" and x.dtype.kind != "b":
        return make(running(), build.cumsum(read(x), axis))
    if name == "multiply" and x.dtype.kind != "b":
        return make(running(), build.cumprod(read(x), axis))
    if name not in _RECORDS or x.dtype.kind != "f":
        return _in_steps(name, x, axis)
    return choosing.take_along_axis(x, _places_of_best(name, x, axis), axis)


def _in_steps(name: str, x: Any, axis: int) -> Any:
    """Return running results that are made of each other, from the first element to the last."""
    rows = shaping.moveaxis(x, axis, 0)
    join = getattr(numpy, name)
    if not isinstance(x.shape[axis], int) or x.shape[axis] > _FEW:
        first, others = array(rows[0]), rows[1:]
        (made,) = _rows_of_loop(lambda now, row: (join(now, row),), [first], [others])
        return shaping.copied(_joined(first, made, axis), "C")
    found = list(itertools.accumulate(rows, join))
    return shaping.copied(shaping.stack(found, axis), "C") if found else x


def _joined(first: Any, others: Any, axis: int) -> Any:
    whole = shaping.concatenate([numpy.expand_dims(first, 0), others], 0)
    return shaping.moveaxis(whole, 0, axis)


def _rows_of_loop(step: AnyFunction, carries: Sequence[Any], rows: Sequence[Any]) -> list[Any]:
    """Return what a step makes of carries and a row, which is handed on, too, for all rows."""
    outer = running()
    values = [read(array(one)) for one in (*carries, *rows)]
    types = [*(x.type for x in values[: len(carries)])]
    types += [Type(x.type.dtype, x.type.shape[1:]) for x in values[len(carries) :]]
    with Trace(outer, outer.lens, "a running result") as inner:
        given = [make(inner, inner.param(each)) for each in types]
        made = [read(array(one)) for one in step(*given)]
    names = [f"p{i}" for i in range(len(types))]
    body = inner.builder.function("running", inner.params, [*made, *made], names)
    length = values[-1].type.shape[0]
    inputs = values[: len(carries)], values[len(carries) :]
    found = build_control.scan(body, [], *inputs, length=length)
    return [make(running(), one) for one in found[len(carries) :]]


def _not_below(x: Any, best: Any) -> Any:
    return ~numpy.less_equal(x, best) & _is_number(best)


def _not_above(x: Any, best: Any) -> Any:
    return ~numpy.greater_equal(x, best) & _is_number(best)


def _is_number(x: Any) -> Any:
    return numpy.equal(x, x)


def _first_number(x: Any, best: Any) -> Any:
    return _is_number(x) & ~_is_number(best)


# So few steps are written out.
_FEW = 4
# than what every first element is better, or as good
_WORST = {"maximum": -np.inf, "minimum": np.inf, "fmax": np.nan, "fmin": np.nan}
# whether an element is better than the best before it; a nan is the best of all, or of none
_RECORDS: dict[str, Callable[[Any, Any], Any]] = {
    "maximum": _not_below,
    "minimum": _not_above,
    "fmax": lambda x, best: numpy.greater(x, best) | _first_number(x, best),
    "fmin": lambda x, best: numpy.less(x, best) | _first_number(x, best),
}


def _places_of_best(name: str, x: Any, axis: int) -> Any:
    """Return for each element the place of the best until there: ``new ? i : place[i-1]``."""
    rows = shaping.moveaxis(x, axis, 0)
    is_new = _RECORDS[name]

    def step(best: Any, place: Any, row: Any, at: Any) -> Any:
        new = is_new(row, best)
        return numpy.where(new, row, best), numpy.where(new, at, place)

    worst = numpy.full(rows.shape[1:], _WORST[name], dtype=x.dtype)
    start = numpy.zeros(rows.shape[1:], dtype="int64")
    places = numpy.arange(rows.shape[0])
    _, found = _rows_of_loop(step, [worst, start], [rows, places])
    return shaping.moveaxis(found, 0, axis)


@numpy_function("cumsum", out=3)
def cumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    """Record ``np.cumsum``."""
    return accumulate("add", a, axis, dtype)


@numpy_function("cumprod", out=3)
def cumprod(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    """Record ``np.cumprod``."""
    return accumulate("multiply", a, axis, dtype)


@numpy_function("nancumsum", out=3)
def nancumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    """Record ``np.nancumsum``."""
    return cumsum(without_nan(a, 0)[0], axis, dtype)


@numpy_function("nancumprod", out=3)
def nancumprod(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    """Record ``np.nancumprod``."""
    return cumprod(without_nan(a, 1)[0], axis, dtype)


def _cumulative(run: AnyFunction, unit: int) -> AnyFunction:
    def record(x: Any, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Any:
        given = array(x)
        if axis is None and given.ndim > 1:
            raise ShapeError("a running sum of several axes needs axis=")
        axis = position(0 if axis is None else axis, given.ndim)
        found = array(run(given, axis, dtype))
        if not include_initial:
            return found
        shape = with_size(found.shape, axis, 1)
        return shaping.concatenate([numpy.full(shape, unit, dtype=found.dtype), found], axis)

    return record


numpy_function("cumulative_sum")(_cumulative(cumsum, 0))
numpy_function("cumulative_prod")(_cumulative(cumprod, 1))
