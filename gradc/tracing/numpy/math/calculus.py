"""Differences, gradients and integrals of samples, convolutions and the sinc function."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from gradc.tracing.building.axes import (
    along,
    one_axis,
    position,
    positions,
    with_size,
)
from gradc.tracing.building.by_name import array, number, numpy, refuse
from gradc.tracing.building.floats import as_float
from gradc.tracing.core.source import shape_error
from gradc.tracing.core.state import running
from gradc.tracing.core.symbolic_size import has_at_least, leaves_below
from gradc.tracing.core.tracer import make, read
from gradc.tracing.numpy.linalg.products import contracted, in_one_dtype
from gradc.tracing.numpy.shape import shaping
from gradc.tracing.registry.numpy_function import numpy_function
from gradc_ir import build
from gradc_ir.core import sizes
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import Size
from gradc_ir.meaning.reduction import GROUP

# The series of sin(y) / y in y*y up to |y| = 1, exact to the last bit of float64.
_SINC = [(-1) ** k / math.factorial(2 * k + 1) for k in range(10)]


@numpy_function("diff")
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Record ``np.diff``; ``prepend`` and ``append`` are joined on first."""
    x = array(a)
    axis = position(axis, x.ndim)
    if number(n, "np.diff") < 0:
        raise shape_error("np.diff: n is negative")

    def end(part: Any) -> list[Any]:
        if part is None or part is np._NoValue:
            return []
        given = array(part)
        return [given if given.ndim else shaping.broadcast_to(given, with_size(x.shape, axis, 1))]

    parts = [*end(prepend), x, *end(append)]
    return shaping.diff(shaping.concatenate(parts, axis) if len(parts) > 1 else x, n, axis)


@numpy_function("ediff1d")
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Record ``np.ediff1d``: differences of the flattened array, with given ends."""
    steps = shaping.diff(shaping.ravel(ary))
    ends = [None if end is None else shaping.ravel(end).astype(steps.dtype)
            for end in (to_begin, to_end)]  # fmt: skip
    parts = [part for part in (ends[0], steps, ends[1]) if part is not None]
    return shaping.concatenate(parts, 0)


@numpy_function("gradient")
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Record ``np.gradient``: central differences, for spacings that are numbers or arrays."""
    x = as_float(f)
    axes = positions(axis, x.ndim)
    spacings = [array(one) for one in varargs] or [array(1.0)]
    if len(spacings) == 1 and not spacings[0].ndim:
        spacings *= len(axes)
    if len(spacings) != len(axes) or edge_order not in (1, 2):
        raise shape_error("np.gradient: invalid number of arguments")
    found = []
    for one, spacing in zip(axes, spacings):
        moved = shaping.moveaxis(x, one, 0)
        if not has_at_least(moved.shape[0], edge_order + 1):
            raise shape_error(f"np.gradient: axis {one} needs {edge_order + 1} elements")
        slopes = _slopes(moved, spacing, edge_order)
        found.append(shaping.moveaxis(slopes, 0, one))
    return found[0] if len(found) == 1 else tuple(found)


def _slopes(x: Any, spacing: Any, edge_order: int) -> Any:
    if spacing.ndim:
        steps = shaping.diff(spacing).reshape(one_axis(0, x.ndim)).astype(x.dtype)
        before, after = steps[:-1], steps[1:]
        first, last = steps[0], steps[-1]
        inner = (
            -after / (before * (before + after)) * x[:-2]
            + (after - before) / (before * after) * x[1:-1]
            + before / (after * (before + after)) * x[2:]
        )
    else:
        first = last = spacing
        inner = (x[2:] - x[:-2]) / (2.0 * spacing)
    start, end = (x[1] - x[0]) / first, (x[-1] - x[-2]) / last
    if edge_order == 2:
        start = _edge(x[0], x[1], x[2], first, steps[1] if spacing.ndim else first)
        end = -_edge(x[-1], x[-2], x[-3], last, steps[-2] if spacing.ndim else last)
    parts = array(start)[None], inner, array(end)[None]
    return shaping.concatenate([array(part).astype(x.dtype) for part in parts], 0)


def _edge(x0: Any, x1: Any, x2: Any, near: Any, far: Any) -> Any:
    """Return the slope at the first of three points, to second order."""
    a = -(2.0 * near + far) / (near * (near + far))
    b = (near + far) / (near * far)
    c = -near / (far * (near + far))
    return a * x0 + b * x1 + c * x2


@numpy_function("trapezoid", "trapz", computes=True)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """Record ``np.trapezoid``: the integral by the trapezoidal rule."""
    heights = array(y)
    axis = position(axis, heights.ndim)
    step: Any = dx
    if x is not None:
        places = array(x)
        if places.ndim == 1:
            step = shaping.diff(places).reshape(one_axis(axis, heights.ndim))
        else:
            step = shaping.diff(places, 1, axis)
    later, earlier = heights[along(axis, slice(1, None))], heights[along(axis, slice(None, -1))]
    return numpy.sum(step * (later + earlier) / 2.0, axis=axis)


@numpy_function("convolve", computes=True)
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """Record ``np.convolve``."""
    x, y = array(a), array(v)
    if y.ndim == x.ndim == 1 and _is_shorter(x, y, mode, "np.convolve"):
        x, y = y, x
    return _correlated(x, shaping.flip(y), mode, "np.convolve")


