"""Comparing and searching: isclose, array_equal, searchsorted, digitize, interp, bincount."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.tracing import shaping, source
from gradc.tracing.composing import array, is_traced, known, number, numpy, refuse
from gradc_ir.errors import ShapeError


def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    """Record ``np.isclose``: ``|a - b| <= atol + rtol * |b|``, or equal."""
    x, y = array(a), array(b)
    if y.dtype.kind != "f":
        y = y.astype(np.float64)
    near = numpy.less_equal(numpy.abs(x - y), atol + rtol * numpy.abs(y))
    found = numpy.logical_or(numpy.logical_and(near, numpy.isfinite(y)), numpy.equal(x, y))
    if equal_nan:
        found = numpy.logical_or(found, numpy.logical_and(numpy.isnan(x), numpy.isnan(y)))
    return found


def allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    """Record ``np.allclose``: a traced truth value, which no ``if`` can ask for."""
    return numpy.all(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Record ``np.array_equal``: False for other shapes, else a traced truth value."""
    x, y = array(a1), array(a2)
    if x.shape != y.shape:
        return False
    same = numpy.equal(x, y)
    if equal_nan:
        same = numpy.logical_or(same, numpy.logical_and(numpy.isnan(x), numpy.isnan(y)))
    return numpy.all(same)


def array_equiv(a1: Any, a2: Any) -> Any:
    """Record ``np.array_equiv``: equal after broadcasting."""
    try:
        return numpy.all(numpy.equal(a1, a2))
    except ShapeError:
        return False


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """Record ``np.searchsorted``: how many elements of a sorted array lie before each value."""
    bins, values = array(a), array(v)
    if sorter is not None:
        bins = bins[array(sorter)]
    if side not in ("left", "right"):
        raise ShapeError(f"side={side!r} is neither left nor right", at=source.location())
    beyond = numpy.less if side == "right" else numpy.less_equal
    # as in NumPy, nan comes after everything
    before = numpy.logical_not(beyond(shaping.expand_dims(values, values.ndim), bins))
    return numpy.sum(before, axis=-1)


def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """Record ``np.digitize``; traced bins are trusted to rise or to fall."""
    edges = array(bins)
    if edges.ndim != 1:
        raise ShapeError("np.digitize: bins is a vector", at=source.location())
    side = "left" if right else "right"
    if edges.known is None:
        falling = edges.shape[0] - array(searchsorted(shaping.flip(edges), x, side))
        rises = numpy.less_equal(edges[0], edges[-1])
        return numpy.where(rises, searchsorted(edges, x, side), falling)
    steps = np.diff(edges.known)
    if (steps >= 0).all():
        return searchsorted(edges, x, side)
    if (steps <= 0).all():
        return edges.known.size - array(searchsorted(shaping.flip(edges), x, side))
    raise ShapeError("np.digitize: the bins neither rise nor fall", at=source.location())


def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    """Record ``np.interp``; at a point of xp the derivative is the slope to its right."""
    points, places, heights = (array(part).astype(np.float64) for part in (x, xp, fp))
    if places.ndim != 1 or heights.ndim != 1:
        raise ShapeError("np.interp: xp and fp are vectors", at=source.location())
    if period is not None:
        places, heights = _periodic(places, heights, period)
        points = points % abs(period)
        left = right = None
    low = heights[0] if left is None else left
    high = heights[-1] if right is None else right
    below, above = numpy.less(points, places[0]), numpy.greater(points, places[-1])
    if places.shape[0] == 1:
        inside = numpy.where(numpy.isnan(points), points, heights[0])
    else:
        last = array(places.shape[0]) - 2
        index = array(numpy.clip(array(searchsorted(places, points, "right")) - 1, 0, last))
        start, end = places[index], places[index + 1]
        from_, to = heights[index], heights[index + 1]
        inside = (to - from_) / (end - start) * (points - start) + from_
        inside = numpy.where(numpy.equal(start, end), to, inside)
    return numpy.where(below, low, numpy.where(above, high, inside))


def _periodic(places: Any, heights: Any, period: Any) -> tuple[Any, Any]:
    if is_traced(places) or is_traced(period):
        raise refuse("np.interp with a period and traced places", "unfold the period yourself")
    size = abs(float(period))
    if size == 0:
        raise ShapeError("np.interp: period is zero", at=source.location())
    folded = places.known % size
    order = np.argsort(folded)
    folded, heights = folded[order], heights[order]
    joined = np.concatenate([folded[-1:] - size, folded, folded[:1] + size])
    return array(joined), array(shaping.concatenate([heights[-1:], heights, heights[:1]]))


def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    """Record ``np.bincount`` of known places with traced weights."""
    places = known(x, "np.bincount")
    if places.ndim != 1 or places.dtype.kind != "i" or (places < 0).any():
        raise ShapeError("np.bincount takes a vector of integers from 0", at=source.location())
    size = max(int(places.max(initial=-1)) + 1, number(minlength, "np.bincount"))
    counts = numpy.zeros(size)
    numpy.add.at(counts, places, array(weights).astype(np.float64))
    return counts


def isin(element: Any, test_elements: Any, invert: bool = False) -> Any:
    """Record ``np.isin``: whether elements are among others, by comparing with each of them."""
    x, among = array(element), array(shaping.ravel(test_elements))
    found = numpy.any(numpy.equal(shaping.expand_dims(x, x.ndim), among), axis=-1)
    return numpy.logical_not(found) if invert else found
