"""Medians, percentiles and quantiles: elements of the sorted array, and lines between two of them.

The formulas are those of NumPy, by R. Hyndman and Y. Fan, *Sample quantiles in statistical
packages* (The American Statistician 50, 1996): a method says where, between two places of the
sorted array, a quantile lies. The derivative of a quantile goes to the one or two elements it is
made of; with respect to ``q`` it is the slope of the line between them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.tracing.building.axes import axes_of, reduced_shape
from gradc.tracing.building.by_name import array, numpy, refuse
from gradc.tracing.core.source import shape_error
from gradc.tracing.core.state import running
from gradc.tracing.core.symbolic_size import as_integer
from gradc.tracing.core.table import AnyFunction
from gradc.tracing.core.tracer import Tracer, make, read, weak_number
from gradc.tracing.numpy.select import choosing
from gradc.tracing.numpy.select.sorting import sort
from gradc.tracing.numpy.shape import shaping
from gradc.tracing.registry.numpy_function import numpy_function
from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core import sizes
from gradc_ir.core.types import DType

NAN = float("nan")


class _Lines(NamedTuple):
    """An array whose reduced axes are joined to a last one, sorted along it."""

    sorted: Any
    size: Any  # of the last axis
    count: Any  # of elements that are no nan: a size, or with nan left out an array over lines
    kept: tuple[Any, ...]  # the shape without the reduced axes
    ones: tuple[Any, ...]  # the same with axes of size 1 for them

    @property
    def by_line(self) -> bool:
        """Whether every line has a count of its own."""
        return isinstance(self.count, Tracer)

    def shaped(self, found: Any, front: tuple[Any, ...], keepdims: bool) -> Any:
        """Return a result over lines in the shape NumPy gives it, after axes of ``q``."""
        return array(found).reshape((*front, *(self.ones if keepdims else self.kept)))

    def at(self, place: Any) -> Any:
        """Return the elements at places: of all lines the same ones, or of each line its own."""
        index = array(place)
        if index.known is not None and index.known.shape == (1,):
            start = int(index.known[0])
            return array(self.sorted[..., start : start + 1])
        if index.ndim > 1:
            return choosing.take_along_axis(self.sorted, index, -1)
        return array(self.sorted[..., index])

    def or_nan(self, found: Any) -> Any:
        """Return a result over lines, but the nan of a line that has one: it was sorted last.

        Where nan is left out, it is what a line of nothing else has at every place.
        """
        if self.sorted.dtype.kind != "f" or self.by_line:
            return found
        last = self.at(array(self.size - 1).astype(np.int64).reshape((1,)))
        return numpy.where(numpy.not_equal(last, last), last.astype(found.dtype), found)


def _lines(a: Any, axis: Any, without_nan: bool) -> _Lines:
    x = array(a)
    axes = axes_of(axis, x.ndim)
    kept = tuple(i for i in range(x.ndim) if i not in axes)
    shape = tuple(x.shape[i] for i in kept)
    ones = reduced_shape(x.shape, axes)
    size = as_integer(sizes.product(x.type.shape[i] for i in axes))
    joined = shaping.transpose(x, (*kept, *axes)).reshape((*shape, size))
    count: Any = size
    if without_nan and x.dtype.kind == "f":
        count = array(numpy.sum(numpy.equal(joined, joined), axis=-1, keepdims=True))
    return _Lines(sort(joined), size, count, shape, ones)


def _no_elements(x: Any, axis: Any) -> bool:
    """Whether certainly no element is reduced."""
    return any(x.shape[i] == 0 for i in axes_of(axis, x.ndim) if isinstance(x.shape[i], int))


def _all_nan(x: Any, axis: Any, front: tuple[Any, ...], keepdims: bool) -> Any:
    axes = axes_of(axis, x.ndim)
    shape = reduced_shape(x.shape, axes, keepdims)
    dtype = x.dtype if x.dtype.kind == "f" else np.dtype(np.float64)
    return numpy.full((*front, *shape), NAN, dtype=dtype)


def _median(without_nan: bool) -> AnyFunction:
    def record(
        a: Any, axis: Any = None, overwrite_input: bool = False, keepdims: bool = False
    ) -> Any:
        x = array(a)
        if _no_elements(x, axis):
            return _all_nan(x, axis, (), keepdims)
        lines = _lines(x, axis, without_nan)
        count = array(lines.count)
        below, above = (count - 1) // 2, count // 2
        if lines.by_line:
            # a line of nan only: its first element is as good as any
            below = numpy.maximum(below, 0)
            above = numpy.minimum(above, lines.size - 1)
        else:
            below, above = (array(middle).reshape((1,)) for middle in (below, above))
        low = lines.at(below)
        found = low = low if low.dtype.kind == "f" else low.astype(np.float64)
        if not isinstance(lines.count, int) or lines.count % 2 == 0:
            high = lines.at(above).astype(low.dtype)
            found = numpy.where(numpy.equal(below, above), low, (low + high) / 2)
        return lines.shaped(lines.or_nan(array(found)), (), keepdims)

    return record


median = numpy_function("median", out=2)(_median(without_nan=False))
numpy_function("nanmedian", out=2)(_median(without_nan=True))


# -- where a quantile lies -------------------------------------------------------------------------

_PLOTTING = {
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3.0, 1 / 3.0),
    "normal_unbiased": (3 / 8.0, 3 / 8.0),
}
_ROUNDED = {"lower": "floor", "higher": "ceil", "nearest": "rint"}
_DISCRETE = ("inverted_cdf", "closest_observation", *_ROUNDED)
METHODS = (*_DISCRETE, "averaged_inverted_cdf", *_PLOTTING, "linear", "midpoint")


def _discrete_place(method: str, n: Any, q: Any) -> Any:
    if method in _ROUNDED:
        return getattr(numpy, _ROUNDED[method])((n - 1) * q)
    place = n * q - 1
    if method == "closest_observation":
        place = place - 0.5
    whole = numpy.floor(place)
    stays = numpy.equal(place, whole)
    if method == "closest_observation":
        stays = stays & numpy.equal(whole % 2, 1)
    return numpy.maximum(numpy.where(stays, whole, whole + 1), 0)


def _place_between(method: str, n: Any, q: Any) -> Any:
    if method == "linear":
        return (n - 1) * q
    if method == "averaged_inverted_cdf":
        return n * q - 1
    if method == "midpoint":
        return 0.5 * (numpy.floor((n - 1) * q) + numpy.ceil((n - 1) * q))
    alpha, beta = _PLOTTING[method]
    return n * q + (alpha + q * (1 - alpha - beta)) - 1


def _share(method: str, place: Any, previous: Any) -> Any:
    """Return how far a place is from the one before it to the one after it."""
    share = place - previous
    if method == "averaged_inverted_cdf":
        share = numpy.where(numpy.equal(share, 0), 0.5, 1.0)
    elif method == "midpoint":
        share = numpy.where(numpy.equal(place % 1, 0), 0.0, 0.5)
    return array(share).astype(place.dtype)


def _between(before: Any, after: Any, share: Any) -> Any:
    """Return the point of a line, reckoned from the nearer end as NumPy does."""
    step = after - before
    return numpy.where(
        numpy.greater_equal(share, 0.5), after - step * (1 - share), before + step * share
    )


def _quantiles(lines: _Lines, q: Any, method: str, weak: bool, checked: bool) -> Any:
    """Return the quantiles of each line: shape ``(*kept, len(q))``."""
    inside = True
    if not checked:
        inside = numpy.less_equal(0, q) & numpy.less_equal(q, 1)
    n = lines.count.astype(q.dtype) if lines.by_line else lines.count
    last = lines.count - 1
    discrete = method in _DISCRETE
    place = array(_discrete_place(method, n, q) if discrete else _place_between(method, n, q))
    if discrete or (method == "linear" and place.dtype.kind == "i"):
        place = _within(place, last)
        if not checked and lines.sorted.dtype.kind != "f":
            place = numpy.where(inside, place, lines.size)
        found = lines.at(place)
    else:
        found = array(_interpolated(lines, place, last, method, weak))
    if not checked and found.dtype.kind == "f":
        found = array(numpy.where(inside, found, found.dtype.type(NAN)))
    return lines.or_nan(found)


def _within(place: Any, last: Any) -> Any:
    """Return a whole place as an index: of nan, and beyond the end, the last one."""
    index = numpy.where(numpy.less(place, last), place, last)
    return numpy.maximum(array(index).astype(np.int64), 0)


def _interpolated(lines: _Lines, place: Any, last: Any, method: str, weak: bool) -> Any:
    # a share moves with its place, and the place before it stays
    fixed = place if place.known is not None else make(running(), build.stop_gradient(read(place)))
    floor = numpy.floor(fixed)
    # NumPy's share beyond an end counts from that end, where both neighbours are one element
    above, below = numpy.greater_equal(place, last), numpy.less(place, 0)
    ends = above | below
    previous = numpy.where(above, last, numpy.maximum(floor, 0))
    following = numpy.where(ends, previous, floor + 1)
    share = _share(method, place, numpy.where(above, -1, numpy.maximum(floor, 0)))
    before, after = (lines.at(_within(array(one), last)) for one in (previous, following))
    if weak:
        # as a Python number it leaves the dtype of the array as it is
        share = weak_number(read(share), float)
    return _between(before, after, share)


# -- the functions ---------------------------------------------------------------------------------


def _recorder(title: str, *, percent: bool, without_nan: bool) -> AnyFunction:
    def record(
        a: Any, q: Any, axis: Any = None, overwrite_input: bool = False, method: str = "linear",
        keepdims: bool = False, weights: Any = None,
    ) -> Any:  # fmt: skip
        if weights is not None:
            raise refuse(
                f"{title} with weights=",
                "sort with np.argsort, take np.cumsum of the weights in that order and "
                "np.searchsorted in it",
            )
        if method not in METHODS:
            raise shape_error(
                f"{title}: method={method!r} is not a method",
                help=f"one of {', '.join(sorted(METHODS))}",
            )  # fmt: skip
        x = array(a)
        weak = type(q) in (int, float) or _is_number(q, x)
        wanted = array(q)
        if percent:
            wanted = array(wanted / 100)
        _check_range(title, wanted)
        front = wanted.shape
        if _no_elements(x, axis):
            if without_nan:
                return _all_nan(x, axis, (), keepdims)
            raise shape_error(f"{title} of no elements has no value")
        lines = _lines(x, axis, without_nan)
        levels = array(strong(wanted)).reshape((wanted.size,))
        found = array(_quantiles(lines, levels, method, weak, wanted.known is not None))
        return lines.shaped(shaping.moveaxis(found, -1, 0), front, keepdims)

    return record


def _is_number(q: Any, x: Tracer) -> bool:
    """Whether q is a Python number, which counts among elements of float32 alone."""
    if not isinstance(q, Tracer):
        return False
    return (q.weak if x.type.dtype is DType.F32 else q._weak) in (int, float)


def strong(x: Any) -> Any:
    """Return a traced Python number as an array of its dtype."""
    plain = x.known is not None or (x._weak is None and not x.forms)
    return x if plain else x.astype(x.dtype)


def _check_range(title: str, q: Any) -> None:
    if q.ndim > 2:
        raise shape_error(f"{title}: q has two axes at most")
    if q.known is not None and not ((q.known >= 0) & (q.known <= 1)).all():
        high = 100 if "percentile" in title else 1
        raise shape_error(f"{title}: q must be in the range [0, {high}]")


for _name in ("quantile", "percentile", "nanquantile", "nanpercentile"):
    _record = _recorder(
        f"np.{_name}", percent=_name.endswith("centile"), without_nan=_name.startswith("nan")
    )
    numpy_function(_name, out=3)(_record)
