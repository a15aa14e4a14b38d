"""Results divided at the ends of a window: the loop of the window writes them, to the same bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradc.pipeline import derive
from gradc.requests.request import Request
from gradc.tracing import trace
from gradc_codegen.interface.python_kernel import Kernel
from gradc_codegen.lower.lower import lower_nest
from gradc_codegen.machine.jit import compile_module
from gradc_codegen.nest.loop_nest import Loop
from gradc_codegen.schedule.choices import Choices
from gradc_codegen.schedule.control_bodies import draft
from gradc_codegen.schedule.estimates import Estimates
from gradc_codegen.schedule.schedule import schedule
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import Size, symbol
from gradc_ir.core.types import DType, Type
from gradc_ir.interpreter.interpret import interpret
from tests.codegen.test_lanes import WAYS
from tests.comparing import assert_same_bits


def valley(x: Any) -> Any:
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def steps(x: Any) -> Any:
    return np.sum((x[1:] - x[:-1]) ** 2)


def curvature(x: Any) -> Any:
    return np.sum((x[2:] - 2 * x[1:-1] + x[:-2]) ** 2)


def behind_the_first(x: Any) -> Any:
    return np.sum(x[1:] * x[1:] * x[1:])


def far_apart(x: Any) -> Any:
    return np.sum(x[:-9] * x[9:])


def with_its_size(x: Any) -> Any:
    return np.sum((x[1:] - x[:-1]) ** 2) + np.sum(x * x)


def of_two(x: Any, y: Any) -> Any:
    return np.sum((x[1:] - y[:-1]) ** 2)


def weighed(x: Any, w: Any) -> Any:
    return np.sum(w[1:] * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def around(x: Any, w: Any) -> Any:
    return np.sum(w[1:-1] * (x[2:] - x[:-2]) ** 2)


RECOVERED = [weighed, around]
DIVIDED = [valley, steps, curvature, behind_the_first, far_apart, of_two, *RECOVERED]
FUNCTIONS = [*DIVIDED, with_its_size]


def graph_of(function: Callable[..., Any], size: Size, dtype: DType = DType.F64) -> Function:
    count = function.__code__.co_argcount
    types = [Type(dtype, (size,))] * count
    request = Request("value_and_grad", tuple(range(count)))
    return derive(trace(function, types).function, request)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dtype", [DType.F64, DType.F32])
def test_every_size_has_the_bits_of_the_interpreter(
    function: Callable[..., Any], dtype: DType
) -> None:
    graph = graph_of(function, symbol("n"), dtype)
    random = np.random.default_rng(3)
    for choices in (Choices(), *WAYS.values()):
        text = lower_nest(schedule(graph, choices=choices), "test")
        kernel = Kernel(graph, compile_module(text), "test")
        for size in (*range(70), 129, 4099, 8193):
            arguments = [random.normal(size=size).astype(dtype.numpy) for _ in graph.params]
            wanted = interpret(graph, arguments)
            for found, want in zip(kernel(arguments), wanted, strict=True):
                assert_same_bits(found, want)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("size", [64, 100, 5000])
def test_known_sizes(function: Callable[..., Any], size: int) -> None:
    graph = graph_of(function, size)
    random = np.random.default_rng(3)
    arguments = [random.normal(size=size) for _ in graph.params]
    kernel = Kernel(graph, compile_module(lower_nest(schedule(graph), "test")), "test")
    for found, want in zip(kernel(arguments), interpret(graph, arguments), strict=True):
        assert_same_bits(found, want)


@pytest.mark.parametrize("function", RECOVERED)
@pytest.mark.parametrize("size", [100, symbol("n")])
def test_what_is_not_finite_is_recovered_in_every_window(
    function: Callable[..., Any], size: Size
) -> None:
    """A result that is made a second time, beside the others, is the same."""
    graph = graph_of(function, size)
    assert "recover" in {node.op.name for node in graph.nodes}
    kernel = Kernel(graph, compile_module(lower_nest(schedule(graph), "test")), "test")
    random = np.random.default_rng(5)
    for _ in range(20):
        extremes = [0.0, -0.0, 1e-200, 1e200, -1e300, 5e-324, np.inf, -np.inf, np.nan, 1.0]
        arguments = [
            np.where(
                random.random(100) < 0.2, random.choice(extremes, 100), random.normal(size=100)
            )
            for _ in graph.params
        ]
        for found, want in zip(kernel(arguments), interpret(graph, arguments), strict=True):
            assert_same_bits(found, want)


@pytest.mark.parametrize("function", DIVIDED)
def test_one_loop_over_the_window_does_it_all(function: Callable[..., Any]) -> None:
    items = schedule(graph_of(function, 5000)).body
    assert len([item for item in items if isinstance(item, Loop) and item.size >= 4000]) == 1


def test_what_another_loop_keeps_is_read_by_a_whole_result() -> None:
    def loss(x: Any) -> Any:
        return np.sum((x[1:] - x[:-1]) ** 2) + np.sum(np.cumsum(x) ** 2)

    made = draft(graph_of(loss, symbol("n")), Estimates()).function
    assert "concatenate" not in [node.op.name for node in made.nodes]