@numpy_function("correlate", computes=True)
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """Record ``np.correlate``."""
    x, y = array(a), array(v)
    is_short = y.ndim == x.ndim == 1 and _is_shorter(x, y, mode, "np.correlate")
    if is_short and mode != "full":
        # NumPy slides the shorter one, and turns the result around
        return shaping.copied(shaping.flip(_correlated(y, x, mode, "np.correlate")), "C")
    return _correlated(x, y, mode, "np.correlate")


def _is_shorter(x: Any, y: Any, mode: str, name: str) -> bool:
    """Whether a vector is shorter than another; where that decides a shape it must be known."""
    size, width = read(x).type.shape[0], read(y).type.shape[0]
    if isinstance(width, int) and (sizes.at_least(size, width) or leaves_below(size, width)):
        return False
    if mode == "full" and not (isinstance(size, int) and isinstance(width, int)):
        return False
    size, width = (number(each.shape[0], f"{name} with mode={mode!r}") for each in (x, y))
    return size < width


def _correlated(x: Any, y: Any, mode: str, name: str) -> Any:
    """Return the sums of products of y with every window of x.

    Where these are few, each is a product of slices, in the order of a contraction; else it is one.
    """
    if x.ndim != 1 or y.ndim != 1:
        raise shape_error(f"{name} takes vectors", found=f"{x.type}, {y.type}")
    left, right = in_one_dtype(x, y)
    (size,), (width,) = left.type.shape, right.type.shape
    if size == 0 or width == 0:
        raise shape_error(f"{name} of an empty array")
    if mode not in ("full", "same", "valid"):
        raise shape_error(f"{name}: mode={mode!r}", help="full, same or valid")
    before: Size
    count: Size
    if mode == "valid":
        before, count = 0, size - width + 1
    elif mode == "full":
        before, count = width - 1, size + width - 1
    else:
        before, count = width // 2, size
    if isinstance(width, int) and width <= GROUP and left.type.dtype.is_float:
        assert isinstance(before, int)
        parts = [(left, build.element(right, [k]), k - before) for k in range(width)]
        add = _of_windows if mode == "valid" else _of_parts
        return make(running(), add(parts, count))
    windows = (count, width)
    places = build.index_along(windows, 0) + build.index_along(windows, 1)
    if mode == "valid":
        value = contracted(build.gather(left, (places,), (0,)), right, "ab", "b", "a")
        return make(running(), value)
    # what lies outside is no zero to be multiplied by an infinity, but no term at all
    terms = contracted(left, right, "a", "b", "ab")
    terms = build.pad(terms, (before, 0), (count + width - 1, width), (1, 1))
    terms = build.gather(terms, (places, build.index_along(windows, 1)), (0, 1))
    return make(running(), build.reduce_sum(terms, (1,)))


# A vector, what it is multiplied by, and its element that meets the result's first.
_Terms: TypeAlias = Sequence[tuple[Value, Value, int]]


def _of_windows(terms: _Terms, count: Size) -> Value:
    """Return the sum of windows by their factors, each product joined by one fma."""
    total: Value | None = None
    for x, factor, start in terms:
        window = build.slice(x, (start,), (count,), (1,))
        each = build.broadcast(factor, (count,), ())
        total = window * each if total is None else build.fma(window, each, total)
    assert total is not None
    return total


def _of_parts(terms: _Terms, count: Size) -> Value:
    """Return the sum of windows of which some go beyond the vector: there is no term there."""
    parts = []
    for x, factor, start in terms:
        (size,) = x.type.shape
        missing = max(-start, 0)
        length = sizes.minimum(count, size - start) - missing
        part = build.slice(x, (max(start, 0),), (length,), (1,))
        product = part * build.broadcast(factor, (length,), ())
        parts.append(build.pad(product, (missing,), (count,), (1,)))
    return functools.reduce(operator.add, parts)


@numpy_function("sinc", masked="elementwise", computes=True)
def sinc(x: Any) -> Any:
    """Record ``np.sinc``: ``sin(pi x) / (pi x)``, near zero by its series for all derivatives."""
    given = as_float(x)
    value = read(given) * math.pi
    square = value * value
    near = build.lt(square, 1.0)
    series = build.full_like(value, _SINC[-1])
    for coefficient in _SINC[-2::-1]:
        series = series * square + coefficient
    safe = build.select(near, build.ones_like(value), value)
    found = build.select(near, series, build.sin(safe) / safe)
    return make(running(), found, contiguous=given.contiguous)


@numpy_function("unwrap")
def unwrap(p: Any, discont: Any = None, axis: int = -1, period: Any = 2 * math.pi) -> Any:
    """Record ``np.unwrap`` of floats: whole periods added so that steps stay small."""
    x = array(p)
    if x.dtype.kind != "f":
        raise refuse("np.unwrap of integers", "cast it first: x.astype(np.float64)")
    axis = position(axis, x.ndim)
    steps = shaping.diff(x, 1, axis)
    high = period / 2
    folded = (steps + high) % period - high
    edge = numpy.equal(folded, -high) & numpy.greater(steps, 0)
    change = numpy.where(edge, high, folded) - steps
    limit = high if discont is None else discont
    change = numpy.where(numpy.less(numpy.abs(steps), limit), 0, change)
    later = x[along(axis, slice(1, None))] + numpy.cumsum(change, axis)
    return shaping.concatenate([x[along(axis, slice(None, 1))], later], axis)
