"""An adaptive Runge-Kutta method by while_loop, and the equations it is tried on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate

import gradc


def integrate(
    f: Callable[[Any, Any], Any], start: Any, end: Any, parameters: Any, tolerance: float
) -> Any:
    """Return y(end) of y' = f(y, parameters), and how many steps were tried.

    Bogacki and Shampine's pair of orders 3 and 2 (1989), whose last slope is the next step's first;
    a step is taken if its error, relative to ``tolerance`` (1 + abs(y)), is below 1.
    """

    def unfinished(state: dict[str, Any]) -> Any:
        return state["left"] > 0.0

    def attempt(state: dict[str, Any]) -> dict[str, Any]:
        y, a = state["y"], state["slope"]
        last = state["step"] >= state["left"]
        h = np.where(last, state["left"], state["step"])
        b = f(y + h / 2 * a, parameters)
        c = f(y + 3 * h / 4 * b, parameters)
        new = y + h / 9 * (2 * a + 3 * b + 4 * c)
        d = f(new, parameters)
        error = h / 72 * (-5 * a + 6 * b + 8 * c - 9 * d)
        relative = np.sqrt(np.mean((error / (tolerance * (1 + np.abs(y)))) ** 2))
        factor = np.clip(0.9 * relative ** (-1 / 3), 0.2, 5.0)

        def accept(slope: Any, left: Any) -> Any:
            return new, slope, np.where(last, 0.0, left - h)

        def reject(_: Any, left: Any) -> Any:
            return y, a, left

        y, slope, left = gradc.cond(relative <= 1.0, accept, reject, d, state["left"])
        step = h * factor
        return {"y": y, "slope": slope, "left": left, "step": step, "tries": state["tries"] + 1}

    first = {
        "y": start,
        "slope": f(start, parameters),
        "left": end,
        "step": 0.01 * end,
        "tries": 0,
    }
    found = gradc.while_loop(unfinished, attempt, first)
    return found["y"], found["tries"]


def predators(y: Any, p: Any) -> Any:
    """Return the slopes of Lotka and Volterra's prey and predators."""
    return np.array([y[0] * (p[0] - p[1] * y[1]), y[1] * (p[2] * y[0] - p[3])])


def predators_by_y(y: Any, p: Any) -> Any:
    """Return the Jacobian of :func:`predators` by the state."""
    return np.array([[p[0] - p[1] * y[1], -p[1] * y[0]], [p[2] * y[1], p[2] * y[0] - p[3]]])


def predators_by_p(y: Any, p: Any) -> Any:
    """Return the Jacobian of :func:`predators` by its parameters."""
    return np.array([[y[0], -y[0] * y[1], 0, 0], [0, 0, y[0] * y[1], -y[1]]])


def sensitivities(start: Any, end: float, p: Any) -> tuple[Any, Any, Any]:
    """Return y(end) and its Jacobians by start and parameters: the variational equation's."""

    def slopes(_: float, z: Any) -> Any:
        y, s, q = z[:2], z[2:6].reshape(2, 2), z[6:].reshape(2, 4)
        by_y = predators_by_y(y, p)
        return np.concatenate(
            [predators(y, p), (by_y @ s).ravel(), (by_y @ q + predators_by_p(y, p)).ravel()]
        )

    z = np.concatenate([start, np.eye(2).ravel(), np.zeros(8)])
    solution = scipy.integrate.solve_ivp(slopes, (0, end), z, "DOP853", rtol=1e-12, atol=1e-13)
    z = solution.y[:, -1]
    return z[:2], z[2:6].reshape(2, 2), z[6:].reshape(2, 4)
