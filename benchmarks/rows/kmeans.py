"""The cost of k-means: its gradient by the centroids and the diagonal of its Hessian."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradc
from benchmarks.rows.row import Array, Function, Row, Sizes


def cost(centroids: Any, points: Any) -> Any:
    """Return the sum of the squared distances to the nearest centroid."""
    apart = points[:, None, :] - centroids
    return np.sum(np.min(np.sum(apart**2, axis=2), axis=1))


def kmeans(centroids: Any, points: Any) -> Any:
    """Return the gradient and the diagonal of the Hessian, which is diagonal: its row sums."""
    return gradc.jvp(
        lambda c: gradc.grad(cost)(c, points), (centroids,), (np.ones(centroids.shape),)
    )


def in_jax(jax: Any) -> Function:
    """Return the same for JAX."""
    np = jax.numpy

    def cost(centroids: Any, points: Any) -> Any:
        apart = points[:, None, :] - centroids
        return np.sum(np.min(np.sum(apart**2, axis=2), axis=1))

    def kmeans(centroids: Any, points: Any) -> Any:
        return jax.jvp(
            lambda c: jax.grad(cost)(c, points), (centroids,), (np.ones(centroids.shape),)
        )

    return kmeans


def by_hand(centroids: Array, points: Array) -> tuple[Any, ...]:
    """Return gradient and diagonal, the points in pieces."""
    nearest = np.concatenate(
        [
            np.argmin(np.sum((piece[:, None, :] - centroids) ** 2, axis=2), axis=1)
            for piece in np.array_split(points, 1 + len(points) // 1000)
        ]
    )
    gradient = np.zeros_like(centroids)
    np.add.at(gradient, nearest, 2 * (centroids[nearest] - points))
    members = np.bincount(nearest, minlength=len(centroids)).astype(float)
    return gradient, np.broadcast_to(2 * members[:, None], centroids.shape)


def data(random: np.random.Generator, sizes: Sizes) -> tuple[Array, ...]:
    """Return centroids and points."""
    k, n, d = sizes["k"], sizes["n"], sizes["d"]
    return random.normal(size=(k, d)), random.normal(size=(n, d))


ROW = Row(
    name="kmeans",
    function=kmeans,
    wrt=None,
    sizes=({"k": 100, "n": 10_000, "d": 16},),
    tiny={"k": 4, "n": 37, "d": 3},
    data=data,
    flops=lambda sizes: sizes["n"] * (3.0 * sizes["k"] * sizes["d"] + 4 * sizes["d"]),
    by_hand=by_hand,
    jax=in_jax,
)
