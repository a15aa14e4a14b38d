"""Newton's method by while_loop: a square root, Kepler's equation, and a root of any function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import gradc


def square_root(a: Any) -> Any:
    """Return the square root of a positive number."""

    def unfinished(state: Any) -> Any:
        x, step = state
        return np.abs(step) > 1e-12 * x

    def improve(state: Any) -> Any:
        x, _ = state
        better = 0.5 * (x + a / x)
        return better, better - x

    return gradc.while_loop(unfinished, improve, (0.5 * (1.0 + a), a))[0]


def root(f: Callable[[Any], Any], x: Any) -> Any:
    """Return a zero of ``f`` near ``x``; its slope is a gradient within the loop."""

    def unfinished(state: Any) -> Any:
        x, step = state
        return np.abs(step) > 1e-10 * (1.0 + np.abs(x))

    def improve(state: Any) -> Any:
        x, _ = state
        value, slope = gradc.value_and_grad(f)(x)
        step = value / slope
        return x - step, step

    return gradc.while_loop(unfinished, improve, (x, np.ones_like(x)))[0]


def eccentric_anomaly(m: Any, e: Any) -> Any:
    """Return the E at which E - e sin(E) = m: Kepler's equation."""
    return root(lambda x: x - e * np.sin(x) - m, m + e * np.sin(m))


def eccentric_anomaly_by_hand(m: float, e: float) -> tuple[float, np.ndarray, np.ndarray]:
    """Return E, its gradient and its Hessian, by bisection and the implicit function theorem."""
    low, high = m - e, m + e
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle - e * np.sin(middle) < m:
            low = middle
        else:
            high = middle
    x = 0.5 * (low + high)
    s, d = np.sin(x), 1 - e * np.cos(x)
    gradient = np.array([1 / d, s / d])
    # derivatives of 1 / d and s / d by m and e, where d depends on e directly and through x
    by_m, by_e = e * s * gradient[0], -np.cos(x) + e * s * gradient[1]
    cross = -by_e / d**2
    hessian = np.array(
        [
            [-by_m / d**2, cross],
            [cross, (np.cos(x) * gradient[1] * d - s * by_e) / d**2],
        ]
    )
    return x, gradient, hessian
