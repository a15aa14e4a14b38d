"""How far a pose is from where it should be: a rotation vector of quaternions, and a way."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.rows.row import Array
from benchmarks.rows.small.points import Point, complex_steps


def product(p: Any, q: Any) -> Any:
    """Return the product of two quaternions, the real part first."""
    return np.array(
        [
            p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
            p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
            p[0] * q[2] - p[1] * q[3] + p[2] * q[0] + p[3] * q[1],
            p[0] * q[3] + p[1] * q[2] - p[2] * q[1] + p[3] * q[0],
        ]
    )


def rotation(q: Any) -> Any:
    """Return the matrix of a unit quaternion."""
    w, x, y, z = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def error(pose: Any, target: Any) -> Any:
    """Return rotation vector and way from a pose to another, each a quaternion and a position."""
    q = pose[:4] / np.linalg.norm(pose[:4])
    back = q * np.array([1.0, -1.0, -1.0, -1.0])
    turn = product(back, target[:4])
    sine = np.linalg.norm(turn[1:])
    turned = 2 * np.arctan2(sine, turn[0]) / sine * turn[1:]
    return np.concatenate([turned, rotation(q).T @ (target[4:] - pose[4:])])


def _analytic(pose: Array, target: Array) -> Array:
    q = pose[:4] / np.sqrt(np.sum(pose[:4] ** 2))
    turn = product(q * np.array([1.0, -1.0, -1.0, -1.0]), target[:4])
    sine = np.sqrt(np.sum(turn[1:] ** 2))
    # the angle by half of it, since complex numbers have no arctan2
    angle = 4 * np.arctan(sine / (np.sqrt(sine**2 + turn[0] ** 2) + turn[0]))
    return np.concatenate([angle / sine * turn[1:], rotation(q).T @ (target[4:] - pose[4:])])


def _value_by_hand(pose: Array, target: Array) -> tuple[Any, ...]:
    return (_analytic(pose, target),)


def _jacobian_by_hand(pose: Array, target: Array) -> tuple[Any, ...]:
    return complex_steps(_analytic, (0,), pose, target)


def _in_casadi(casadi: Any) -> tuple[list[Any], list[Any]]:
    column = casadi.vertcat
    pose, target = casadi.SX.sym("pose", 7), casadi.SX.sym("target", 7)
    q = pose[:4] / casadi.norm_2(pose[:4])
    back = q * casadi.DM([1, -1, -1, -1])
    turn = column(*product(*([p[i] for i in range(4)] for p in (back, target))))
    sine = casadi.norm_2(turn[1:])
    turned = 2 * casadi.atan2(sine, turn[0]) / sine * turn[1:]
    rows = rotation([q[i] for i in range(4)])
    matrix = column(*(casadi.horzcat(*row) for row in rows))
    return [pose, target], [column(turned, matrix.T @ (target[4:] - pose[4:]))]


def data(random: np.random.Generator) -> tuple[Array, ...]:
    """Return a pose and its target."""
    poses = []
    for _ in range(2):
        q = random.normal(size=4)
        poses.append(np.concatenate([q / np.linalg.norm(q), random.normal(size=3)]))
    return tuple(poses)


POINTS = (
    Point("pose_error", error, "value", data, _value_by_hand, 100.0, _in_casadi),
    Point("pose_error_jacobian", error, "jacobian", data, _jacobian_by_hand, 300.0, _in_casadi),
)
