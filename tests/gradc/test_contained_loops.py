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


def floored(s: Any) -> Any:
    """Which cotangents are no zeros is asked for by a loop of its own."""
    start = np.linspace(0.2, 0.8, 1000)
    x, v = s * start, start - 0.5
    for z in np.linspace(-1.0, 1.0, 30):
        low = np.maximum(v, 0.0)
        x = x * np.exp(np.sqrt(low) * z)
        v = v + np.sqrt(1 - s * s) * (0.5 - low) + s * np.sqrt(low) * z
    return np.sum(np.maximum(x - 0.5, 0.0))


def test_a_loop_that_another_one_goes_through_is_left_out() -> None:
    """What is asked for apart is a part of the loop that goes back."""
    function = derive(trace(floored, [Type(DType.F64)]).function, Request("value_and_grad", (0,)))
    scans = [node for node in function.nodes if node.op.name == "scan"]
    backward = [node for node in scans if node.attributes["reverse"]]
    assert len(scans) - len(backward) == 1
    of_arrays = [node for node in backward if any(x.type.shape == (1000,) for x in node.results)]
    assert len(of_arrays) == 1
    value, gradient = gradc.compile(floored).value_and_grad(0.3)
    step = 1e-6
    assert value == pytest.approx(floored(0.3), rel=1e-12)
    slope = (floored(0.3 + step) - floored(0.3 - step)) / (2 * step)
    assert gradient == pytest.approx(slope, rel=1e-6)
