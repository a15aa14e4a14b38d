"""Linear algebra and transport by while_loop: conjugate gradients, power iteration, Sinkhorn."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradc


def conjugate_gradients(a: Any, b: Any) -> Any:
    """Return the solution of a x = b for a symmetric positive definite ``a``."""
    enough = 1e-26 * (b @ b)

    def unfinished(state: dict[str, Any]) -> Any:
        return state["square"] > enough

    def improve(state: dict[str, Any]) -> dict[str, Any]:
        p, r = state["direction"], state["residual"]
        image = a @ p
        length = state["square"] / (p @ image)
        r = r - length * image
        square = r @ r
        return {
            "x": state["x"] + length * p,
            "residual": r,
            "direction": r + square / state["square"] * p,
            "square": square,
        }

    start = {"x": np.zeros_like(b), "residual": b, "direction": b, "square": b @ b}
    return gradc.while_loop(unfinished, improve, start)["x"]


def largest_eigenvalue(a: Any) -> Any:
    """Return the largest eigenvalue of a symmetric matrix by power iteration."""
    start = np.ones(a.shape[0]) / np.sqrt(a.shape[0])

    def unfinished(state: Any) -> Any:
        _, change = state
        return change > 1e-22

    def improve(state: Any) -> Any:
        v, _ = state
        w = a @ v
        w = w / np.sqrt(w @ w)
        return w, np.sum((w - v) ** 2)

    v, _ = gradc.while_loop(unfinished, improve, (start, 1.0))
    return v @ a @ v


def transport_cost(cost: Any, rows: Any, columns: Any, epsilon: float) -> Any:
    """Return the optimal value of entropic transport, by Sinkhorn's iteration on potentials.

    Its gradient by ``cost`` is the plan, by the envelope theorem.
    """

    def unfinished(state: Any) -> Any:
        *_, change = state
        return change > 1e-13

    def improve(state: Any) -> Any:
        f, g, _ = state
        f = epsilon * (np.log(rows) - log_sum_exp((g[None, :] - cost) / epsilon, 1))
        h = epsilon * (np.log(columns) - log_sum_exp((f[:, None] - cost) / epsilon, 0))
        return f, h, np.max(np.abs(h - g))

    f, g, _ = gradc.while_loop(
        unfinished, improve, (np.zeros_like(rows), np.zeros_like(columns), np.inf)
    )
    plan = np.exp((f[:, None] + g[None, :] - cost) / epsilon)
    return f @ rows + g @ columns - epsilon * np.sum(plan)


def log_sum_exp(x: Any, axis: int) -> Any:
    """Return log(sum(exp(x))) along an axis."""
    top = np.max(x, axis=axis, keepdims=True)
    return np.log(np.sum(np.exp(x - top), axis=axis)) + np.squeeze(top, axis)


def plan_by_hand(cost: Any, rows: Any, columns: Any, epsilon: float) -> Any:
    """Return the plan of entropic transport by scaling rows and columns many times."""
    kernel = np.exp(-cost / epsilon)
    v = np.ones_like(columns)
    for _ in range(5_000):
        u = rows / (kernel @ v)
        v = columns / (kernel.T @ u)
    return u[:, None] * kernel * v[None, :]
