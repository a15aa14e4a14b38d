"""Bundle adjustment: the 2 x 15 block of the Jacobian of every observation."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradc
from benchmarks.rows.row import Array, Function, Row, Sizes


def residual(parameters: Any, feature: Any) -> Any:
    """Return the weighted error of a projected point, after ADBench.

    The parameters are rotation, centre, focal length, principal point and two coefficients of
    distortion of a camera, then a point in space and a weight.
    """
    rotation, moved = parameters[0:3], parameters[11:14] - parameters[3:6]
    angle = np.sqrt(np.sum(rotation**2))
    axis = rotation / angle
    along = np.sum(axis * moved) * (1 - np.cos(angle))
    turned = moved * np.cos(angle) + np.cross(axis, moved) * np.sin(angle) + axis * along
    seen = turned[0:2] / turned[2]
    square = np.sum(seen**2)
    distortion = 1 + parameters[9] * square + parameters[10] * square**2
    projected = seen * distortion * parameters[6] + parameters[7:9]
    return parameters[14] * (projected - feature)


def bundle(
    cameras: Any, points: Any, weights: Any, camera_of: Any, point_of: Any, features: Any
) -> Any:
    """Return the blocks of all observations."""
    parameters = np.concatenate([cameras[camera_of], points[point_of], weights[:, None]], axis=1)
    return gradc.vmap(gradc.jacobian(residual))(parameters, features)


def in_jax(jax: Any) -> Function:
    """Return the same for JAX, in reverse mode, which suits two results of fifteen numbers."""
    np = jax.numpy

    def residual(parameters: Any, feature: Any) -> Any:
        rotation, moved = parameters[0:3], parameters[11:14] - parameters[3:6]
        angle = np.sqrt(np.sum(rotation**2))
        axis = rotation / angle
        along = np.sum(axis * moved) * (1 - np.cos(angle))
        turned = moved * np.cos(angle) + np.cross(axis, moved) * np.sin(angle) + axis * along
        seen = turned[0:2] / turned[2]
        square = np.sum(seen**2)
        distortion = 1 + parameters[9] * square + parameters[10] * square**2
        projected = seen * distortion * parameters[6] + parameters[7:9]
        return parameters[14] * (projected - feature)

    def bundle(
        cameras: Any, points: Any, weights: Any, camera_of: Any, point_of: Any, features: Any
    ) -> Any:
        parameters = np.concatenate(
            [cameras[camera_of], points[point_of], weights[:, None]], axis=1
        )
        return jax.vmap(jax.jacrev(residual))(parameters, features)

    return bundle


def by_hand(
    cameras: Array,
    points: Array,
    weights: Array,
    camera_of: Array,
    point_of: Array,
    features: Array,
) -> tuple[Any, ...]:
    """Return the blocks by complex steps: exact, with nothing derived."""
    parameters = np.concatenate([cameras[camera_of], points[point_of], weights[:, None]], axis=1)
    blocks = np.empty((len(features), 2, 15))
    for j in range(15):
        stepped = parameters.astype(complex).T
        stepped[j] += 1e-30j
        blocks[:, :, j] = _residuals(stepped, features.T).imag.T / 1e-30
    return (blocks,)


def _residuals(parameters: Array, features: Array) -> Array:
    """Return the residuals of all observations, one a column."""
    rotation, moved = parameters[0:3], parameters[11:14] - parameters[3:6]
    angle = np.sqrt(np.sum(rotation**2, axis=0))
    axis = rotation / angle
    along = np.sum(axis * moved, axis=0) * (1 - np.cos(angle))
    crossed = np.cross(axis, moved, axis=0)
    turned = moved * np.cos(angle) + crossed * np.sin(angle) + axis * along
    seen = turned[0:2] / turned[2]
    square = np.sum(seen**2, axis=0)
    distortion = 1 + parameters[9] * square + parameters[10] * square**2
    errors: Array = parameters[14] * (
        seen * distortion * parameters[6] + parameters[7:9] - features
    )
    return errors


def data(random: np.random.Generator, sizes: Sizes) -> tuple[Array, ...]:
    """Return cameras, points in front of them, weights, and who sees what where."""
    cameras, points, n = sizes["cameras"], sizes["points"], sizes["n"]
    camera = np.concatenate(
        [
            0.2 * random.normal(size=(cameras, 3)),
            0.1 * random.normal(size=(cameras, 3)),
            500 + random.normal(size=(cameras, 1)),
            random.normal(size=(cameras, 2)),
            0.01 * random.normal(size=(cameras, 2)),
        ],
        axis=1,
    )
    return (
        camera,
        random.uniform([-1, -1, 4], [1, 1, 6], size=(points, 3)),
        random.uniform(0.5, 1.5, size=n),
        random.integers(0, cameras, n),
        random.integers(0, points, n),
        random.normal(size=(n, 2)),
    )


ROW = Row(
    name="bundle",
    function=bundle,
    wrt=None,
    sizes=({"cameras": 49, "points": 7_776, "n": 30_000},),
    tiny={"cameras": 3, "points": 5, "n": 37},
    data=data,
    flops=lambda sizes: 400.0 * sizes["n"],
    by_hand=by_hand,
    jax=in_jax,
)
