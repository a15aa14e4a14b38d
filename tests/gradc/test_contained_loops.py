"""A value and its pullback go through one loop, or one branch, wherever both are asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.pipeline import derive
from gradc.requests.request import Request
from gradc.tracing import trace
from gradc_ir.core.types import DType, Type
from tests.comparing import assert_same_bits

X = np.linspace(0.2, 0.8, 5)


def steps(x: Any) -> Any:
    for _ in range(50):
        x = x + 0.1 * np.sin(x)
    return np.sum(x)


def until(x: Any) -> Any:
    while np.sum(x) < 40.0:
        x = x + 0.1 * np.exp(np.sin(x))
    return np.sum(x)


def either(x: Any) -> Any:
    return gradc.cond(x[0] > 0, lambda x: np.sum(np.exp(np.sin(x))), lambda x: np.sum(x), x)


def of_the_loop(x: Any) -> Any:
    """Hand out a row a step, which the way back needs as well."""

    def step(x: Any, _: None) -> Any:
        return x + 0.1 * np.sin(x), np.sin(x)

    last, rows = gradc.scan(step, x, None, length=40)
    return np.sum(last) + np.sum(rows)


# what is left of each: a loop forward, and one that goes back
PROGRAMS = [
    (steps, ["scan", "scan"]),
    (until, ["while", "scan"]),
    (either, ["cond", "cond"]),
    (of_the_loop, ["scan", "scan"]),
]


@pytest.mark.parametrize(("program", "control"), PROGRAMS)
def test_a_pullback_goes_back_through_the_loop_of_the_value(
    program: Callable[[Any], Any], control: list[str]
) -> None:
    def both(x: Any) -> Any:
        value, back = gradc.vjp(program, x)
        (gradient,) = back(np.ones(()))
        return value, gradient

    function = derive(trace(both, [Type(DType.F64, (5,))]).function, Request("value"))
    found = [node.op.name for node in function.nodes]
    assert [name for name in found if name in ("scan", "while", "cond")] == control
    compiled = gradc.compile(both)
    value, gradient = compiled(X)
    want, slope = gradc.compile(program).value_and_grad(X)
    assert_same_bits(value, want)
    assert_same_bits(gradient, slope)


def test_loops_of_other_beginnings_are_loops_of_their_own() -> None:
    def both(x: Any) -> Any:
        return steps(x), steps(2.0 * x), of_the_loop(x)

    function = derive(trace(both, [Type(DType.F64, (5,))]).function, Request("value"))
    assert [node.op.name for node in function.nodes].count(
        "scan"
    ) == 2  # of_the_loop has the steps of steps
    for found, want in zip(
        gradc.compile(both)(X),
        (steps(X), steps(2.0 * X), gradc.compile(of_the_loop)(X)),
        strict=True,
    ):
        np.testing.assert_allclose(found, want, rtol=1e-13)
