"""Hand tracking: the pose of a hand, from points near to its surface."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradc
from benchmarks.gradbench.programs.program import Function, as_list


def poses_of(theta: Any, bones: int) -> Any:
    """Return three angles a bone: of each finger two in the first joint, one in two others."""
    poses = np.zeros((bones, 3))
    at = 6
    for finger in range(5):
        for joint in range(3):
            poses[2 + 4 * finger + joint, 0] = theta[at]
            at += 1
            if joint == 0:
                poses[2 + 4 * finger, 1] = theta[at]
                at += 1
    return poses


def rotation_of(angles: Any) -> Any:
    """Return the rotation by angles about x, z and y, in this order."""
    (cx, cz, cy), (sx, sz, sy) = np.cos(angles), np.sin(angles)
    about_x = np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
    about_y = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    about_z = np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])
    return about_z @ about_y @ about_x


def rotation_about(axis: Any) -> Any:
    """Return the rotation about an axis by its length."""
    angle = np.sqrt(np.sum(axis**2))
    x, y, z = axis / angle
    s, c = np.sin(angle), np.cos(angle)
    return np.array(
        [
            [x * x + (1 - x * x) * c, x * y * (1 - c) - z * s, x * z * (1 - c) + y * s],
            [x * y * (1 - c) + z * s, y * y + (1 - y * y) * c, y * z * (1 - c) - x * s],
            [x * z * (1 - c) - y * s, z * y * (1 - c) + x * s, z * z + (1 - z * z) * c],
        ]
    )


def surface(
    theta: Any, parents: Any, bases: Any, inverses: Any, positions: Any, weights: Any, mirrored: Any
) -> Any:
    """Return the vertices of the posed hand: each is moved by all bones, weighted."""
    absolutes: list[Any] = []
    for parent, base, pose in zip(parents, bases, poses_of(theta, len(parents))):
        local = np.eye(4)
        local[:3, :3] = rotation_of(pose)
        relative = base @ local
        absolutes.append(relative if parent < 0 else absolutes[parent] @ relative)
    moves = np.stack(absolutes) @ inverses
    moved = np.einsum("vb,bij,vj->vi", weights, moves[:, :3], positions)
    if mirrored:
        moved = moved * np.array([-1, 1, 1])
    return moved @ rotation_about(theta[:3]).T + theta[3:6]


@gradc.compile(static=("parents", "mirrored"))
def objective(
    theta: Any,
    us: Any,
    parents: Any,
    bases: Any,
    inverses: Any,
    positions: Any,
    weights: Any,
    mirrored: Any,
    corners: Any,
    points: Any,
) -> Any:
    """Return f64[n,3], how far points are from their places on the surface.

    Where there are ``us``, f64[n,2], the place is between three vertices, else it is one.
    """
    vertices = surface(theta, parents, bases, inverses, positions, weights, mirrored)
    if len(us) == 0:
        return points - vertices[corners]
    u, v = us[:, :1], us[:, 1:]
    a, b, c = (vertices[corners[:, i]] for i in range(3))
    return points - (u * a + v * b + (1 - u - v) * c)


@gradc.compile(static=("parents", "mirrored"))
def jacobian(
    theta: Any,
    us: Any,
    parents: Any,
    bases: Any,
    inverses: Any,
    positions: Any,
    weights: Any,
    mirrored: Any,
    corners: Any,
    points: Any,
) -> Any:
    """Return f64[3*n,2+26], by each point's own two of ``us`` and by theta, or f64[3*n,26]."""
    rest = (parents, bases, inverses, positions, weights, mirrored, corners, points)
    by_theta = gradc.jacobian(lambda theta: objective(theta, us, *rest))(theta)
    if len(us) == 0:
        return by_theta.reshape(-1, len(theta))
    own = [
        gradc.jvp(lambda us: objective(theta, us, *rest), (us,), (np.zeros_like(us) + seed,))[1]
        for seed in np.eye(2)
    ]
    return np.concatenate([np.stack(own, axis=2), by_theta], axis=2).reshape(-1, 2 + len(theta))


def arguments(given: Any) -> tuple[Any, ...]:
    """Return angles, places on triangles, the model and the points."""
    data, model = given["data"], given["data"]["model"]
    corners = np.array(data["correspondences"])
    us = np.array(given["us"]).reshape(-1, 2)
    if len(us):
        corners = np.array(model["triangles"])[corners]
    return (
        np.array(given["theta"]),
        us,
        tuple(model["parents"]),
        np.array(model["base_relatives"]),
        np.array(model["inverse_base_absolutes"]),
        np.array(model["base_positions"]),
        np.array(model["weights"]),
        model["is_mirrored"],
        corners,
        np.array(data["points"]),
    )


FUNCTIONS = {
    "objective": Function(objective, arguments, lambda errors: errors.ravel().tolist()),
    "jacobian": Function(jacobian, arguments, as_list),
}
