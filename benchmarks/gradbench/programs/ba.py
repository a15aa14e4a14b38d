"""Bundle adjustment: cameras, points and weights from where the points are seen."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradc
from benchmarks.gradbench.programs.program import Function


def turn(rotation: Any, point: Any) -> Any:
    """Return a point turned about an axis by its length, by the formula of Rodrigues."""
    angle = np.sqrt(np.sum(rotation**2))
    axis = rotation / angle
    along = np.sum(axis * point) * (1 - np.cos(angle))
    return point * np.cos(angle) + np.cross(axis, point) * np.sin(angle) + axis * along


def error(camera: Any, point: Any, weight: Any, feature: Any) -> Any:
    """Return how far, weighted, a point is seen from its feature.

    A camera is rotation, centre, focal length, principal point and two numbers of distortion.
    """
    moved = turn(camera[:3], point - camera[3:6])
    seen = moved[:2] / moved[2]
    square = np.sum(seen**2)
    distortion = 1 + camera[9] * square + camera[10] * square**2
    return weight * (seen * distortion * camera[6] + camera[7:9] - feature)


@gradc.compile
def objective(
    cameras: Any, points: Any, weights: Any, camera_of: Any, point_of: Any, features: Any
) -> Any:
    """Return the errors of all observations, and those of their weights."""
    errors = gradc.vmap(error)(cameras[camera_of], points[point_of], weights, features)
    return errors, 1 - weights**2


@gradc.compile
def values(
    cameras: Any, points: Any, weights: Any, camera_of: Any, point_of: Any, features: Any
) -> Any:
    """Return the elements of the Jacobian, row by row: first all errors, then all weights."""

    def block(*given: Any) -> Any:
        parts = gradc.jacobian(error, wrt=(0, 1, 2))(*given)
        return np.concatenate([part.reshape(2, -1) for part in parts], axis=1)

    blocks = gradc.vmap(block)(cameras[camera_of], points[point_of], weights, features)
    return np.concatenate([blocks.ravel(), -2 * weights])


@gradc.compile
def places(cameras: Any, points: Any, weights: Any, camera_of: Any, point_of: Any) -> Any:
    """Return where the rows begin and the columns of their elements."""
    n, m, p = len(cameras), len(points), len(weights)
    own = 11 * n + 3 * m + np.arange(p)
    columns = np.concatenate(
        [
            11 * camera_of[:, None] + np.arange(11),
            11 * n + 3 * point_of[:, None] + np.arange(3),
            own[:, None],
        ],
        axis=1,
    )
    rows = np.concatenate([15 * np.arange(2 * p + 1), 30 * p + 1 + np.arange(p)])
    return rows, np.concatenate([np.stack([columns, columns], axis=1).ravel(), own])


def jacobian(*given: Any) -> Any:
    """Return the Jacobian by cameras, points and weights, as compressed rows."""
    return *places(*given[:5]), values(*given)


def arguments(given: Any) -> tuple[Any, ...]:
    """Return cameras, points, weights, who sees what, and where."""
    n, m, p = given["n"], given["m"], given["p"]
    return (
        np.tile(np.array(given["cam"]), (n, 1)),
        np.tile(np.array(given["x"]), (m, 1)),
        np.full(p, float(given["w"])),
        np.arange(p) % n,
        np.arange(p) % m,
        np.tile(np.array(given["feat"]), (p, 1)),
    )


def errors_answer(result: Any) -> Any:
    """Return the first errors and how often they are repeated."""
    errors, weights = result
    return {
        "reproj_error": {"elements": errors[0].tolist(), "repeated": len(errors)},
        "w_err": {"element": float(weights[0]), "repeated": len(weights)},
    }


def places_answer(result: Any) -> Any:
    """Return the first thirty and the last of each part."""
    rows, columns, elements = ([*part[:30].tolist(), part[-1].item()] for part in result)
    return {"rows": rows, "cols": columns, "vals": elements}


FUNCTIONS = {
    "objective": Function(objective, arguments, errors_answer),
    "jacobian": Function(jacobian, arguments, places_answer),
}
