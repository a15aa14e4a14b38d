"""Functions with loops and branches in two halves: linearize is jvp, vjp is the gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc

X = np.array([0.3, -1.2, 2.1, 0.7])


def smoothed(x: Any) -> Any:
    level, squares = gradc.scan(lambda c, v: (0.5 * c + np.sin(v), c * c * v), 0.1, x)
    return level + np.sum(squares)


def from_the_end(x: Any) -> Any:
    return gradc.scan(lambda c, v: (c * v + 1, None), np.ones(2), x, reverse=True)[0]


def written(x: Any) -> Any:
    def step(i: Any, y: Any) -> Any:
        y[i] = y[i - 1] * x[i] + np.cos(x[i - 1])
        return y

    return gradc.fori_loop(1, len(x), step, x * x)


def counted(x: Any) -> Any:
    steps = np.int64(np.sum(x > 0))
    return gradc.fori_loop(0, steps, lambda i, y: y * x + i, x)


def until_large(x: Any) -> Any:
    return gradc.while_loop(lambda y: np.sum(y * y) < 1e4, lambda y: y * 1.5 + np.sin(x), x)


def limited(x: Any) -> Any:
    return gradc.while_loop(lambda y: y[0] < 50, lambda y: y + x * y, x, max_iter=40)


def branched(x: Any) -> Any:
    return gradc.cond(x[0] > 0, np.sin, np.exp, x) * gradc.cond(x[1] > 0, np.sin, np.exp, x)


def switched(x: Any) -> Any:
    return gradc.switch(np.int64(x[2]), [np.sin, np.exp, lambda v: v * v], x)


def recomputed(x: Any) -> Any:
    inner = gradc.checkpoint(lambda c, v: np.sin(c) * np.exp(v * 0.1) + c)
    return gradc.scan(lambda c, v: (inner(c, v), inner(v, c)), 0.2, x)


def stored_now_and_then(x: Any) -> Any:
    return gradc.scan(lambda c, v: (np.sin(c) * v, c), 0.2, x, checkpoint="sqrt")


def nested(x: Any) -> Any:
    def inner(c: Any, v: Any) -> Any:
        return gradc.while_loop(lambda y: np.abs(y) < 5, lambda y: 2 * y + np.sin(v), c * 0.3 + v)

    return gradc.scan(lambda c, v: (inner(c, v), c * v), 0.5, x)


def with_a_gradient_inside(x: Any) -> Any:
    valley = gradc.grad(lambda v: np.sum(np.sin(v) * v[::-1]))
    return gradc.fori_loop(0, 5, lambda i, v: v - 0.1 * valley(v), x)


PROGRAMS = [
    smoothed, from_the_end, written, counted, until_large, limited, branched, switched, recomputed,
    stored_now_and_then, nested, with_a_gradient_inside,
]  # fmt: skip


def flat(value: Any) -> list[float]:
    leaves = value if isinstance(value, tuple) else (value,)
    return [float(number) for leaf in leaves for number in np.ravel(leaf)]


@pytest.mark.parametrize("program", PROGRAMS)
def test_both_halves(program: Callable[[Any], Any]) -> None:
    f = gradc.compile(program)
    random = np.random.default_rng(1)
    value = f(X)
    tangent = random.normal(size=X.shape)
    jvp_value, pushed = f.jvp((X,), (tangent,))
    linear_value, push = f.linearize(X)
    vjp_value, pullback = f.vjp(X)
    for other in (jvp_value, linear_value, vjp_value):
        np.testing.assert_allclose(flat(other), flat(value), rtol=1e-13)
    np.testing.assert_allclose(flat(push(tangent)), flat(pushed), rtol=1e-12, atol=1e-13)
    h = 1e-6
    slope = (np.array(flat(f(X + h * tangent))) - flat(f(X - h * tangent))) / (2 * h)
    np.testing.assert_allclose(flat(pushed), slope, rtol=1e-6, atol=1e-6)
    # <cotangent, J tangent> is <J' cotangent, tangent>
    leaves = value if isinstance(value, tuple) else (value,)
    cotangents = tuple(random.normal(size=np.shape(leaf)) for leaf in leaves)
    (pulled,) = pullback(cotangents if isinstance(value, tuple) else cotangents[0])
    product = np.dot(flat(cotangents), flat(pushed))
    assert np.dot(pulled, tangent) == pytest.approx(product, rel=1e-11)
