"""Hoisting and derivatives: what is invariant is computed once, and zeros stay zeros."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.pipeline import derive
from gradc.requests.options import Options
from gradc.requests.request import Request
from gradc.tracing import trace
from gradc_ir.core.graph import Function
from gradc_ir.interpreter.interpret import interpret

XS = -np.ones(5)


def gradient(f: Callable[..., Any], a: float, xs: Any) -> Function:
    traced = trace(f, (np.array(a), xs)).function
    return derive(traced, Request("value_and_grad", (0,)))


def ops_of(function: Function) -> set[str]:
    return {node.op.name for node in function.nodes}


def test_an_expensive_value_is_computed_before_both_loops() -> None:
    def f(a: Any, xs: Any) -> Any:
        return gradc.scan(lambda c, x: (np.sin(c) * np.exp(a) + x, None), 0.0, xs)[0]

    made = gradient(f, 0.3, XS)
    loops = [node for node in made.nodes if node.op.name == "scan"]
    assert "exp" in ops_of(made)
    assert len(loops) == 2
    assert all("exp" not in ops_of(loop.attributes["body"]) for loop in loops)


def test_gradients_multiply_invariant_matrices_once() -> None:
    def f(a: Any, b: Any, x: Any) -> Any:
        return gradc.scan(lambda x, _: (np.tanh((a @ b) @ x), None), x, None, length=9)[0].sum()

    square = np.eye(8)
    traced = trace(f, (square, square, np.ones(8))).function
    made = derive(traced, Request("grad", (0, 1)))
    loops = [node for node in made.nodes if node.op.name == "scan"]
    assert len(loops) == 2
    for loop in loops:
        for node in loop.attributes["body"].nodes:
            if node.op.name == "contract":
                assert [operand.type.rank for operand in node.operands] != [2, 2]


@pytest.mark.parametrize("xs", [XS, np.ones(0)], ids=["not read", "no step"])
def test_the_cotangent_of_a_value_that_no_step_reads_is_zero(xs: Any) -> None:
    """The slope of the square root at 0 is infinite."""

    def f(a: Any, xs: Any) -> Any:
        return gradc.scan(lambda c, x: (c + np.where(x > 0, np.sqrt(a) * x, x), None), 0.0, xs)[0]

    assert interpret(gradient(f, 0.0, xs), [np.array(0.0), xs])[1] == 0


def test_what_no_step_computes_is_not_found_not_to_be_finite() -> None:
    @gradc.compile(debug_nans=True)
    def f(a: Any, k: Any) -> Any:
        return gradc.fori_loop(0, k, lambda i, c: c + np.log(a), 1.0)

    assert f(0.0, 0) == 1
    traced = trace(f.__wrapped__, (np.array(0.0), np.array(0))).function
    plain = derive(traced, Request("value"))
    kept = derive(traced, Request("value", options=Options(debug_nans=True)))
    assert "log" in ops_of(plain)
    assert "log" not in ops_of(kept)
