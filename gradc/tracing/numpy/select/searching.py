"""Comparing and searching: isclose, array_equal, searchsorted, digitize, interp, bincount."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.tracing.building.by_name import array, known, number, numpy
from gradc.tracing.building.floats import as_float
from gradc.tracing.core.source import shape_error
from gradc.tracing.numpy.shape import shaping
from gradc.tracing.registry.numpy_function import numpy_function
from gradc_ir.errors import ShapeError


@numpy_function("isclose", value_only=True, masked="elementwise")
def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    """Record ``np.isclose``: ``|a - b| <= atol + rtol * |b|``, or equal."""
    x, y = array(a), as_float(b)
    near = numpy.less_equal(numpy.abs(x - y), atol + rtol * numpy.abs(y))
    found = (near & numpy.isfinite(y)) | numpy.equal(x, y)
    if equal_nan:
        found = found | (numpy.isnan(x) & numpy.isnan(y))
    return found


@numpy_function("allclose", value_only=True)
def allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    """Record ``np.allclose``: a traced truth value, which no ``if`` can ask for."""
    return numpy.all(isclose(a, b, rtol, atol, equal_nan))


@numpy_function("array_equal", value_only=True)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Record ``np.array_equal``: False for other shapes, else a traced truth value."""
    x, y = array(a1), array(a2)
    if x.shape != y.shape:
        return False
    same = numpy.equal(x, y)
    if equal_nan:
        same = same | (numpy.isnan(x) & numpy.isnan(y))
    return numpy.all(same)


@numpy_function("array_equiv", value_only=True)
def array_equiv(a1: Any, a2: Any) -> Any:
    """Record ``np.array_equiv``: equal after broadcasting."""
    try:
        return numpy.all(numpy.equal(a1, a2))
    except ShapeError:
        return False


@numpy_function("searchsorted", value_only=True, masked=1)
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """Record ``np.searchsorted``: how many elements of a sorted array lie before each value.

    By halving where the length of the array is known while tracing, else by sorting both together.
    """
    bins, values = array(a), array(v)
    if sorter is not None:
        bins = array(bins[array(sorter)])
    if side not in ("left", "right"):
        raise shape_error(f"side={side!r} is neither left nor right")
    if bins.ndim != 1:
        raise shape_error("np.searchsorted searches in a vector")
    size = bins.shape[0]
    if not isinstance(size, int):
        return _by_sorting(bins, values, side)
    clean = bins.dtype.kind != "f" or (bins.known is not None and not np.isnan(bins.known).any())
    if size <= _FEW:
        before = _before(bins, shaping.expand_dims(values, values.ndim), side, clean)
        return numpy.sum(before, axis=-1)
    return _by_halving(bins, values, side, size, clean)


# to compare with so many elements takes no longer than to halve
_FEW = 8


def _before(bins: Any, values: Any, side: str, clean: bool) -> Any:
    """Return whether elements come before values; as in NumPy, nan comes after everything.

    ``clean``: no element is nan.
    """
    if clean:
        beyond = numpy.less if side == "right" else numpy.less_equal
        return ~beyond(values, bins)
    of_bins, of_values = numpy.isnan(bins), numpy.isnan(values)
    if side == "left":
        last = of_values & ~of_bins
        return numpy.less(bins, values) | last
    last = of_bins & ~of_values
    return ~(numpy.less(values, bins) | last)


def _by_halving(bins: Any, values: Any, side: str, size: int, clean: bool) -> Any:
    """Search in ``log2(size)`` steps; after the first the rest is a power of two (L. Shar)."""
    step = 1 << (size.bit_length() - 1)

    def passed(index: Any) -> Any:
        return _before(array(bins[index]), values, side, clean)

    found = array(numpy.where(passed(step - 1), size - step + 1, 0)).astype(np.int64)
    while step > 1:
        step //= 2
        found = array(numpy.where(passed(found + (step - 1)), found + step, found))
    return found


