"""Sorting: the elements gathered in their stable order, so derivatives follow the elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradc.tracing.core import source
from gradc.tracing.core.by_name import array, known, refuse
from gradc.tracing.core.state import running
from gradc.tracing.core.tracer import make, read
from gradc.tracing.indexing import indexing
from gradc.tracing.numpy.reduce.ignoring_nan import extreme
from gradc.tracing.numpy.reduce.reductions import position
from gradc.tracing.numpy.select import choosing
from gradc.tracing.numpy.shape import shaping
from gradc_ir import build
from gradc_ir.errors import ShapeError


def argsort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    """Record ``np.argsort``: stable whatever ``kind`` is; nan comes last."""
    x, axis = _along(a, axis, order)
    return make(running(), build.argsort(read(x), axis))


def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """Record ``np.sort``; a derivative goes to the element, of equal ones in their order."""
    x, axis = _along(a, axis, order)
    return choosing.take_along_axis(x, argsort(x, axis), axis)


def _along(a: Any, axis: Any, order: Any) -> tuple[Any, int]:
    if order is not None:
        raise refuse("sorting by fields, order=,", "an array of numbers has no fields")
    x = array(a)
    if axis is None:
        return array(shaping.ravel(x)), 0
    return x, position(axis, x.ndim)


def partition(a: Any, kth: Any, axis: Any = -1, kind: Any = None, order: Any = None) -> Any:
    """Record ``np.partition``: all sorted, which is one of the orders NumPy may give."""
    x, axis = _along(a, axis, order)
    _check_places(kth, x.shape[axis])
    return sort(x, axis)


def argpartition(a: Any, kth: Any, axis: Any = -1, kind: Any = None, order: Any = None) -> Any:
    """Record ``np.argpartition``: the places of all sorted, which is an order NumPy may give."""
    x, axis = _along(a, axis, order)
    _check_places(kth, x.shape[axis])
    return argsort(x, axis)


def _check_places(kth: Any, size: Any) -> None:
    places = known(kth, "np.partition")
    if places.dtype.kind not in "ib":
        raise ShapeError("np.partition: kth is an integer", at=source.location())
    if isinstance(size, int) and ((places < -size) | (places >= size)).any():
        raise ShapeError(
            f"np.partition: kth is out of bounds for {size} elements", at=source.location()
        )


def in_place(rearranged: Callable[..., Any]) -> Callable[..., None]:
    """Return the method that writes what a function gives into its array."""

    def method(self: Any, *args: Any, **kwargs: Any) -> None:
        running()
        indexing.set(self, Ellipsis, rearranged(self, *args, **kwargs))

    method.__doc__ = f"Do what ``np.{rearranged.__name__}`` does in place."
    return method


def lexsort(keys: Any, axis: Any = -1) -> Any:
    """Record ``np.lexsort``: the order by the last key, of equal ones by the key before it."""
    given = [array(key) for key in keys]
    if not given:
        raise ShapeError("np.lexsort needs a key", at=source.location())
    if len({key.ndim for key in given}) > 1:
        raise ShapeError("np.lexsort: the keys differ in shape", at=source.location())
    axis = position(axis, given[0].ndim)
    order: Any = None
    for key in given:
        if order is None:
            order = argsort(key, axis)
            continue
        later = argsort(choosing.take_along_axis(key, order, axis), axis)
        order = choosing.take_along_axis(order, later, axis)
    return order


def _axis_size(x: Any, axis: Any) -> Any:
    """Return the size of the axis, which is out of bounds as an index."""
    size = x.size if axis is None else x.shape[position(axis, x.ndim)]
    return array(size).astype(np.int64)


nanargmax = extreme("argmax", -np.inf, _axis_size)
nanargmax.__doc__ = (
    """Record ``np.nanargmax``; the size of the axis where NumPy raises: all are nan."""
)
nanargmin = extreme("argmin", np.inf, _axis_size)
nanargmin.__doc__ = (
    """Record ``np.nanargmin``; the size of the axis where NumPy raises: all are nan."""
)
