"""How large vectors and matrices are: norms, and the condition of equations."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.tracing.building.by_name import array, numpy
from gradc.tracing.numpy.linalg.norms import norm
from gradc.tracing.numpy.linalg.solving import inv
from gradc.tracing.record.primitives import stop_gradient


def norm_of(x: Any) -> Any:
    """Return the Euclidean norm of a vector, the size of a number."""
    return norm(x) if array(x).ndim else numpy.abs(x)


def size_of(x: Any) -> Any:
    """Return the largest size of an element, nan where one is nan."""
    return numpy.max(numpy.abs(x), initial=0.0) if array(x).ndim else numpy.abs(x)


def condition_of(matrix: Any) -> Any:
    """Return the condition number of a matrix by column sums, inf where it is singular.

    Of a number it is 1, and inf for zero.
    """
    if not matrix.ndim:
        return numpy.where(matrix == 0, np.inf, 1.0 + 0.0 * matrix)
    found = _column_sums(matrix) * _column_sums(inv(matrix))
    return numpy.where(numpy.isnan(found) & numpy.all(numpy.isfinite(matrix)), np.inf, found)


def _column_sums(matrix: Any) -> Any:
    return numpy.max(numpy.sum(numpy.abs(matrix), axis=0), initial=0.0)


def regular(matrix: Any, x: Any) -> Any:
    """Return a matrix; nan in place of one that is singular to rounding, or where x is nan."""
    fixed = stop_gradient(matrix)
    most = 1.0 / np.finfo(matrix.dtype).eps
    good = (condition_of(fixed) < most) & numpy.all(numpy.isfinite(stop_gradient(x)))
    return numpy.where(good, matrix, np.nan)
