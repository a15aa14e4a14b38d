"""Methods of binary ufuncs: reduce, accumulate, reduceat and outer.

Sums, products and extremes are functions too; the others are one call after the other, for sizes
that are known.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from typing import Any

import numpy as np

from gradc.tracing.building.axes import along, axes_of, position, reduced_shape
from gradc.tracing.building.by_name import array, known, number, numpy
from gradc.tracing.building.floats import record_logsumexp
from gradc.tracing.core.promote import promoted, resolve
from gradc.tracing.core.source import shape_error, trace_error
from gradc.tracing.core.table import AnyFunction, call
from gradc.tracing.indexing.picking import write_out
from gradc.tracing.numpy.math.ufuncs import RULES
from gradc.tracing.numpy.reduce import reductions
from gradc.tracing.numpy.reduce.accumulating import accumulate
from gradc.tracing.numpy.shape import shaping
from gradc.tracing.registry.numpy_function import numpy_function

# Where the order of calls does not matter, so that pairs are joined, and pairs of pairs.
ASSOCIATIVE = (
    "fmax", "fmin", "hypot", "logaddexp2", "bitwise_and", "bitwise_or", "bitwise_xor",
    "logical_xor",
)  # fmt: skip
IN_ORDER = (
    "subtract", "divide", "true_divide", "floor_divide", "remainder", "mod", "fmod", "power",
    "float_power", "arctan2", "copysign",
)  # fmt: skip
MOST_CALLS = 512


def _joined(name: str, rows: list[Any]) -> Any:
    function = getattr(numpy, name)
    if name in IN_ORDER:
        return functools.reduce(function, rows)
    while len(rows) > 1:
        pairs = [function(*pair) for pair in zip(rows[::2], rows[1::2])]
        rows = pairs + rows[2 * len(pairs) :]
    return rows[0]


def _rows(name: str, method: str, x: Any) -> list[Any]:
    """Return the slices along the first axis in the dtype of the ufunc's results."""
    size = number(x.shape[0], f"np.{name}.{method}")
    if size > MOST_CALLS:
        raise trace_error(
            f"np.{name}.{method} of {size} elements would be more than {MOST_CALLS} calls",
            help="write it with np.sum, np.prod, np.max or their running forms",
        )
    if not size:
        raise shape_error(f"np.{name}.{method} of no elements")
    dtype = promoted([x, x], functools.partial(resolve, getattr(np, name)))[1].numpy
    return [array(x[i]).astype(dtype) for i in range(size)]


def _reducer(name: str) -> AnyFunction:
    """Return what records ``np.<ufunc>.reduce``, along axis 0 by default."""

    def record(array_: Any, axis: Any = 0, keepdims: bool = False) -> Any:
        x = array(array_)
        axes = axes_of(axis, x.ndim)
        if name in IN_ORDER and len(axes) > 1:
            raise shape_error(f"np.{name}.reduce takes one axis")
        rest = tuple(i for i in range(x.ndim) if i not in axes)
        ordered = shaping.transpose(x, (*axes, *rest))
        kept = tuple(x.shape[i] for i in rest)
        found = _joined(name, _rows(name, "reduce", ordered.reshape((-1, *kept))))
        if not keepdims:
            return found
        return array(found).reshape(reduced_shape(x.shape, axes))

    return record


def _accumulator(name: str) -> AnyFunction:
    """Return what records ``np.<ufunc>.accumulate``, along axis 0 by default."""

    def record_in_order(array_: Any, axis: int = 0) -> Any:
        x = array(array_)
        axis = position(axis, x.ndim)
        rows = _rows(name, "accumulate", shaping.moveaxis(x, axis, 0))
        found = list(itertools.accumulate(rows, getattr(numpy, name)))
        return shaping.copied(shaping.stack(found, axis), "C")

    def record(array: Any, axis: Any = 0, dtype: Any = None) -> Any:
        return accumulate(name, array, axis, dtype)

    return record_in_order if name in IN_ORDER else record


def _reducer_at(name: str) -> AnyFunction:
    """Return what records ``np.<ufunc>.reduceat`` for indices that are known."""

    def record(array_: Any, indices: Any, axis: int = 0) -> Any:
        x = array(array_)
        axis = position(axis, x.ndim)
        starts = known(indices, f"np.{name}.reduceat").tolist()
        size = number(x.shape[axis], f"np.{name}.reduceat")
        if not all(0 <= start < size for start in starts):
            raise shape_error(
                f"np.{name}.reduceat: an index is out of bounds for a size of {size}",
            )
        reduce = getattr(getattr(numpy, name), "reduce")  # noqa: B009
        parts = []
        for start, end in zip(starts, [*starts[1:], size]):
            # an index that is not below the next names one element
            window = slice(start, max(end, start + 1))
            parts.append(reduce(x[along(axis, window)], axis=axis))
        return shaping.stack(parts, axis)

    return record


def _with_op(function: AnyFunction) -> AnyFunction:
    """Return what records the method ``reduce`` that is a function along axis 0 by default."""
    options = {"initial", "dtype"} & {*inspect.signature(function).parameters}

    def record(array: Any, axis: Any = 0, keepdims: bool = False, where: Any = True) -> Any:
        return function(array, axis, keepdims=keepdims, where=where)

    def record_with_initial(
        array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False,
        initial: Any = None, where: Any = True,
    ) -> Any:  # fmt: skip
        given = {"dtype": dtype} if "dtype" in options else {}
        found = function(array, axis, keepdims=keepdims, initial=initial, where=where, **given)
        return found if out is None else write_out("reduce", found, out)

    return record_with_initial if options else record


def _log_sum(array: Any, axis: Any = 0, keepdims: bool = False) -> Any:
    return record_logsumexp(array, axis, keepdims)


def _outer(name: str) -> AnyFunction:
    """Return what records ``np.<ufunc>.outer``: the function of all pairs of elements."""

    def record(A: Any, B: Any) -> Any:
        x, y = array(A), array(B)
        return call(name, x.reshape((*x.shape, *(1,) * y.ndim)), y)

    return record


# ufunc -> the function that its method reduce is, but for the axis
REDUCTIONS: dict[str, AnyFunction] = {
    "add": reductions.sum,
    "multiply": reductions.prod,
    "maximum": reductions.max,
    "minimum": reductions.min,
    "logical_and": reductions.all_,
    "logical_or": reductions.any_,
}
for _name, _function in REDUCTIONS.items():
    numpy_function(f"{_name}.reduce", computes=True)(_with_op(_function))
    numpy_function(f"{_name}.reduceat")(_reducer_at(_name))
numpy_function("logaddexp.reduce", computes=True)(_log_sum)
for _name in (*ASSOCIATIVE, *IN_ORDER):
    numpy_function(f"{_name}.reduce", computes=True)(_reducer(_name))
for _name in ("fmax", "fmin", "logaddexp"):
    numpy_function(f"{_name}.reduceat")(_reducer_at(_name))
for _name in (*REDUCTIONS, "logaddexp", *ASSOCIATIVE, *IN_ORDER):
    numpy_function(f"{_name}.accumulate")(_accumulator(_name))
for _name, _rule in RULES.items():
    if _rule.ufunc.nin == 2:
        numpy_function(f"{_name}.outer")(_outer(_name))
