"""An arm of three joints by matrices of rotation."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.rows.row import Array
from benchmarks.rows.small.points import Point

BASE = (0.0, 0.0, 0.4)
UPPER = (0.5, 0.1, 0.0)
LOWER = (0.4, 0.0, -0.05)


def around_z(angle: Any) -> Any:
    """Return the rotation around the third axis."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def around_y(angle: Any) -> Any:
    """Return the rotation around the second axis."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])


def hand(q: Any) -> Any:
    """Return where the hand is."""
    shoulder = around_z(q[0]) @ around_y(q[1])
    elbow = np.array(UPPER) + around_y(q[2]) @ np.array(LOWER)
    return np.array(BASE) + shoulder @ elbow


def _hand_by_hand(q: Array) -> tuple[Any, ...]:
    return (hand(q),)


def _jacobian_by_hand(q: Array) -> tuple[Any, ...]:
    turn, lift = around_z(q[0]), around_y(q[1])
    at = hand(q)
    base = np.array(BASE)
    elbow = base + turn @ lift @ UPPER
    side = turn[:, 1]
    columns = [
        np.cross([0.0, 0.0, 1.0], at),
        np.cross(side, at - base),
        np.cross(side, at - elbow),
    ]
    return (np.stack(columns, axis=-1),)


def _in_casadi(casadi: Any) -> tuple[list[Any], list[Any]]:
    def around_z(angle: Any) -> Any:
        c, s = casadi.cos(angle), casadi.sin(angle)
        return casadi.vertcat(
            casadi.horzcat(c, -s, 0), casadi.horzcat(s, c, 0), casadi.horzcat(0, 0, 1)
        )

    def around_y(angle: Any) -> Any:
        c, s = casadi.cos(angle), casadi.sin(angle)
        return casadi.vertcat(
            casadi.horzcat(c, 0, s), casadi.horzcat(0, 1, 0), casadi.horzcat(-s, 0, c)
        )

    q = casadi.SX.sym("q", 3)
    shoulder = around_z(q[0]) @ around_y(q[1])
    base, upper, lower = map(casadi.DM, (BASE, UPPER, LOWER))
    return [q], [base + shoulder @ (upper + around_y(q[2]) @ lower)]


def data(random: np.random.Generator) -> tuple[Array, ...]:
    """Return the angles of the joints."""
    return (random.uniform(-np.pi, np.pi, 3),)


POINTS = (
    Point("arm3", hand, "value", data, _hand_by_hand, 40.0, _in_casadi),
    Point("arm3_jacobian", hand, "jacobian", data, _jacobian_by_hand, 60.0, _in_casadi),
)
