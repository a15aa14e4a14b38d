"""Small networks of two layers: the loss of one sample and its gradient by all weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.rows.row import Array
from benchmarks.rows.small.points import Point, matrix


def loss(w: Any, a: Any, v: Any, b: Any, x: Any, y: Any) -> Any:
    """Return the squared error."""
    return np.sum((v @ np.tanh(w @ x + a) + b - y) ** 2)


def _by_hand(w: Array, a: Array, v: Array, b: Array, x: Array, y: Array) -> tuple[Any, ...]:
    hidden = np.tanh(w @ x + a)
    error = v @ hidden + b - y
    back = (v.T @ (2 * error)) * (1 - hidden**2)
    return error @ error, np.outer(back, x), back, np.outer(2 * error, hidden), 2 * error


def _in_casadi(given: int, hidden: int, made: int) -> Callable[[Any], tuple[list[Any], list[Any]]]:
    def in_casadi(casadi: Any) -> tuple[list[Any], list[Any]]:
        w_, w = matrix(casadi, "w", hidden, given)
        v_, v = matrix(casadi, "v", made, hidden)
        a, b = casadi.SX.sym("a", hidden), casadi.SX.sym("b", made)
        x, y = casadi.SX.sym("x", given), casadi.SX.sym("y", made)
        error = v @ casadi.tanh(w @ x + a) + b - y
        return [w_, a, v_, b, x, y], [casadi.dot(error, error)]

    return in_casadi


def _data(given: int, hidden: int, made: int) -> Callable[[np.random.Generator], tuple[Array, ...]]:
    def data(random: np.random.Generator) -> tuple[Array, ...]:
        return (
            random.normal(size=(hidden, given)) / np.sqrt(given),
            random.normal(size=hidden),
            random.normal(size=(made, hidden)) / np.sqrt(hidden),
            random.normal(size=made),
            random.normal(size=given),
            random.normal(size=made),
        )

    return data


def _point(given: int, hidden: int, made: int) -> Point:
    return Point(
        f"net_{given}_{hidden}_{made}",
        loss,
        "value_and_grad",
        _data(given, hidden, made),
        _by_hand,
        3.0 * hidden * given + 5.0 * hidden * made + 7.0 * hidden + 4.0 * made,
        _in_casadi(given, hidden, made),
        wrt=(0, 1, 2, 3),
    )


POINTS = (_point(16, 32, 4), _point(4, 8, 1))
