"""A system of differential equations, by the Runge-Kutta method of fourth order."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradc
from benchmarks.gradbench.programs.program import Function, as_list


@gradc.compile(static="steps")
def primal(x: Any, steps: int) -> Any:
    """Return y at time 2, where y is zero at 0, y[0]' = x[0] and y[i]' = x[i] y[i - 1]."""

    def slope(y: Any) -> Any:
        return x * np.concatenate([np.ones(1), y[:-1]])

    y = np.zeros_like(x)
    h = 2 / steps
    for _ in range(steps):
        a = slope(y)
        b = slope(y + h / 2 * a)
        c = slope(y + h / 2 * b)
        d = slope(y + h * c)
        y = y + h / 6 * (a + 2 * b + 2 * c + d)
    return y


@gradc.compile(static="steps")
def last(x: Any, steps: int) -> Any:
    """Return the last element of y."""
    return primal(x, steps)[-1]


def arguments(given: Any) -> tuple[Any, ...]:
    """Return the factors and the number of steps."""
    return np.array(given["x"]), given["s"]


FUNCTIONS = {
    "primal": Function(primal, arguments, as_list),
    "gradient": Function(last.grad, arguments, as_list),
}
