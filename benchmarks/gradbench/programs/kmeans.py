"""The cost of k-means, and Newton's step for its centroids."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradc
from benchmarks.gradbench.programs.program import Function, as_list


@gradc.compile(fast=True)
def cost(points: Any, centroids: Any) -> Any:
    """Return the sum of the squared distances from points to the centroids nearest to them."""
    apart = points[:, None, :] - centroids
    return np.sum(np.min(np.sum(apart**2, axis=2), axis=1))


@gradc.compile(fast=True)
def direction(points: Any, centroids: Any) -> Any:
    """Return the gradient over the diagonal of the Hessian, which has no other elements."""
    gradient = gradc.grad(lambda c: cost(points, c))
    slope, diagonal = gradc.jvp(gradient, (centroids,), (np.ones_like(centroids),))
    return slope / diagonal


def arguments(given: Any) -> tuple[Any, ...]:
    """Return points and centroids."""
    return np.array(given["points"]), np.array(given["centroids"])


FUNCTIONS = {
    "cost": Function(cost, arguments, float),
    "dir": Function(direction, arguments, as_list),
}
