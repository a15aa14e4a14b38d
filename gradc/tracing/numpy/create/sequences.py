"""Sequences and grids: linspace of arrays, logspace, geomspace, meshgrid, indices, ix_."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.tracing.building.axes import one_axis
from gradc.tracing.building.by_name import array, known, number, numpy
from gradc.tracing.building.elementwise import common_shape
from gradc.tracing.core.as_tracer import lists_as_tracers
from gradc.tracing.core.promote import common_dtype_of, supported
from gradc.tracing.core.source import shape_error
from gradc.tracing.core.symbolic_size import as_integer
from gradc.tracing.core.table import AnyFunction
from gradc.tracing.numpy.create import creation
from gradc.tracing.numpy.shape import shaping
from gradc.tracing.registry.numpy_function import numpy_function


@numpy_function("linspace")
def linspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, retstep: bool = False,
    dtype: Any = None, axis: int = 0,
) -> Any:  # fmt: skip
    """Record ``np.linspace``; of arrays with the new axis first, or where ``axis`` says."""
    ends = lists_as_tracers((start, stop))
    wanted = common_dtype_of(ends, float).numpy
    first, last = map(array, ends)
    if not first.ndim and not last.ndim:
        found = creation.linspace(first, last, num, endpoint, dtype or wanted)
        count = num
    else:
        count = number(num, "np.linspace")
        intervals = count - 1 if endpoint else count
        a, b = (
            array(part)
            for part in numpy.broadcast_arrays(first.astype(wanted), last.astype(wanted))
        )
        places = array(np.arange(count, dtype=wanted)).reshape(one_axis(0, a.ndim + 1))
        found = a + places * ((b - a) / intervals if intervals > 0 else b - a)
        if endpoint and count > 1:
            found = shaping.concatenate([array(found)[:-1], b[None]], 0)
        found = shaping.moveaxis(array(found).astype(dtype or wanted), 0, axis)
    if not retstep:
        return found
    intervals = count - 1 if endpoint else count
    step = (last - first).astype(wanted) / intervals if intervals > 0 else float("nan")
    return found, step


@numpy_function("logspace")
def logspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, base: Any = 10.0,
    dtype: Any = None, axis: int = 0,
) -> Any:  # fmt: skip
    """Record ``np.logspace``: powers of a base with evenly spaced exponents."""
    exponents = linspace(start, stop, num, endpoint, False, None, axis)
    if array(base).ndim:
        base = shaping.expand_dims(base, axis)
    powers = array(numpy.power(base, exponents))
    return powers if dtype is None else powers.astype(dtype)


@numpy_function("geomspace")
def geomspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Any:
    """Record ``np.geomspace``: evenly spaced on a logarithmic scale, the ends exact."""
    first, last = array(start), array(stop)
    # as NumPy, which computes in float64 whatever the ends are
    first, last = (part.astype(np.float64) for part in broadcast_arrays(first, last))
    sign = numpy.sign(first)
    count = number(num, "np.geomspace")
    ends = (numpy.log10(first * sign), numpy.log10(last * sign))
    found = logspace(*ends, count, endpoint) * sign
    rows = [found]
    if count > 1 and endpoint:
        rows = [first[None], found[1:-1], last[None]]
    elif count > 0:
        rows = [first[None], found[1:]]
    joined = shaping.concatenate(rows, 0).astype(dtype or np.float64)
    return shaping.moveaxis(joined, 0, axis)


@numpy_function("meshgrid")
def meshgrid(
    *xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[Any, ...]:
    """Record ``np.meshgrid``."""
    if indexing not in ("xy", "ij"):
        raise shape_error("np.meshgrid: indexing is 'xy' or 'ij'")
    rank = len(xi)
    places = list(range(rank))
    if indexing == "xy" and rank > 1:
        places[:2] = [1, 0]
    grid = [
        shaping.reshape(shaping.ravel(x), one_axis(place, rank)) for x, place in zip(xi, places)
    ]
    if not sparse:
        grid = list(broadcast_arrays(*grid))
    return tuple(shaping.copied(x, "C") for x in grid) if copy else tuple(grid)


@numpy_function("broadcast_arrays", view=True)
def broadcast_arrays(*args: Any) -> tuple[Any, ...]:
    """Record ``np.broadcast_arrays``: views that cannot be assigned to."""
    tracers = [array(arg) for arg in args]
    shape = tuple(map(as_integer, common_shape("broadcast_arrays", tracers)))
    return tuple(shaping.broadcast_to(x, shape) for x in tracers)


@numpy_function("indices", value_only=True)
def indices(dimensions: Any, dtype: Any = int, sparse: bool = False) -> Any:
    """Record ``np.indices`` of symbolic sizes."""
    shape = tuple(dimensions)
    rank = len(shape)
    rows = []
    for axis, size in enumerate(shape):
        places = array(numpy.arange(size, dtype=supported(dtype).numpy))
        row = places.reshape(one_axis(axis, rank))
        rows.append(row if sparse else shaping.broadcast_to(row, shape))
    return tuple(rows) if sparse else shaping.stack(rows, 0)


@numpy_function("ix_", value_only=True)
def ix_(*args: Any) -> tuple[Any, ...]:
    """Record ``np.ix_``: an open mesh of traced index arrays; masks have to be known."""
    rank = len(args)
    found = []
    for axis, arg in enumerate(args):
        index = array(arg)
        if index.ndim != 1:
            raise shape_error("np.ix_ takes vectors", found=f"{index.type}")
        if index.dtype == np.bool_:
            index = array(np.flatnonzero(known(index, "np.ix_")))
        found.append(index.reshape(one_axis(axis, rank)))
    return tuple(found)


@numpy_function("fromfunction")
def fromfunction(function: AnyFunction, shape: Any, *, dtype: Any = float, **kwargs: Any) -> Any:
    """Record ``np.fromfunction``: a function of the grids of indices."""
    return function(*indices(shape, dtype), **kwargs)


def _indices_from(name: str) -> AnyFunction:
    """Return what records ``np.diag_indices_from`` and its like: they need the shape only."""

    def record(arr: Any, k: int = 0) -> tuple[Any, ...]:
        shape = tuple(number(size, f"np.{name}") for size in array(arr).shape)
        extra = () if name.startswith("diag") else (k,)
        found = getattr(np, name)(np.broadcast_to(0.0, shape), *extra)
        return tuple(array(part) for part in found)

    return record


for _name in ("diag_indices_from", "tril_indices_from", "triu_indices_from"):
    numpy_function(_name, value_only=True)(_indices_from(_name))
