"""Sorting: the elements gathered in their stable order, so derivatives follow the elements."""

from __future__ import annotations

from typing import Any

from gradc.tracing.building.axes import position
from gradc.tracing.building.by_name import array, known, refuse
from gradc.tracing.core.source import shape_error
from gradc.tracing.core.state import running
from gradc.tracing.core.tracer import make, read
from gradc.tracing.numpy.select import choosing
from gradc.tracing.numpy.shape import shaping
from gradc.tracing.registry.numpy_function import numpy_function
from gradc_ir import build


@numpy_function("argsort", value_only=True)
def argsort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    """Record ``np.argsort``: stable whatever ``kind`` is; nan comes last."""
    x, axis = _along(a, axis, order)
    return make(running(), build.argsort(read(x), axis))


@numpy_function("sort")
def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """Record ``np.sort``; a derivative goes to the element, of equal ones in their order."""
    x, axis = _along(a, axis, order)
    return choosing.take_along_axis(x, argsort(x, axis), axis)


def _along(a: Any, axis: Any, order: Any) -> tuple[Any, int]:
    if order is not None:
        raise refuse("sorting by fields, order=,", "an array of numbers has no fields")
    return shaping.flat_without_axis(a, axis)


@numpy_function("partition")
def partition(a: Any, kth: Any, axis: Any = -1, kind: Any = None, order: Any = None) -> Any:
    """Record ``np.partition``: all sorted, which is one of the orders NumPy may give."""
    x, axis = _along(a, axis, order)
    _check_places(kth, x.shape[axis])
    return sort(x, axis)


@numpy_function("argpartition", value_only=True)
def argpartition(a: Any, kth: Any, axis: Any = -1, kind: Any = None, order: Any = None) -> Any:
    """Record ``np.argpartition``: the places of all sorted, which is an order NumPy may give."""
    x, axis = _along(a, axis, order)
    _check_places(kth, x.shape[axis])
    return argsort(x, axis)


def _check_places(kth: Any, size: Any) -> None:
    places = known(kth, "np.partition")
    if places.dtype.kind not in "ib":
        raise shape_error("np.partition: kth is an integer")
    if isinstance(size, int) and ((places < -size) | (places >= size)).any():
        raise shape_error(f"np.partition: kth is out of bounds for {size} elements")


@numpy_function("lexsort", value_only=True)
def lexsort(keys: Any, axis: Any = -1) -> Any:
    """Record ``np.lexsort``: the order by the last key, of equal ones by the key before it."""
    given = [array(key) for key in keys]
    if not given:
        raise shape_error("np.lexsort needs a key")
    if len({key.ndim for key in given}) > 1:
        raise shape_error("np.lexsort: the keys differ in shape")
    axis = position(axis, given[0].ndim)
    order: Any = None
    for key in given:
        if order is None:
            order = argsort(key, axis)
            continue
        later = argsort(choosing.take_along_axis(key, order, axis), axis)
        order = choosing.take_along_axis(order, later, axis)
    return order
