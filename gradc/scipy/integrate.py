"""Functions of scipy.integrate that integrate samples; those that call a function are refused."""

from __future__ import annotations

from typing import Any

from gradc.tracing.building.axes import along, one_axis, position
from gradc.tracing.building.by_name import array, number, numpy
from gradc.tracing.core.source import shape_error
from gradc.tracing.numpy.math import calculus
from gradc.tracing.numpy.shape import shaping
from gradc.tracing.registry.scipy_function import scipy_function


@scipy_function("integrate.cumulative_trapezoid")
def cumulative_trapezoid(
    y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None
) -> Any:
    """Record ``scipy.integrate.cumulative_trapezoid``."""
    heights = array(y)
    axis = position(axis, heights.ndim)
    step = dx if x is None else _steps(x, heights.ndim, axis)
    later, earlier = heights[along(axis, slice(1, None))], heights[along(axis, slice(None, -1))]
    found = array(numpy.cumsum(step * (later + earlier) / 2.0, axis=axis))
    if initial is None:
        return found
    if not isinstance(initial, int | float) or initial != 0:
        raise shape_error("scipy.integrate.cumulative_trapezoid: initial is 0 or None")
    return shaping.concatenate([found[along(axis, slice(0, 1))] * 0.0, found], axis)


def _steps(x: Any, rank: int, axis: int) -> Any:
    """Return the distances of the places of samples, along the samples' axis."""
    places = array(x)
    if places.ndim != 1:
        return array(shaping.diff(places, 1, axis))
    steps = array(shaping.diff(places))
    return steps.reshape(one_axis(axis, rank))


@scipy_function("integrate.simpson")
def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Any:
    """Record ``scipy.integrate.simpson``: parabolas through three samples each.

    The last interval of an even number of samples is integrated as by K. V. Cartwright, "Simpson's
    rule cumulative integration with MS Excel and irregularly-spaced data", 2017.
    """
    heights = array(y)
    axis = position(axis, heights.ndim)
    count = number(heights.shape[axis], "scipy.integrate.simpson")
    steps = None if x is None else _steps(x, heights.ndim, axis)
    if count < 2:
        return numpy.sum(heights, axis=axis) * 0.0
    last = [heights[along(axis, -place)] for place in (1, 2, 3) if place <= count]
    if count == 2:
        step = dx if steps is None else steps[along(axis, -1)]
        return 0.5 * step * (last[0] + last[1])
    intervals = count - 1 - (count - 1) % 2
    found = _parabolas(heights, steps, dx, axis, intervals)
    if intervals == count - 1:
        return found
    before, after = (dx, dx) if steps is None else (steps[along(axis, -2)], steps[along(axis, -1)])
    alpha = (2 * after**2 + 3 * before * after) / (6 * (after + before))
    beta = (after**2 + 3 * before * after) / (6 * before)
    eta = after**3 / (6 * before * (before + after))
    return found + alpha * last[0] + beta * last[1] - eta * last[2]


def _parabolas(y: Any, steps: Any, dx: Any, axis: int, intervals: int) -> Any:
    """Return the integral over so many intervals, an even number."""
    first, middle, third = (
        y[along(axis, slice(start, intervals - 1 + start, 2))] for start in range(3)
    )
    if steps is None:
        return numpy.sum(first + 4 * middle + third, axis=axis) * (dx / 3.0)
    before = steps[along(axis, slice(0, intervals, 2))]
    after = steps[along(axis, slice(1, intervals, 2))]
    total, ratio = before + after, before / after
    areas = (
        total
        / 6.0
        * (
            first * (2.0 - 1.0 / ratio)
            + middle * (total * (total / (before * after)))
            + third * (2.0 - ratio)
        )
    )
    return numpy.sum(areas, axis=axis)


scipy_function("integrate.trapezoid")(calculus.trapezoid)
