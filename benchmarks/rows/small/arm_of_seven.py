"""An arm of seven joints by Denavit and Hartenberg's matrices: where it is, and what it weighs."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.rows.row import Array
from benchmarks.rows.small.points import Point

TWIST = (-np.pi / 2, np.pi / 2, -np.pi / 2, np.pi / 2, -np.pi / 2, np.pi / 2, 0.0)
OFFSET = (0.34, 0.0, 0.4, 0.0, 0.4, 0.0, 0.126)
LENGTH = (0.0, 0.01, 0.0, 0.02, 0.0, 0.0, 0.03)
MASS = (5.76, 6.35, 3.5, 3.5, 3.5, 1.8, 1.2)
CENTRE = (
    (0.0, -0.03, 0.12, 1.0),
    (0.0003, 0.059, 0.042, 1.0),
    (0.0, 0.03, 0.13, 1.0),
    (0.0, 0.067, 0.034, 1.0),
    (0.0001, 0.021, 0.076, 1.0),
    (0.0, 0.0006, 0.0004, 1.0),
    (0.0, 0.0, 0.02, 1.0),
)
GRAVITY = 9.81


def link(angle: Any, offset: float, length: float, twist: float) -> Any:
    """Return the matrix of a joint and its link."""
    c, s = np.cos(angle), np.sin(angle)
    ct, st = np.cos(twist), np.sin(twist)
    return np.array(
        [
            [c, -s * ct, s * st, length * c],
            [s, c * ct, -c * st, length * s],
            [0, st, ct, offset],
            [0, 0, 0, 1],
        ]
    )


def position(q: Any) -> Any:
    """Return where the hand is."""
    pose = np.eye(4)
    for i in range(7):
        pose = pose @ link(q[i], OFFSET[i], LENGTH[i], TWIST[i])
    return pose[:3, 3]


def potential(q: Any) -> Any:
    """Return the energy of all links in the field of the earth."""
    pose = np.eye(4)
    energy = 0.0
    for i in range(7):
        pose = pose @ link(q[i], OFFSET[i], LENGTH[i], TWIST[i])
        energy = energy + MASS[i] * GRAVITY * (pose @ np.array(CENTRE[i]))[2]
    return energy


def _frames(q: Array) -> tuple[list[Array], list[Array], list[Array]]:
    """Return the axes that joints turn around, where these stand, and the centres of the links."""
    pose = np.eye(4)
    axes, origins, centres = [], [], []
    for i in range(7):
        axes.append(pose[:3, 2])
        origins.append(pose[:3, 3])
        pose = pose @ link(q[i], OFFSET[i], LENGTH[i], TWIST[i])
        centres.append((pose @ CENTRE[i])[:3])
    origins.append(pose[:3, 3])
    return axes, origins, centres


def _position_by_hand(q: Array) -> tuple[Any, ...]:
    return (_frames(q)[1][-1],)


def _jacobian_by_hand(q: Array) -> tuple[Any, ...]:
    axes, origins, _ = _frames(q)
    hand = origins[-1]
    return (np.stack([np.cross(axes[i], hand - origins[i]) for i in range(7)], axis=-1),)


def _potential_by_hand(q: Array) -> tuple[Any, ...]:
    axes, origins, centres = _frames(q)
    energy = sum(m * GRAVITY * c[2] for m, c in zip(MASS, centres))
    slopes = [
        sum(MASS[k] * GRAVITY * np.cross(axes[i], centres[k] - origins[i])[2] for k in range(i, 7))
        for i in range(7)
    ]
    return energy, np.array(slopes)


def _hessian_by_hand(q: Array) -> tuple[Any, ...]:
    axes, origins, centres = _frames(q)
    found = np.zeros((7, 7))
    for i in range(7):
        for j in range(i, 7):
            for k in range(j, 7):
                arm = np.cross(axes[j], centres[k] - origins[j])
                found[i, j] += MASS[k] * GRAVITY * np.cross(axes[i], arm)[2]
            found[j, i] = found[i, j]
    return (found,)


def _link_in_casadi(casadi: Any, angle: Any, i: int) -> Any:
    c, s = casadi.cos(angle), casadi.sin(angle)
    ct, st = np.cos(TWIST[i]), np.sin(TWIST[i])
    row = casadi.horzcat
    return casadi.vertcat(
        row(c, -s * ct, s * st, LENGTH[i] * c),
        row(s, c * ct, -c * st, LENGTH[i] * s),
        row(0, st, ct, OFFSET[i]),
        row(0, 0, 0, 1),
    )


def _position_in_casadi(casadi: Any) -> tuple[list[Any], list[Any]]:
    q, pose = casadi.SX.sym("q", 7), casadi.SX.eye(4)
    for i in range(7):
        pose = pose @ _link_in_casadi(casadi, q[i], i)
    return [q], [pose[:3, 3]]


def _potential_in_casadi(casadi: Any) -> tuple[list[Any], list[Any]]:
    q, pose, energy = casadi.SX.sym("q", 7), casadi.SX.eye(4), 0.0
    for i in range(7):
        pose = pose @ _link_in_casadi(casadi, q[i], i)
        energy = energy + MASS[i] * GRAVITY * (pose @ casadi.DM(CENTRE[i]))[2]
    return [q], [energy]


def data(random: np.random.Generator) -> tuple[Array, ...]:
    """Return the angles of the joints."""
    return (random.uniform(-np.pi, np.pi, 7),)


POINTS = (
    Point("arm7", position, "value", data, _position_by_hand, 300.0, _position_in_casadi),
    Point(
        "arm7_jacobian", position, "jacobian", data, _jacobian_by_hand, 450.0, _position_in_casadi
    ),
    Point(
        "arm7_potential",
        potential,
        "value_and_grad",
        data,
        _potential_by_hand,
        600.0,
        _potential_in_casadi,
    ),
    Point(
        "arm7_hessian", potential, "hessian", data, _hessian_by_hand, 1500.0, _potential_in_casadi
    ),
)
