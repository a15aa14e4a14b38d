"""Functions of scipy.spatial.distance: distances of all pairs of points."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.tracing.building.by_name import array, number, numpy, refuse
from gradc.tracing.core.source import shape_error
from gradc.tracing.core.table import AnyFunction
from gradc.tracing.numpy.linalg.norms import norm
from gradc.tracing.registry.scipy_function import scipy_function


def _norm(order: Any) -> AnyFunction:
    return lambda difference, left, right: _length(difference, order)


def _length(vectors: Any, order: Any = None) -> Any:
    return norm(vectors, ord=order, axis=-1)


# metric -> the distance of points, of their difference and the two along the last axis
METRICS: dict[str, AnyFunction] = {
    "euclidean": _norm(None),
    "sqeuclidean": lambda difference, left, right: numpy.sum(difference * difference, axis=-1),
    "cityblock": _norm(1),
    "chebyshev": _norm(np.inf),
    "cosine": lambda difference, left, right: (
        1.0 - numpy.sum(left * right, axis=-1) / (_length(left) * _length(right))
    ),
}


def _metric(name: str, metric: Any, p: Any) -> AnyFunction:
    if metric == "minkowski":
        return _norm(2 if p is None else p)
    found = METRICS.get(metric) if isinstance(metric, str) and p is None else None
    if found is None:
        wanted = ", ".join(repr(one) for one in (*METRICS, "minkowski"))
        raise refuse(f"{name} of this metric", f"the metrics are {wanted}, the last with p=")
    return found


def _points(name: str, x: Any) -> Any:
    points = array(x)
    if points.ndim != 2:
        raise shape_error(f"{name} takes a matrix whose rows are points")
    return points.astype(np.float64)  # as SciPy computes them


@scipy_function("spatial.distance.cdist")
def cdist(XA: Any, XB: Any, metric: Any = "euclidean", *, p: Any = None) -> Any:
    """Record ``scipy.spatial.distance.cdist``."""
    name = "scipy.spatial.distance.cdist"
    left, right = _points(name, XA)[:, None, :], _points(name, XB)[None, :, :]
    return _metric(name, metric, p)(left - right, left, right)


@scipy_function("spatial.distance.pdist")
def pdist(X: Any, metric: Any = "euclidean", *, p: Any = None) -> Any:
    """Record ``scipy.spatial.distance.pdist``: each pair once, row by row."""
    name = "scipy.spatial.distance.pdist"
    points = _points(name, X)
    rows, columns = np.triu_indices(number(points.shape[0], name), 1)
    left, right = points[rows], points[columns]
    return _metric(name, metric, p)(left - right, left, right)
