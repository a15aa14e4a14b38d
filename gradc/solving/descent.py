"""Newton's method for a minimum: a loop of the graph, damped as Levenberg and Marquardt do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradc.api.transforms import grad, jacobian
from gradc.control.loops import while_loop
from gradc.solving.newton import CONVERGING, SLOW
from gradc.solving.sizes import norm_of, size_of
from gradc.tracing import tracer_of, value_of
from gradc.tracing.building.by_name import numpy
from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.graphs.matrices import identity

# By how much a step that is taken lowers the damping, and one that is not raises it. It is in units
# of the largest second derivative: below the least it is none, above the most no step is left.
_LESS, _MORE = 0.1, 8.0
_LEAST, _FIRST, _MOST = 1e-7, 1e-3, 1e20


class _Place(NamedTuple):
    """Where the method is."""

    x: Any
    value: Any
    slope: Any
    damping: Any
    moved: Any
    slow: Any
    steps: Any
    done: Any
    last: Any
    stuck: Any


def descend(
    value: Callable[[Any], Any], start: Any, tol: float, max_iter: int
) -> tuple[Any, Any, Any]:
    """Return a local minimum, the number of steps, and whether it is one.

    Each step solves with the second derivatives, plus a damping of the diagonal where they are not
    positive definite or the value does not fall. It has converged when an undamped step is at most
    ``tol`` of the place and much shorter than the one before, or when no step lowers the value and
    the last one is of rounding, unless steps have only been nearing by a share.
    """
    eps = float(np.finfo(start.dtype).eps)
    rounding = float(np.sqrt(eps))
    slope_at, curvature_at = grad(value), jacobian(grad(value))
    height, first = value(start), slope_at(start)
    begun = norm_of(first)
    zero = 0.0 * begun

    def go_on(place: _Place) -> Any:
        return ~(place.done | place.stuck) & (place.steps < max_iter)

    def step(place: _Place) -> _Place:
        curvature = curvature_at(place.x)
        scale = numpy.maximum(size_of(curvature), np.finfo(start.dtype).tiny)
        direction = -_solved_positive(curvature, place.damping * scale, place.slope)
        x = place.x + direction
        height, slope = value(x), slope_at(x)
        # where the values differ by rounding alone, the slopes say which place is better
        noise = eps * numpy.abs(place.value)
        flatter = norm_of(slope) < norm_of(place.slope)
        better = (height < place.value - 1e3 * noise) | (
            (height <= place.value + 16.0 * noise) & flatter
        )
        length, size = norm_of(direction), norm_of(place.x)
        free = place.damping == 0.0
        close = better & free & (length <= tol * size) & (length <= CONVERGING * place.moved)
        rounded = (length <= rounding * size) | (norm_of(place.slope) <= rounding * begun)
        # a slope of zero is tried once more without damping: there it may be a maximum
        at_rest = norm_of(place.slope) == 0
        least = ~better & free & numpy.isfinite(length) & (rounded | at_rest) & (place.slow < SLOW)
        slow = numpy.where(length > CONVERGING * place.moved, place.slow + 1, 0)
        lower = place.damping * _LESS
        kept = numpy.where(lower < _LEAST, 0.0, lower)
        raised = numpy.maximum(place.damping * _MORE, _FIRST)
        damping = numpy.where(better, kept, raised)
        damping = numpy.where(at_rest, numpy.where(free, np.inf, 0.0), damping)
        # no step is left: the undamped one says whether this is for rounding alone
        hopeless = ~better & ~least & (damping > _MOST)
        damping = numpy.where(hopeless, 0.0, damping)
        return _Place(
            numpy.where(better, x, place.x),
            numpy.where(better, height, place.value),
            numpy.where(better, slope, place.slope),
            damping,
            numpy.where(better, length, place.moved),
            numpy.where(better, slow, place.slow),
            place.steps + 1,
            close | least,
            hopeless,
            place.last & ~better & ~least,
        )

    level = (begun == 0) & (_lowest_sign(curvature_at(start)) > 0)
    stuck = ((begun == 0) & ~level) | (height != height)
    place = _Place(start, height, first, zero, np.inf + zero, 0, 0, level, False, stuck)
    found = while_loop(go_on, step, place)
    return found.x, found.steps, found.done


def _solved_positive(matrix: Any, damping: Any, right: Any) -> Any:
    """Return the solution for a matrix plus a diagonal, nan unless that is positive definite."""
    if not matrix.ndim:
        whole = matrix + damping
        return numpy.where(whole > 0, right / whole, np.nan)
    unit = tracer_of(identity(value_of(matrix).type.shape, value_of(matrix).type.dtype))
    factor = build.cholesky(value_of(matrix + damping * unit))
    column = value_of(numpy.reshape(right, (-1, 1)))
    half = build.triangular_solve(factor, column, lower=True)
    found = build.triangular_solve(factor, half, lower=True, transposed=True)
    return numpy.reshape(tracer_of(found), (-1,))


def _lowest_sign(matrix: Any) -> Any:
    """Return something above zero if a matrix is positive definite, else nan or less."""
    if not matrix.ndim:
        return matrix
    factor = tracer_of(build.cholesky(value_of(matrix)))
    return numpy.min(numpy.diagonal(factor), initial=np.inf)
