"""Cubic interpolants of scipy.interpolate, made in traced code: through values that are traced."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.scipy.interpolate.piecewise import PiecewisePolynomial
from gradc.scipy.linalg.equations import solve
from gradc.tracing.building.by_name import array, number, numpy, refuse
from gradc.tracing.core.source import shape_error
from gradc.tracing.registry.scipy_function import scipy_function

_PARABOLA = "the polynomial of all samples"


@scipy_function("interpolate.PPoly")
def polynomial(c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> PiecewisePolynomial:
    """Record ``scipy.interpolate.PPoly``."""
    coefficients, breaks = array(c).astype(np.float64), array(x).astype(np.float64)
    if coefficients.ndim < 2 or breaks.ndim != 1:
        raise shape_error("scipy.interpolate.PPoly takes c of rank 2 or more, and x of rank 1")
    if axis:
        raise refuse("scipy.interpolate.PPoly with an axis", "move the axis of the values to 0")
    return PiecewisePolynomial(coefficients, breaks, _or_on(extrapolate), 0)


@scipy_function("interpolate.CubicHermiteSpline")
def hermite(
    x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None
) -> PiecewisePolynomial:
    """Record ``scipy.interpolate.CubicHermiteSpline``."""
    places, values = _samples("CubicHermiteSpline", x, y, axis)
    slopes = numpy.moveaxis(array(dydx).astype(np.float64), axis, 0)
    return _through(places, values, slopes, axis, extrapolate)


@scipy_function("interpolate.PchipInterpolator")
def pchip(x: Any, y: Any, axis: int = 0, extrapolate: Any = None) -> PiecewisePolynomial:
    """Record ``scipy.interpolate.PchipInterpolator``: slopes that keep what is monotone so.

    The slopes are weighted harmonic means, F. N. Fritsch and J. Butland, "A method for
    constructing local monotone piecewise cubic interpolants", 1984; at the ends those of C. Moler,
    "Numerical Computing with MATLAB", 2004.
    """
    places, values = _samples("PchipInterpolator", x, y, axis)
    steps = _like(numpy.diff(places), values)
    secants = numpy.diff(values, axis=0) / steps
    if number(places.shape[0], "scipy.interpolate.PchipInterpolator") == 2:
        slopes = numpy.concatenate([secants, secants])
    else:
        before, after = secants[:-1], secants[1:]
        flat = numpy.logical_or(
            numpy.sign(before) != numpy.sign(after), numpy.logical_or(before == 0, after == 0)
        )
        one, other = 2 * steps[1:] + steps[:-1], steps[1:] + 2 * steps[:-1]
        safe = [numpy.where(flat, 1.0, part) for part in (before, after)]
        mean = (one + other) / (one / safe[0] + other / safe[1])
        ends = (
            _end(steps[0], steps[1], secants[0], secants[1]),
            _end(steps[-1], steps[-2], secants[-1], secants[-2]),
        )
        inner = numpy.where(flat, 0.0, mean)
        slopes = numpy.concatenate([ends[0][None], inner, ends[1][None]])
    return _through(places, values, slopes, axis, extrapolate)


def _end(step: Any, next_step: Any, secant: Any, next_secant: Any) -> Any:
    """Return the slope at an end, of three points, that keeps the shape."""
    slope = ((2 * step + next_step) * secant - step * next_secant) / (step + next_step)
    steep = numpy.logical_and(
        numpy.sign(secant) != numpy.sign(next_secant), numpy.abs(slope) > 3.0 * numpy.abs(secant)
    )
    kept = numpy.where(steep, 3.0 * secant, slope)
    return array(numpy.where(numpy.sign(slope) != numpy.sign(secant), 0.0, kept))


@scipy_function("interpolate.CubicSpline")
def spline(
    x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None
) -> PiecewisePolynomial:
    """Record ``scipy.interpolate.CubicSpline``, whose equations are solved by the full matrix."""
    name = "scipy.interpolate.CubicSpline"
    places, values = _samples("CubicSpline", x, y, axis)
    count = number(places.shape[0], name)
    steps, spread = numpy.diff(places), _like(numpy.diff(places), values)
    secants = numpy.diff(values, axis=0) / spread
    first, last = _conditions(name, bc_type)
    if count == 2:
        first, last = ((1, secants[0]) if end == "not-a-knot" else end for end in (first, last))
    if count == 3 and isinstance(first, str) and isinstance(last, str):  # they are one condition
        first = last = _PARABOLA
    rises = numpy.diff(values, axis=0)
    (top, right), start = _end_of(first, steps, spread, secants, rises, sign=-0.5)
    turned = (numpy.flip(part, 0) for part in (steps, spread, secants, rises))
    (bottom, left), end = _end_of(last, *turned, sign=0.5)
    diagonal = numpy.concatenate([top[None], 2 * (steps[:-1] + steps[1:]), bottom[None]])
    above = numpy.concatenate([right[None], steps[:-1]])
    below = numpy.concatenate([steps[1:], left[None]])
    matrix = numpy.diag(diagonal) + numpy.diag(above, 1) + numpy.diag(below, -1)
    inner = 3 * (spread[1:] * secants[:-1] + spread[:-1] * secants[1:])
    sides = numpy.concatenate([start[None], inner, end[None]])
    slopes = array(solve(matrix, sides.reshape(count, -1))).reshape(sides.shape)
    return _through(places, values, slopes, axis, extrapolate)


def _conditions(name: str, bc_type: Any) -> list[Any]:
    """Return what holds at the two ends: "not-a-knot", or the order of a derivative and it."""
    named: dict[Any, Any] = {
        "not-a-knot": "not-a-knot", "clamped": (1, 0.0), "natural": (2, 0.0)
    }  # fmt: skip
    pair = (bc_type, bc_type) if isinstance(bc_type, str) else tuple(bc_type)
    found = []
    for end in pair:
        if isinstance(end, str) and end not in named:
            others = "'not-a-knot', 'natural', 'clamped', or pairs of orders and derivatives"
            raise refuse(f"{name} with bc_type={end!r}", f"the conditions are {others}")
        found.append(named[end] if isinstance(end, str) else (int(end[0]), array(end[1])))
    return found


def _end_of(
    condition: Any, steps: Any, spread: Any, secants: Any, rises: Any, *, sign: float
) -> tuple[tuple[Any, Any], Any]:
    """Return the equation at the end that arrays begin with: its two factors, and its right side.

    The factors are those of the slopes at the end and beside it; ``sign`` is that of half of a
    second derivative there.
    """
    if condition is _PARABOLA:
        return (array(1.0), array(1.0)), 2 * secants[0]
    if isinstance(condition, str):
        wide, spread_wide = steps[0] + steps[1], spread[0] + spread[1]
        side = (spread[0] + 2 * spread_wide) * spread[1] * secants[0] + spread[0] ** 2 * secants[1]
        return (steps[1], wide), side / spread_wide
    order, given = condition
    given = given + numpy.zeros_like(secants[0])
    if order == 1:
        return (array(1.0), array(0.0)), given
    return (2 * steps[0], steps[0]), sign * given * spread[0] ** 2 + 3 * rises[0]


def _samples(name: str, x: Any, y: Any, axis: int) -> tuple[Any, Any]:
    """Return the places, and the values with the samples' axis first."""
    places, values = array(x).astype(np.float64), array(y).astype(np.float64)
    if places.ndim != 1 or not values.ndim or places.shape[0] != values.shape[axis]:
        raise shape_error(f"scipy.interpolate.{name} takes a value for each place, along the axis")
    return places, numpy.moveaxis(values, axis, 0)


def _like(steps: Any, values: Any) -> Any:
    """Return distances with an axis for each of the values'."""
    return steps[(..., *[None] * (values.ndim - 1))]


def _through(
    places: Any, values: Any, slopes: Any, axis: int, extrapolate: Any
) -> PiecewisePolynomial:
    """Return the cubics with these values and slopes at the places, as SciPy makes them."""
    steps = _like(numpy.diff(places), values)
    secants = numpy.diff(values, axis=0) / steps
    bend = (slopes[:-1] + slopes[1:] - 2 * secants) / steps
    parts = [bend / steps, (secants - slopes[:-1]) / steps - bend, slopes[:-1], values[:-1]]
    return PiecewisePolynomial(numpy.stack(parts), places, _or_on(extrapolate), axis % values.ndim)


def _or_on(extrapolate: Any) -> Any:
    """Return what happens outside of the places: unless it is said, the outer cubics go on."""
    return True if extrapolate is None else extrapolate
