"""np.polyfit: least squares for the coefficients of a polynomial."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.tracing.building.by_name import array, number, numpy
from gradc.tracing.numpy.linalg import products
from gradc.tracing.numpy.linalg.least_squares import fitted, fraction, relative
from gradc.tracing.numpy.linalg.matrices import vander
from gradc.tracing.numpy.linalg.solving import inv
from gradc.tracing.numpy.linalg.stacks import Stacks
from gradc.tracing.registry.numpy_function import numpy_function


@numpy_function("polyfit")
def polyfit(
    x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:
    """Record ``np.polyfit`` for a known degree; no warning where the fit is not determined."""
    order = number(deg, "np.polyfit: the degree") + 1
    points, values = (array(part) + 0.0 for part in (x, y))
    checked = Stacks("np.polyfit", points, values)
    if order < 1:
        raise checked.failure("the degree is at least 0")
    if points.ndim != 1 or values.ndim not in (1, 2):
        raise checked.failure("takes a vector x, and a vector or a matrix y")
    checked.match(points.type.shape[0], values.type.shape[0], "x and y differ in length")
    if rcond is None:
        epsilon = float(np.finfo(points.dtype).eps)
        rcond = number(points.shape[0], "np.polyfit") * epsilon
    left, right = vander(points, order), values
    if w is not None:
        weights = array(w) + 0.0
        left = left * weights[:, None]
        right = right * (weights[:, None] if right.ndim == 2 else weights)
    scale = array(numpy.sqrt(numpy.sum(left * left, axis=0)))
    left = left / scale
    stacks = Stacks("np.polyfit", left, right)
    matrix, sides = stacks.values
    cutoff = relative(fraction(rcond, "np.polyfit: rcond"), matrix)
    solution, rest, rank, s = map(stacks.result, fitted(stacks, matrix, sides, cutoff))
    found = array(solution)
    found = array(found.T / scale).T
    if full:
        return found, rest, rank, s, rcond
    if not cov:
        return found
    base = inv(products.dot(left.T, left)) / products.outer(scale, scale)
    if cov != "unscaled":
        count = number(points.shape[0], "np.polyfit with cov")
        if count <= order:
            raise checked.failure("the covariance needs more points than coefficients")
        factor = array(rest) / (count - order)
        base = base * factor if values.ndim == 1 else base[:, :, None] * factor
    elif values.ndim == 2:
        base = base[:, :, None]
    return found, base
