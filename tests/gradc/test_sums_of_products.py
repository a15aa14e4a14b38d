"""Gradients of weights in loops: a product of all steps' vectors, not a sum of matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.pipeline import derive
from gradc.requests.request import Request
from gradc.tracing import trace
from gradc_ir.core.walk import nested

RANDOM = np.random.default_rng(5)
W, U = RANDOM.normal(size=(2, 9, 9)) / 3
XS = RANDOM.normal(size=(7, 9))
BATCH = RANDOM.normal(size=(7, 9, 3))


def one_matrix(w: Any, u: Any, xs: Any) -> Any:
    return gradc.scan(lambda h, x: (np.tanh(w @ h + x), None), np.zeros(9), xs)[0]


def two_matrices(w: Any, u: Any, xs: Any) -> Any:
    return gradc.scan(lambda h, x: (np.tanh(w @ h + u @ x), None), np.zeros(9), xs)[0]


def the_same_matrix_twice(w: Any, u: Any, xs: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        return np.tanh(w @ h + u @ np.sin(w.T @ x)), None

    return gradc.scan(step, np.zeros(9), xs)[0]


def reversed_rows(w: Any, u: Any, xs: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        h = np.tanh(h @ w + x)
        return h, u @ h

    return gradc.scan(step, np.zeros(9), xs, reverse=True)[1]


def batches(w: Any, u: Any, xs: Any) -> Any:
    return gradc.scan(lambda h, x: (np.tanh(w @ h + u @ x), None), np.zeros((9, 3)), xs)[0]


def used_outside(w: Any, u: Any, xs: Any) -> Any:
    return np.sin(w) @ one_matrix(w, u, xs) + (u @ w)[0]


def in_two_loops(w: Any, u: Any, xs: Any) -> Any:
    return gradc.scan(lambda h, _: (one_matrix(w, u, xs * h) + u @ h, None), xs[0], None, length=3)[
        0
    ]


PROGRAMS: dict[str, tuple[Callable[..., Any], Any]] = {
    "one matrix": (one_matrix, XS),
    "two matrices": (two_matrices, XS),
    "the same matrix twice": (the_same_matrix_twice, XS),
    "reversed rows": (reversed_rows, XS),
    "batches": (batches, BATCH),
    "used outside": (used_outside, XS),
    "in two loops": (in_two_loops, XS),
}
each_program = pytest.mark.parametrize(("function", "rows"), PROGRAMS.values(), ids=PROGRAMS.keys())


def loss(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda w, u, xs: np.sum(np.cos(function(w, u, xs)))


@each_program
def test_gradients_are_those_of_differences(function: Any, rows: Any) -> None:
    found = gradc.compile(gradc.grad(loss(function), (0, 1)))(W, U, rows)
    plain = loss(function)
    step = 1e-6
    for place in (0, 1):
        for i, j in np.ndindex(9, 9):
            both = []
            for sign in (step, -step):
                given = [W.copy(), U.copy()]
                given[place][i, j] += sign
                both.append(plain(*given, rows))
            assert found[place][i, j] == pytest.approx((both[0] - both[1]) / (2 * step), abs=2e-8)


@each_program
def test_no_loop_carries_a_sum_of_matrices(function: Any, rows: Any) -> None:
    traced = trace(loss(function), (W, U, rows)).function
    made = derive(traced, Request("grad", (0, 1)))
    steps = [node.attributes for _, node in nested(made) if node.op.name == "scan"]
    # a loop around another adds what the inner one made of all its steps
    inner = [given for given in steps if all(n.op.name != "scan" for n in given["body"].body)]
    carried = [t for given in inner for t in given["body"].result_types[: given["carries"]]]
    assert inner
    assert (9, 9) not in [type_.shape for type_ in carried]


def test_second_derivatives() -> None:
    def slope(w: Any, u: Any, xs: Any) -> Any:
        return np.sum(np.sin(gradc.grad(loss(two_matrices))(w, u, xs)))

    compiled = gradc.compile(slope)
    tangent = gradc.compile(lambda w, u, xs: gradc.jvp(slope, (w, u, xs), (U, W, XS))[1])
    step = 1e-6
    ends = [compiled(W + s * U, U + s * W, XS + s * XS) for s in (step, -step)]
    wanted = (ends[0] - ends[1]) / (2 * step)
    assert tangent(W, U, XS) == pytest.approx(wanted, rel=1e-6)
