"""What stands for a piecewise polynomial in traced code: its coefficients, and how it is called."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradc.tracing.building.by_name import array, numpy
from gradc.tracing.core.source import trace_error


class PiecewisePolynomial:
    """A ``scipy.interpolate.PPoly``, or one of the splines that are one.

    Parameters
    ----------
    coefficients: f64[degree + 1, intervals, …], the highest power first.
    breaks: f64[intervals + 1], ascending.
    extrapolate: whether the outer polynomials go on, or "periodic"; outside it is nan otherwise.
    axis: where the axes of the points go among those of the values.
    outside: what stands for an object outside of the function, whose other members it has; None
        for one that traced code made.
    """

    def __init__(
        self, coefficients: Any, breaks: Any, extrapolate: Any, axis: int, outside: Any = None
    ) -> None:
        self.c = coefficients
        self.x = breaks
        self.extrapolate = extrapolate
        self.axis = axis
        self._outside = outside

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """Record the value, or the derivative of order ``nu``, at points of any shape."""
        if not isinstance(nu, int) or nu < 0:
            raise trace_error("the order of a derivative of a spline is a known number from 0 on")
        points = array(x).astype(np.float64)
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        first, last = self.x[0], self.x[-1]
        if isinstance(extrapolate, str):
            points = first + (points - first) % (last - first)
        place = numpy.searchsorted(self.x, points, side="right") - 1
        place = numpy.minimum(numpy.maximum(place, 0), self.x.shape[0] - 2)
        others = self.c.ndim - 2
        found = self._powers(points - self.x[place], place, others, nu)
        # a factor, so that there is no slope either where there is no value
        known = points == points
        if isinstance(extrapolate, str) or not extrapolate:
            known = numpy.logical_and(first <= points, points <= last)
        found = found * _spread(numpy.where(known, 1.0, np.nan), others)
        rank = points.ndim
        order = [*range(rank, rank + self.axis), *range(rank), *range(rank + self.axis, found.ndim)]
        return numpy.transpose(found, order) if self.axis else found

    def _powers(self, steps: Any, place: Any, others: int, nu: int) -> Any:
        """Return the sum over the powers of the steps, from the lowest on, as SciPy adds them."""
        steps = _spread(steps, others)
        degree = self.c.shape[0] - 1
        found, power = 0.0, 1.0
        for k in range(nu, degree + 1):
            found = found + self.c[degree - k][place] * power * float(math.perm(k, nu))
            power = power * steps
        return found + numpy.zeros_like(steps)

    def derivative(self, nu: int = 1) -> PiecewisePolynomial:
        """Record the derivative of order ``nu``, a piecewise polynomial, too."""
        if not isinstance(nu, int) or nu < 0:
            raise trace_error("the order of a derivative of a spline is a known number from 0 on")
        count = self.c.shape[0]
        if nu >= count:
            lower = self.c[:1] * 0.0
        else:
            factors = [float(math.perm(k, nu)) for k in range(count - 1, nu - 1, -1)]
            lower = self.c[: count - nu] * _spread(np.array(factors), self.c.ndim - 1)
        return PiecewisePolynomial(lower, self.x, self.extrapolate, self.axis)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or self.__dict__.get("_outside") is None:
            raise AttributeError(f"what stands for a spline in traced code has no {name}")
        return getattr(self._outside, name)


def _spread(x: Any, others: int) -> Any:
    return x[(..., *[None] * others)]
