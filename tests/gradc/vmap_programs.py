"""Functions of one point for the tests of vmap, with what makes the points, and axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import gradc

POINTS = 5
_CAPTURED = np.linspace(0.5, 1.5, 3)


class Program(NamedTuple):
    """A function of one point; the shapes of its arguments there; where the points are."""

    fn: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    axes: tuple[int | None, ...]
    smooth: bool = True


def assign(x: Any) -> Any:
    y = np.zeros(4)
    y[1:] = x
    y[0] += x[-1]
    y[::2] *= 2.0
    return y


def rows_of_identity(x: Any) -> Any:
    a = np.eye(3) * 2.0
    a[:, 0] = x
    return a @ x


def horner(coefficients: Any, x: Any) -> Any:
    total = 0.0
    for c in coefficients:
        total = total * x + c
    return total


def helper(x: Any) -> Any:
    return x * _CAPTURED


@gradc.custom_gradient
def clipped(x: Any) -> Any:
    """Clip the gradient of a square to 1."""
    return x * x, lambda up: np.minimum(up * 2 * x, 1.0)


def newton(a: Any) -> Any:
    def go_on(state: Any) -> Any:
        _, step = state
        return np.abs(step) > 1e-9

    def improve(state: Any) -> Any:
        x, _ = state
        step = (x * x - a * a - 1.0) / (2 * x)
        return x - step, step

    return gradc.while_loop(go_on, improve, (1.0 + a * a, 1.0), max_iter=50)[0]


def first_above(x: Any) -> Any:
    """Sum until the sum is above 1, reading an element a step."""

    def go_on(state: Any) -> Any:
        i, total = state
        return np.logical_and(i < x.shape[0], total < 1.0)

    def add(state: Any) -> Any:
        i, total = state
        return i + 1, total + np.abs(x[i])

    return gradc.while_loop(go_on, add, (0, 0.0), max_iter=9)[1]


def filtered(x: Any) -> Any:
    def step(carry: Any, row: Any) -> Any:
        new = 0.5 * carry + np.sin(row)
        return new, new * row

    return gradc.scan(step, x[0], x)


def filled(x: Any) -> Any:
    def body(i: Any, y: Any) -> Any:
        y[i + 1] = np.tanh(y[i]) * x[i]
        return y

    return gradc.fori_loop(0, 3, body, np.ones(4))


def powers_to(n: Any, x: Any) -> Any:
    return gradc.fori_loop(0, n, lambda i, y: y * x, 1.0)


def branch(x: Any) -> Any:
    return gradc.cond(x[0] > 0, lambda x: np.log(x[0]) + x[1], lambda x: x[1] * x[2], x)


def switched(x: Any) -> Any:
    index = np.floor(np.abs(x[0]) * 2).astype(np.int64)
    return gradc.switch(index, [np.sin, np.cos, lambda y: y * y], x[1])


def nested(x: Any) -> Any:
    """A branch in a loop in a loop."""

    def outer(total: Any, row: Any) -> Any:
        def inner(i: Any, y: Any) -> Any:
            return gradc.cond(y > 0, lambda y: 0.5 * y - 1, lambda y: y + x[i], y)

        found = gradc.fori_loop(0, 3, inner, row)
        return total + found, found

    return gradc.scan(outer, 0.0, x)


def inner_vmap(x: Any, y: Any) -> Any:
    return gradc.vmap(lambda a: gradc.vmap(lambda b: np.sin(a) * b)(y))(x)


def vmap_in_loop(x: Any) -> Any:
    return gradc.fori_loop(0, 3, lambda i, y: gradc.vmap(lambda a: np.sin(a) + a * y[0])(y), x)


VECTOR = ((3,),)
PROGRAMS: dict[str, Program] = {
    "scalar": Program(lambda x: np.exp(-x * x), ((),), (0,)),
    "elementwise": Program(lambda x: np.tanh(x) * 2.0 + 1.0, VECTOR, (0,)),
    "other axis": Program(lambda x: np.tanh(x) * x[::-1], ((3, 2),), (1,)),
    "negative axis": Program(lambda x: np.tanh(x).sum(0), ((3, 2),), (-1,)),
    "shared": Program(lambda x, w: np.tanh(x @ w), ((3,), (3, 2)), (0, None)),
    "shared first": Program(lambda w, x: np.tanh(w @ x), ((2, 3), (3,)), (None, 0)),
    "both": Program(lambda x, y: x @ y, ((3,), (3,)), (0, 0)),
    "axes apart": Program(lambda x, y: x @ y, ((2, 3), (3,)), (1, 0)),
    "captured": Program(helper, VECTOR, (0,)),
    "sum": Program(lambda x: np.sum(x, axis=1), ((2, 3),), (0,)),
    "largest": Program(lambda x: np.max(x) - np.min(x), VECTOR, (0,)),
    "mean and std": Program(lambda x: (x.mean(), x.std()), VECTOR, (0,)),
    "prod": Program(lambda x: np.prod(x), VECTOR, (0,)),
    "index": Program(lambda x: x[1] * x[-1], VECTOR, (0,)),
    "fancy index": Program(lambda x: x[[2, 0, 0]] * 2.0, VECTOR, (0,)),
    "own index": Program(lambda x: x[np.argmax(x)], VECTOR, (0,), False),
    "index into captured": Program(lambda x: _CAPTURED[np.argmin(x)] * x[0], VECTOR, (0,), False),
    "assign": Program(assign, VECTOR, (0,)),
    "assign column": Program(rows_of_identity, VECTOR, (0,)),
    "mask": Program(lambda x: np.where(x > 0, np.sqrt(x), -x), VECTOR, (0,)),
    "selection": Program(lambda x: x[x > 0].sum(), VECTOR, (0,)),
    "sort": Program(lambda x: np.sort(x) * np.arange(3), VECTOR, (0,)),
    "cumsum": Program(lambda x: np.cumsum(x * x), VECTOR, (0,)),
    "cumprod": Program(lambda x: np.cumprod(x), VECTOR, (0,)),
    "einsum": Program(lambda a, b: np.einsum("ij,jk->ki", a, b), ((2, 3), (3, 2)), (0, None)),
    "outer": Program(lambda x, y: np.outer(x, y), ((3,), (2,)), (0, 0)),
    "concatenate": Program(lambda x, y: np.concatenate([x, y, x]), ((3,), (2,)), (0, None)),
    "reshape": Program(lambda x: np.sin(x).reshape(3, 2).T, ((2, 3),), (0,)),
    "solve": Program(
        lambda a, b: np.linalg.solve(a @ a.T + 3 * np.eye(3), b), ((3, 3), (3,)), (0, 0)
    ),
    "solve, shared matrix": Program(
        lambda a, b: np.linalg.solve(a @ a.T + 3 * np.eye(3), b), ((3, 3), (3,)), (None, 0)
    ),
    "solve, shared side": Program(
        lambda a, b: np.linalg.solve(a @ a.T + 3 * np.eye(3), b), ((3, 3), (3,)), (0, None)
    ),
    "determinant": Program(lambda a: np.linalg.det(a + 3 * np.eye(3)), ((3, 3),), (0,)),
    "cholesky": Program(lambda a: np.linalg.cholesky(a @ a.T + 3 * np.eye(3)), ((3, 3),), (0,)),
    "eigenvalues": Program(lambda a: np.linalg.eigvalsh(a + a.T), ((3, 3),), (0,)),
    "polynomial": Program(horner, ((3,), ()), (0, None)),
    "size": Program(lambda x: x / len(x) + x.shape[0], VECTOR, (0,)),
    "own gradient": Program(lambda x: clipped(x).sum(), VECTOR, (0,), False),
    "gradient": Program(gradc.grad(lambda x: np.sum(np.sin(x) * x)), VECTOR, (0,)),
    "jacobian": Program(gradc.jacobian(lambda x: np.sin(x) * x[0]), VECTOR, (0,)),
    "hessian": Program(gradc.hessian(lambda x: np.prod(np.sin(x))), VECTOR, (0,)),
    "jvp": Program(
        lambda x, v: gradc.jvp(lambda y: np.sin(y) * y[0], (x,), (v,)), ((3,), (3,)), (0, None)
    ),
    "compiled": Program(gradc.compile(lambda x: np.sin(x) * 2.0), VECTOR, (0,)),
    "nested vmap": Program(inner_vmap, ((2,), (3,)), (0, 0)),
    "stop_gradient": Program(lambda x: x * gradc.stop_gradient(x), VECTOR, (0,), False),
    "scan": Program(filtered, VECTOR, (0,)),
    "fori_loop, assigning": Program(filled, VECTOR, (0,)),
    "while_loop": Program(newton, ((),), (0,)),
    "while_loop, reading": Program(first_above, VECTOR, (0,)),
    "cond": Program(branch, VECTOR, (0,)),
    "switch": Program(switched, VECTOR, (0,)),
    "nested loops": Program(nested, VECTOR, (0,)),
    "map": Program(lambda x: gradc.map(lambda y: np.sin(y) * x[0], x), VECTOR, (0,)),
    "vmap in loop": Program(vmap_in_loop, VECTOR, (0,)),
    "checkpoint": Program(lambda x: gradc.checkpoint(np.sin)(x) * x[0], VECTOR, (0,)),
}