def _by_sorting(bins: Any, values: Any, side: str) -> Any:
    """Sort the values among the elements: what comes before a value is counted on the way."""
    given = shaping.ravel(values)
    parts = [given, bins] if side == "left" else [bins, given]
    order = array(numpy.argsort(numpy.concatenate(parts)))
    count = array(parts[0].shape[0])
    of_bins = numpy.less_equal(count, order) if side == "left" else numpy.less(order, count)
    found = numpy.zeros_like(order)
    found[order] = numpy.cumsum(of_bins)
    first = parts[0].shape[0]
    places = slice(first) if side == "left" else slice(first, None)
    return array(found[places]).reshape(values.shape)


@numpy_function("digitize", value_only=True, masked=0)
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """Record ``np.digitize``; traced bins are trusted to rise or to fall."""
    edges = array(bins)
    if edges.ndim != 1:
        raise shape_error("np.digitize: bins is a vector")
    side = "left" if right else "right"

    def falling() -> Any:
        return edges.shape[0] - array(searchsorted(shaping.flip(edges), x, side))

    if edges.known is None:
        beyond = falling()
        rises = numpy.less_equal(edges[0], edges[-1])
        return numpy.where(rises, searchsorted(edges, x, side), beyond)
    steps = np.diff(edges.known)
    if (steps >= 0).all():
        return searchsorted(edges, x, side)
    if (steps <= 0).all():
        return falling()
    raise shape_error("np.digitize: the bins neither rise nor fall")


@numpy_function("interp", masked=0)
def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    """Record ``np.interp``; at a point of xp the derivative is the slope to its right."""
    points, places, heights = (array(part).astype(np.float64) for part in (x, xp, fp))
    if places.ndim != 1 or heights.ndim != 1:
        raise shape_error("np.interp: xp and fp are vectors")
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
    size = numpy.abs(array(period).astype(np.float64))
    if array(size).known is not None and array(size).known == 0:
        raise shape_error("np.interp: period is zero")
    folded = array(places % size)
    order = array(numpy.argsort(folded))
    folded, heights = array(folded[order]), array(heights[order])
    joined = shaping.concatenate([folded[-1:] - size, folded, folded[:1] + size])
    return array(joined), shaping.concatenate([heights[-1:], heights, heights[:1]])


@numpy_function("bincount")
def bincount(x: Any, weights: Any = None, minlength: Any = 0) -> Any:
    """Record ``np.bincount``: of known places, or of traced ones below a known ``minlength``."""
    given, least = array(x), number(minlength, "np.bincount")
    if given.ndim != 1 or given.dtype.kind != "i":
        raise shape_error("np.bincount takes a vector of integers from 0")
    if given.known is None and least > 0:
        # NumPy's result would be longer, or there would be none: out of bounds here
        places, size = numpy.where(numpy.less(given, 0), least, given), least
    else:
        places = known(x, "np.bincount without minlength=")
        if (places < 0).any():
            raise shape_error("np.bincount takes a vector of integers from 0")
        size = max(int(places.max(initial=-1)) + 1, least)
    dtype = np.int64 if weights is None else np.float64
    counts = numpy.zeros(size, dtype=dtype)
    numpy.add.at(counts, places, 1 if weights is None else array(weights).astype(dtype))
    return counts


@numpy_function("isin", value_only=True, masked=0)
def isin(element: Any, test_elements: Any, invert: bool = False) -> Any:
    """Record ``np.isin``: whether elements are among others, by comparing or by searching."""
    x, among = array(element), shaping.ravel(test_elements)
    if isinstance(among.shape[0], int) and among.shape[0] > _FEW:
        dtype = np.result_type(x.dtype, among.dtype)
        ordered = array(numpy.sort(among.astype(dtype)))
        place = numpy.minimum(searchsorted(ordered, x.astype(dtype)), among.shape[0] - 1)
        found = numpy.equal(ordered[array(place)], x)
    else:
        found = numpy.any(numpy.equal(shaping.expand_dims(x, x.ndim), among), axis=-1)
    return ~found if invert else found
