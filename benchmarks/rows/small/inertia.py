"""The inertia matrix of an arm of six joints, by composite rigid bodies in spatial vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.rows.row import Array, Function
from benchmarks.rows.small.points import Point

JOINTS = 6
OFFSETS = (
    (0.0, 0.0, 0.3),
    (0.1, 0.0, 0.1),
    (0.0, 0.4, 0.0),
    (0.0, 0.0, 0.35),
    (0.05, 0.0, 0.0),
    (0.0, 0.1, 0.05),
)
# right angles between one axis and the next
TURNS = [[[1.0, 0, 0], [0, 0, s], [0, -s, 0]] for s in (1, -1, 1, -1, 1, -1)]
MASSES = (4.0, 3.5, 3.0, 2.0, 1.5, 0.7)
CENTRES = (
    (0.0, 0.02, 0.1),
    (0.1, 0.0, 0.0),
    (0.0, 0.2, 0.01),
    (0.0, 0.0, 0.1),
    (0.02, 0.0, 0.0),
    (0.0, 0.0, 0.03),
)
AXIS = (0.0, 0.0, 1.0, 0.0, 0.0, 0.0)


def crossing(v: Any) -> Any:
    """Return the matrix of the cross product with a vector."""
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def _body(mass: float, centre: tuple[float, ...]) -> Array:
    found, c = np.zeros((6, 6)), crossing(centre)
    found[:3, :3] = np.diag([0.02, 0.03, 0.025]) * mass + mass * c @ c.T
    found[:3, 3:] = mass * c
    found[3:, :3] = mass * c.T
    found[3:, 3:] = mass * np.eye(3)
    return found


BODIES = [_body(mass, centre).tolist() for mass, centre in zip(MASSES, CENTRES)]


def transform(angle: Any, turn: Any, offset: Any) -> Any:
    """Return the motion transform from one link's frame to the next one's."""
    c, s = np.cos(angle), np.sin(angle)
    rotation = np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]]) @ np.array(turn)
    found = np.zeros((6, 6))
    found[:3, :3] = rotation
    found[3:, 3:] = rotation
    found[3:, :3] = -rotation @ crossing(offset)
    return found


def inertia(q: Any) -> Any:
    """Return the matrix."""
    moved = [transform(q[i], TURNS[i], OFFSETS[i]) for i in range(JOINTS)]
    composite = [np.array(body) for body in BODIES]
    for i in range(JOINTS - 1, 0, -1):
        composite[i - 1] = composite[i - 1] + moved[i].T @ composite[i] @ moved[i]
    axis = np.array(AXIS)
    found = np.zeros((JOINTS, JOINTS))
    for i in range(JOINTS):
        force = composite[i] @ axis
        found[i, i] = axis @ force
        for j in range(i, 0, -1):
            force = moved[j].T @ force
            found[i, j - 1] = found[j - 1, i] = axis @ force
    return found


def _by_hand(q: Array) -> tuple[Any, ...]:
    """Return it by the Jacobians of all bodies."""
    motions: list[Array] = []
    found = np.zeros((JOINTS, JOINTS))
    for i in range(JOINTS):
        moved = transform(q[i], TURNS[i], OFFSETS[i])
        motions = [moved @ motion for motion in motions] + [np.array(AXIS)]
        columns = np.array(motions)
        found[: i + 1, : i + 1] += columns @ np.array(BODIES[i]) @ columns.T
    return (found,)


def _in_casadi(casadi: Any) -> tuple[list[Any], list[Any]]:
    row, column = casadi.horzcat, casadi.vertcat
    q = casadi.SX.sym("q", JOINTS)
    moved = []
    for i in range(JOINTS):
        c, s = casadi.cos(q[i]), casadi.sin(q[i])
        turned = column(row(c, s, 0), row(-s, c, 0), row(0, 0, 1)) @ casadi.DM(TURNS[i])
        found = casadi.SX(6, 6)
        found[:3, :3] = turned
        found[3:, 3:] = turned
        found[3:, :3] = -turned @ casadi.DM(crossing(OFFSETS[i]))
        moved.append(found)
    composite = [casadi.SX(casadi.DM(body)) for body in BODIES]
    for i in range(JOINTS - 1, 0, -1):
        composite[i - 1] = composite[i - 1] + moved[i].T @ composite[i] @ moved[i]
    axis = casadi.DM(AXIS)
    result = casadi.SX(JOINTS, JOINTS)
    for i in range(JOINTS):
        force = composite[i] @ axis
        result[i, i] = axis.T @ force
        for j in range(i, 0, -1):
            force = moved[j].T @ force
            result[i, j - 1] = result[j - 1, i] = axis.T @ force
    return [q], [result]


def _in_jax(jax: Any) -> Function:
    """Return the same without assignments."""
    np = jax.numpy

    def transform(angle: Any, turn: Any, offset: Any) -> Any:
        c, s = np.cos(angle), np.sin(angle)
        rotation = np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]]) @ np.array(turn)
        below = -rotation @ crossing(offset)
        return np.block([[rotation, np.zeros((3, 3))], [below, rotation]])

    def inertia(q: Any) -> Any:
        moved = [transform(q[i], TURNS[i], OFFSETS[i]) for i in range(JOINTS)]
        composite = [np.array(body) for body in BODIES]
        for i in range(JOINTS - 1, 0, -1):
            composite[i - 1] = composite[i - 1] + moved[i].T @ composite[i] @ moved[i]
        axis = np.array(AXIS)
        rows = [[0.0] * JOINTS for _ in range(JOINTS)]
        for i in range(JOINTS):
            force = composite[i] @ axis
            rows[i][i] = axis @ force
            for j in range(i, 0, -1):
                force = moved[j].T @ force
                rows[i][j - 1] = rows[j - 1][i] = axis @ force
        return np.array(rows)

    return inertia


def data(random: np.random.Generator) -> tuple[Array, ...]:
    """Return the angles of the joints."""
    return (random.uniform(-np.pi, np.pi, JOINTS),)


POINTS = (Point("inertia", inertia, "value", data, _by_hand, 1000.0, _in_casadi, jax=_in_jax),)
