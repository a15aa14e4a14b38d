"""Reductions that leave out nan: nansum, nanmean, nanvar and their like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradc.tracing.building.axes import position
from gradc.tracing.building.by_name import array, numpy
from gradc.tracing.core.table import AnyFunction
from gradc.tracing.numpy.reduce import reductions
from gradc.tracing.registry.numpy_function import numpy_function

NAN = float("nan")


def without_nan(a: Any, other: float) -> tuple[Any, Any]:
    """Return the array with nan replaced, and where there was none; None for integers."""
    x = array(a)
    if x.dtype.kind != "f":
        return x, None
    present = numpy.equal(x, x)
    return numpy.where(present, x, x.dtype.type(other)), present


def _total(function: AnyFunction, unit: int) -> AnyFunction:
    def record(
        a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, initial: Any = None,
        where: Any = True,
    ) -> Any:  # fmt: skip
        return function(without_nan(a, unit)[0], axis, dtype, keepdims, initial, where)

    return record


numpy_function("nansum", out=3, computes=True)(_total(reductions.sum, 0))
numpy_function("nanprod", out=3, computes=True)(_total(reductions.prod, 1))


@numpy_function("nanmean", out=3, computes=True)
def nanmean(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """Record ``np.nanmean``."""
    x, present = without_nan(a, 0)
    if present is None:
        return reductions.mean(x, axis, dtype, keepdims)
    total = reductions.sum(x, axis, dtype, keepdims)
    return total / array(numpy.sum(present, axis=axis, keepdims=keepdims)).astype(total.dtype)


@numpy_function("nanvar", out=3, computes=True)
def nanvar(
    a: Any, axis: Any = None, dtype: Any = None, ddof: Any = 0, keepdims: bool = False
) -> Any:
    """Record ``np.nanvar``: nan where no more than ``ddof`` elements are left."""
    x, present = without_nan(a, 0)
    if present is None:
        return reductions.var(x, axis, dtype, ddof, keepdims)
    found = reductions.var(x, axis, dtype, ddof, keepdims, present)
    count = numpy.sum(present, axis=axis, keepdims=keepdims)
    return numpy.where(numpy.greater(count, ddof), found, found.dtype.type(NAN))


@numpy_function("nanstd", out=3, computes=True)
def nanstd(
    a: Any, axis: Any = None, dtype: Any = None, ddof: Any = 0, keepdims: bool = False
) -> Any:
    """Record ``np.nanstd``."""
    return reductions.root(array(nanvar(a, axis, dtype, ddof, keepdims)))


def _extreme(name: str, empty: float, none_left: Callable[[Any, Any], Any]) -> AnyFunction:
    """Return what records a reduction with ``empty`` for nan.

    ``none_left`` takes the array and the axis, and returns what stands where all are nan.
    """

    def record(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
        x, present = without_nan(a, empty)
        found = getattr(numpy, name)(x, axis=axis, keepdims=keepdims)
        if present is None:
            return found
        some = numpy.any(present, axis=axis, keepdims=keepdims)
        return numpy.where(some, found, none_left(x, axis))

    return record


def _nan(x: Any, axis: Any) -> Any:
    return x.dtype.type(NAN)


def _axis_size(x: Any, axis: Any) -> Any:
    """Return the size of the axis, which is out of bounds as an index."""
    size = x.size if axis is None else x.shape[position(axis, x.ndim)]
    return array(size).astype(np.int64)


numpy_function("nanmax", out=2)(_extreme("max", -np.inf, _nan))
numpy_function("nanmin", out=2)(_extreme("min", np.inf, _nan))
# where NumPy raises because all are nan, the size of the axis
numpy_function("nanargmax", value_only=True)(_extreme("argmax", -np.inf, _axis_size))
numpy_function("nanargmin", value_only=True)(_extreme("argmin", np.inf, _axis_size))


@numpy_function("nan_to_num", masked="elementwise")
def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """Record ``np.nan_to_num``: numbers in place of nan and infinities."""
    given = array(x)
    if given.dtype.kind != "f":
        return numpy.copy(given) if copy else given
    largest = np.finfo(given.dtype).max
    high = largest if posinf is None else posinf
    low = -largest if neginf is None else neginf
    found = numpy.where(numpy.not_equal(given, given), array(nan).astype(given.dtype), given)
    found = numpy.where(numpy.equal(given, np.inf), array(high).astype(given.dtype), found)
    found = numpy.where(numpy.equal(given, -np.inf), array(low).astype(given.dtype), found)
    if copy or given.scalar:
        return found
    given[...] = found
    return given
