"""A quadrotor: how its twelve numbers of state change, and the Jacobians by state and thrusts."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.rows.row import Array
from benchmarks.rows.small.points import Point, complex_steps

MASS, GRAVITY, ARM, DRAG = 0.8, 9.81, 0.17, 0.016
INERTIA = (0.0047, 0.0052, 0.0089)


def dynamics(x: Any, u: Any) -> Any:
    """Return the rates of position, angles (roll, pitch, yaw), velocity and turning."""
    velocity, turning = x[6:9], x[9:12]
    cr, sr = np.cos(x[3]), np.sin(x[3])
    cp, sp = np.cos(x[4]), np.sin(x[4])
    cy, sy = np.cos(x[5]), np.sin(x[5])
    roll = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    pitch = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    yaw = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    to_angles = np.array([[1, sr * sp / cp, cr * sp / cp], [0, cr, -sr], [0, sr / cp, cr / cp]])
    thrust = np.array([0, 0, u[0] + u[1] + u[2] + u[3]])
    torque = np.array(
        [ARM * (u[1] - u[3]), ARM * (u[2] - u[0]), DRAG * (u[0] - u[1] + u[2] - u[3])]
    )
    pull = yaw @ pitch @ roll @ thrust / MASS - np.array([0, 0, GRAVITY])
    inertia = np.diag(np.array(INERTIA))
    spin = np.linalg.inv(inertia) @ (torque - np.cross(turning, inertia @ turning))
    return np.concatenate([velocity, to_angles @ turning, pull, spin])


def _value_by_hand(x: Array, u: Array) -> tuple[Any, ...]:
    return (dynamics(x, u),)


def _jacobian_by_hand(x: Array, u: Array) -> tuple[Any, ...]:
    def rates(x: Array, u: Array) -> Array:
        cr, sr, cp, sp, cy, sy = (f(x[i]) for i in (3, 4, 5) for f in (np.cos, np.sin))
        p, q, r = x[9:12]
        lift = (u[0] + u[1] + u[2] + u[3]) / MASS
        a, b, c = INERTIA
        return np.array(
            [
                x[6],
                x[7],
                x[8],
                p + (sr * q + cr * r) * sp / cp,
                cr * q - sr * r,
                (sr * q + cr * r) / cp,
                lift * (cy * sp * cr + sy * sr),
                lift * (sy * sp * cr - cy * sr),
                lift * cp * cr - GRAVITY,
                (ARM * (u[1] - u[3]) - (c - b) * q * r) / a,
                (ARM * (u[2] - u[0]) - (a - c) * p * r) / b,
                (DRAG * (u[0] - u[1] + u[2] - u[3]) - (b - a) * p * q) / c,
            ]
        )

    return complex_steps(rates, (0, 1), x, u)


def _in_casadi(casadi: Any) -> tuple[list[Any], list[Any]]:
    row, column = casadi.horzcat, casadi.vertcat
    x, u = casadi.SX.sym("x", 12), casadi.SX.sym("u", 4)
    velocity, turning = x[6:9], x[9:12]
    cr, sr = casadi.cos(x[3]), casadi.sin(x[3])
    cp, sp = casadi.cos(x[4]), casadi.sin(x[4])
    cy, sy = casadi.cos(x[5]), casadi.sin(x[5])
    roll = column(row(1, 0, 0), row(0, cr, -sr), row(0, sr, cr))
    pitch = column(row(cp, 0, sp), row(0, 1, 0), row(-sp, 0, cp))
    yaw = column(row(cy, -sy, 0), row(sy, cy, 0), row(0, 0, 1))
    to_angles = column(
        row(1, sr * sp / cp, cr * sp / cp), row(0, cr, -sr), row(0, sr / cp, cr / cp)
    )
    thrust = column(0, 0, u[0] + u[1] + u[2] + u[3])
    torque = column(ARM * (u[1] - u[3]), ARM * (u[2] - u[0]), DRAG * (u[0] - u[1] + u[2] - u[3]))
    pull = yaw @ pitch @ roll @ thrust / MASS - casadi.DM([0, 0, GRAVITY])
    inertia = casadi.diag(casadi.DM(INERTIA))
    spin = casadi.inv(inertia) @ (torque - casadi.cross(turning, inertia @ turning))
    return [x, u], [column(velocity, to_angles @ turning, pull, spin)]


def data(random: np.random.Generator) -> tuple[Array, ...]:
    """Return a state and thrusts."""
    return 0.5 * random.normal(size=12), random.uniform(1, 3, 4)


POINTS = (
    Point("quadrotor", dynamics, "value", data, _value_by_hand, 90.0, _in_casadi, (0, 1)),
    Point(
        "quadrotor_jacobian",
        dynamics,
        "jacobian",
        data,
        _jacobian_by_hand,
        180.0,
        _in_casadi,
        (0, 1),
    ),
)
