"""A step of a Kalman filter: place and velocity in space, of which the place is measured."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.rows.row import Array
from benchmarks.rows.small.points import Point, matrix

STEP, NOISE = 0.1, 0.01
BLUR = ((0.11, 0.01, 0.01), (0.01, 0.11, 0.01), (0.01, 0.01, 0.11))


def step(x: Any, p: Any, z: Any) -> Any:
    """Return state and covariance after a move and a measurement."""
    move = np.eye(6) + STEP * np.eye(6, k=3)
    seen = np.eye(3, 6)
    x = move @ x
    p = move @ p @ move.T + NOISE * np.eye(6)
    spread = seen @ p @ seen.T + np.array(BLUR)
    gain = np.linalg.solve(spread, seen @ p).T
    return x + gain @ (z - seen @ x), (np.eye(6) - gain @ seen) @ p


def _by_hand(x: Array, p: Array, z: Array) -> tuple[Any, ...]:
    move = np.block([[np.eye(3), STEP * np.eye(3)], [np.zeros((3, 3)), np.eye(3)]])
    x, p = move @ x, move @ p @ move.T + NOISE * np.eye(6)
    gain = p[:, :3] @ np.linalg.inv(p[:3, :3] + np.array(BLUR))
    return x + gain @ (z - x[:3]), p - gain @ p[:3]


def _in_casadi(casadi: Any) -> tuple[list[Any], list[Any]]:
    x, z = casadi.SX.sym("x", 6), casadi.SX.sym("z", 3)
    symbol, p = matrix(casadi, "p", 6, 6)
    move = casadi.DM(np.eye(6) + STEP * np.eye(6, k=3))
    seen = casadi.DM(np.eye(3, 6))
    x1 = move @ x
    p = move @ p @ move.T + NOISE * casadi.DM.eye(6)
    spread = seen @ p @ seen.T + casadi.DM(BLUR)
    gain = casadi.solve(spread, seen @ p).T
    return [x, symbol, z], [x1 + gain @ (z - seen @ x1), (casadi.DM.eye(6) - gain @ seen) @ p]


def data(random: np.random.Generator) -> tuple[Array, ...]:
    """Return a state, its covariance and a measurement."""
    root = random.normal(size=(6, 6))
    return random.normal(size=6), root @ root.T + np.eye(6), random.normal(size=3)


POINTS = (Point("kalman", step, "value", data, _by_hand, 700.0, _in_casadi),)
