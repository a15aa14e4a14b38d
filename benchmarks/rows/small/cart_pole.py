"""A cart with a pole: accelerations from the equations of motion, and the Jacobians."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.rows.row import Array
from benchmarks.rows.small.points import Point, complex_steps

CART, POLE, LENGTH, GRAVITY = 1.0, 0.3, 0.5, 9.81


def dynamics(x: Any, u: Any) -> Any:
    """Return the rates of place, angle and their velocities under a force."""
    c, s = np.cos(x[1]), np.sin(x[1])
    mass = np.array([[CART + POLE, POLE * LENGTH * c], [POLE * LENGTH * c, POLE * LENGTH**2]])
    force = np.array([u[0] + POLE * LENGTH * s * x[3] ** 2, -POLE * GRAVITY * LENGTH * s])
    return np.concatenate([x[2:], np.linalg.solve(mass, force)])


def _value_by_hand(x: Array, u: Array) -> tuple[Any, ...]:
    return (_rates(x, u),)


def _rates(x: Array, u: Array) -> Array:
    c, s = np.cos(x[1]), np.sin(x[1])
    below = CART + POLE * s * s
    pushed = u[0] + POLE * s * (LENGTH * x[3] ** 2 + GRAVITY * c)
    turned = -u[0] * c - POLE * LENGTH * x[3] ** 2 * c * s - (CART + POLE) * GRAVITY * s
    return np.array([x[2], x[3], pushed / below, turned / (LENGTH * below)])


def _jacobian_by_hand(x: Array, u: Array) -> tuple[Any, ...]:
    return complex_steps(_rates, (0, 1), x, u)


def _in_casadi(casadi: Any) -> tuple[list[Any], list[Any]]:
    x, u = casadi.SX.sym("x", 4), casadi.SX.sym("u", 1)
    c, s = casadi.cos(x[1]), casadi.sin(x[1])
    mass = casadi.vertcat(
        casadi.horzcat(CART + POLE, POLE * LENGTH * c),
        casadi.horzcat(POLE * LENGTH * c, POLE * LENGTH**2),
    )
    force = casadi.vertcat(u[0] + POLE * LENGTH * s * x[3] ** 2, -POLE * GRAVITY * LENGTH * s)
    return [x, u], [casadi.vertcat(x[2:], casadi.solve(mass, force))]


def data(random: np.random.Generator) -> tuple[Array, ...]:
    """Return a state and a force."""
    return random.normal(size=4), random.normal(size=1)


POINTS = (
    Point("cart_pole", dynamics, "value", data, _value_by_hand, 30.0, _in_casadi, (0, 1)),
    Point(
        "cart_pole_jacobian",
        dynamics,
        "jacobian",
        data,
        _jacobian_by_hand,
        60.0,
        _in_casadi,
        (0, 1),
    ),
)
