"""Pearlmutter and Siskind's examples of nested gradient descent, particle and saddle.

From *Using programming language theory to make automatic differentiation sound and efficient*
(2008). ``inner`` and ``outer`` take a function of a vector to the function of its gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import gradc

Gradient = Callable[[Callable[[Any], Any]], Callable[[Any], Any]]
MODES: dict[str, Gradient] = {
    "f": lambda f: gradc.jacobian(f, mode="forward"),
    "r": gradc.grad,
}
NEAR = 1e-5
CHARGES = np.array([[10.0, 10.0], [10.0, 0.0]])
PACE = 1e-1


def length(x: Any) -> Any:
    """Return the Euclidean length of a vector."""
    return np.sqrt(np.sum(x * x))


def argmin(f: Callable[[Any], Any], start: Any, gradient: Gradient) -> Any:
    """Return where gradient descent with an adaptive rate ends.

    Ten steps downwards in a row double the rate, one that does not go down halves it.
    """
    slope = gradient(f)

    def unfinished(state: dict[str, Any]) -> Any:
        return np.logical_not(state["near"])

    def faster(state: dict[str, Any]) -> dict[str, Any]:
        return {**state, "rate": 2.0 * state["rate"], "streak": 0}

    def step(state: dict[str, Any]) -> dict[str, Any]:
        x = state["x"] - state["rate"] * state["slope"]

        def halt() -> dict[str, Any]:
            return {**state, "near": True}

        def go() -> dict[str, Any]:
            value = f(x)

            def down() -> dict[str, Any]:
                found = slope(x)
                return {
                    **state,
                    "x": x,
                    "value": value,
                    "slope": found,
                    "streak": state["streak"] + 1,
                    "near": length(found) <= NEAR,
                }

            def slower() -> dict[str, Any]:
                return {**state, "rate": state["rate"] / 2.0, "streak": 0}

            return gradc.cond(value < state["value"], down, slower)

        return gradc.cond(length(x - state["x"]) <= NEAR, halt, go)

    def advance(state: dict[str, Any]) -> dict[str, Any]:
        return gradc.cond(state["streak"] == 10, faster, step, state)

    first = slope(start)
    state = {
        "x": start,
        "value": f(start),
        "slope": first,
        "rate": 1e-5,
        "streak": 0,
        "near": length(first) <= NEAR,
    }
    return gradc.while_loop(unfinished, advance, state)["x"]


def argmax(f: Callable[[Any], Any], start: Any, gradient: Gradient) -> Any:
    """Return where gradient ascent ends."""
    return argmin(lambda x: -f(x), start, gradient)


def saddle(start: Any, outer: Gradient, inner: Gradient) -> tuple[Any, Any]:
    """Return where min over p of max over q of p·p - q·q is taken, starting at ``start``."""

    def value(p: Any, q: Any) -> Any:
        return np.sum(p * p) - np.sum(q * q)

    def worst(p: Any) -> Any:
        return value(p, argmax(lambda q: value(p, q), start, inner))

    p = argmin(worst, start, outer)
    return p, argmax(lambda q: value(p, q), start, inner)


def landing(w: Any, inner: Gradient) -> Any:
    """Return the square of where a charged particle lands, integrated by Euler's method.

    It flies between two charges, one of which stands at (10, 10 - w).
    """
    upper = CHARGES[0] - w * np.array([0.0, 1.0])

    def potential(x: Any) -> Any:
        return 1 / length(x - upper) + 1 / length(x - CHARGES[1])

    push = inner(potential)

    def above(state: Any) -> Any:
        x, velocity = state
        return (x + PACE * velocity)[1] > 0

    def move(state: Any) -> Any:
        x, velocity = state
        return x + PACE * velocity, velocity - PACE * push(x)

    x, velocity = gradc.while_loop(above, move, (np.array([0.0, 8.0]), np.array([0.75, 0.0])))
    rest = -x[1] / velocity[1]
    return (x[0] + rest * velocity[0]) ** 2


def particle(start: Any, outer: Gradient, inner: Gradient) -> Any:
    """Return the control w for which the particle lands nearest to (0, 0)."""
    return argmin(lambda w: landing(w[0], inner), start, outer)


# -- by hand ---------------------------------------------------------------------------------------


def argmin_by_hand(value_and_slope: Callable[[Any], Any], x: Any) -> Any:
    """Return where the same descent ends, of a function with derivatives written by hand."""
    value, slope = value_and_slope(x)
    rate, streak = 1e-5, 0
    while length(slope) > NEAR:
        if streak == 10:
            rate, streak = 2 * rate, 0
            continue
        new = x - rate * slope
        if length(new - x) <= NEAR:
            break
        new_value, new_slope = value_and_slope(new)
        if new_value < value:
            x, value, slope, streak = new, new_value, new_slope, streak + 1
        else:
            rate, streak = rate / 2, 0
    return x


def landing_by_hand(w: Any) -> tuple[Any, Any]:
    """Return the square of where the particle lands, and its derivative by ``w``."""
    places = CHARGES - np.array([[0.0, w[0]], [0.0, 0.0]])
    moves = np.array([[0.0, -1.0], [0.0, 0.0]])
    x, v = np.array([0.0, 8.0]), np.array([0.75, 0.0])
    dx, dv = np.zeros(2), np.zeros(2)
    while (x + PACE * v)[1] > 0:
        force, change = np.zeros(2), np.zeros(2)
        for place, moved in zip(places, moves):
            d, dd = x - place, dx - moved
            r = length(d)
            force += d / r**3
            change += dd / r**3 - 3 * d * (d @ dd) / r**5
        x, dx = x + PACE * v, dx + PACE * dv
        v, dv = v + PACE * force, dv + PACE * change
    rest, drest = -x[1] / v[1], -dx[1] / v[1] + x[1] * dv[1] / v[1] ** 2
    place = x[0] + rest * v[0]
    return place**2, np.array([2 * place * (dx[0] + drest * v[0] + rest * dv[0])])
