"""Histograms: the cell of each sample by binary search, and a sum of weights in each cell.

The counts have no derivative, the weights have one. What NumPy finds from the values, how many bins
to take, has to be a number here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.tracing.building.axes import one_axis
from gradc.tracing.building.by_name import array, number, numpy, refuse
from gradc.tracing.core.source import shape_error
from gradc.tracing.core.symbolic_size import is_integer
from gradc.tracing.numpy.select.searching import searchsorted
from gradc.tracing.numpy.shape import shaping
from gradc.tracing.registry.numpy_function import numpy_function


@numpy_function("histogram_bin_edges")
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """Record ``np.histogram_bin_edges`` for a number of bins, or for edges that are given."""
    x = _samples(a)
    return _edges("np.histogram_bin_edges", x, bins, range, x.dtype)


@numpy_function("histogram")
def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """Record ``np.histogram``: counts, or sums of weights, and the edges of the bins."""
    x = _samples(a)
    edges = _edges("np.histogram", x, bins, range, x.dtype)
    cells, inside = _cells(x, edges)
    given = None if weights is None else shaping.ravel(weights)
    if given is not None and given.shape != x.shape:
        raise shape_error("np.histogram: one weight a sample")
    counts = _summed(cells, inside, _bins(edges), given)
    if density:
        return counts / numpy.diff(edges).astype(np.float64) / numpy.sum(counts), edges
    return counts, edges


def _samples(a: Any) -> Any:
    """Return samples as a vector; truth values are counted as integers, as NumPy does."""
    x = shaping.ravel(a)
    return x.astype(np.int64) if x.dtype == np.bool_ else x


@numpy_function("histogramdd")
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """Record ``np.histogramdd``: samples in rows, or a sequence of coordinates."""
    if isinstance(sample, list | tuple):
        coordinates = [array(part) for part in sample]
    else:
        rows = array(sample)
        coordinates = _columns(rows) if rows.ndim == 2 else [rows]
    return _in_boxes("np.histogramdd", coordinates, bins, range, density, weights)


def _columns(rows: Any) -> list[Any]:
    return [rows[:, i] for i in range(number(rows.shape[1], "np.histogramdd"))]


@numpy_function("histogram2d")
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """Record ``np.histogram2d``: the counts in boxes and the edges along both axes."""
    if not is_integer(bins) and len(bins) not in (1, 2):
        bins = [bins, bins]
    counts, (rows, columns) = _in_boxes(
        "np.histogram2d", [array(x), array(y)], bins, range, density, weights
    )
    return counts, rows, columns


def _in_boxes(
    title: str, coordinates: list[Any], bins: Any, range: Any, density: Any, weights: Any
) -> Any:
    count = len(coordinates)
    of_axes = [bins] * count if is_integer(bins) else list(bins)
    ranges = [None] * count if range is None else list(range)
    if len(of_axes) != count or len(ranges) != count:
        raise shape_error(f"{title}: bins and range have an entry an axis")
    common = np.result_type(*(x.dtype for x in coordinates))
    coordinates = [x.astype(common) for x in coordinates]
    every = [
        _edges(title, x, bins, range, common if range is None else np.dtype(np.float64))
        for x, bins, range in zip(coordinates, of_axes, ranges)
    ]
    flat, inside, boxes = array(0), array(True), 1
    for x, edges in zip(coordinates, every):
        cells, here = _cells(x, edges)
        flat = flat * _bins(edges) + cells
        inside = inside & here
        boxes *= _bins(edges)
    weight = None if weights is None else array(weights).astype(np.float64)
    summed = _summed(flat, inside, boxes, weight).astype(np.float64)
    counts = summed.reshape(tuple(_bins(edges) for edges in every))
    if density:
        total = numpy.sum(counts)
        for axis, edges in enumerate(every):
            shape = one_axis(axis, count)
            counts = counts / array(numpy.diff(edges)).reshape(shape)
        counts = counts / total
    return counts, every


def _bins(edges: Any) -> int:
    return number(edges.shape[0], "a histogram") - 1


def _edges(title: str, x: Any, bins: Any, range: Any, dtype: Any) -> Any:
    """Return the edges of bins: given ones, or a number of equal bins in a range or in all of x."""
    if isinstance(bins, str):
        raise refuse(f"{title} with bins={bins!r}", "give the number of bins, bins=10")
    if not is_integer(bins) and array(bins).ndim > 0:
        edges = array(bins)
        if edges.ndim != 1 or edges.shape[0] == 0:
            raise shape_error(f"{title}: the edges of bins are a vector")
        if edges.known is not None and (np.diff(edges.known) < 0).any():
            raise shape_error(f"{title}: the edges of bins rise")
        return edges
    count = number(bins, title)
    if count < 1:
        raise shape_error(f"{title}: there must be one bin at least")
    if range is not None:
        low, high = (array(end) for end in range)
        if low.known is not None and high.known is not None:
            bounds = (low.known.item(), high.known.item())
            return array(np.histogram_bin_edges(np.zeros(0, dtype), count, bounds))
    elif x.shape == (0,):
        low, high = array(0.0), array(1.0)
    else:
        low, high = array(numpy.min(x)), array(numpy.max(x))
    wanted = np.result_type(low.dtype, high.dtype, dtype)
    if wanted.kind != "f":
        wanted = np.result_type(wanted, float)
    same = numpy.equal(low, high)
    low, high = numpy.where(same, low - 0.5, low), numpy.where(same, high + 0.5, high)
    return array(numpy.linspace(low, high, count + 1)).astype(wanted)


def _cells(x: Any, edges: Any) -> tuple[Any, Any]:
    """Return the bin of each sample and whether it is in one; the last bin has its right edge."""
    place = array(searchsorted(edges, x, "right")) - 1
    last = edges[-1]
    place = numpy.where(numpy.equal(x, last), _bins(edges) - 1, place)
    inside = numpy.less_equal(edges[0], x) & numpy.less_equal(x, last)
    return place, inside


def _summed(cells: Any, inside: Any, count: int, weights: Any) -> Any:
    """Return the sum of weights, or the number of samples, in each cell."""
    # one cell more, for the samples in none
    places = numpy.where(inside, cells, count)
    dtype = np.dtype(np.int64) if weights is None else weights.dtype
    sums = numpy.zeros(count + 1, dtype=dtype)
    numpy.add.at(sums, places, 1 if weights is None else weights)
    return array(sums[:count])
