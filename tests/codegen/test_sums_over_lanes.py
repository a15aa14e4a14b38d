"""Sums over lanes and sums by groups along one loop: each kind in a loop of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradc.pipeline import Request, derive
from gradc.tracing import trace
from gradc_codegen.compile_function import Compilation
from gradc_codegen.nest.loop_nest import Statement, loops_of
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import Size, symbol
from gradc_ir.core.types import DType, Type
from gradc_ir.interpreter.interpret import interpret
from tests.comparing import assert_same_bits

H, K = symbol("h"), symbol("k")


def network(classes: Size) -> Function:
    def function(w: Any, v: Any, x: Any) -> Any:
        hidden = x @ w
        return np.mean(np.abs((hidden / (1 + np.abs(hidden))) @ v))

    shapes: list[tuple[Size, ...]] = [(9, H), (H, classes), (symbol("n"), 9)]
    types = tuple(Type(DType.F64, shape) for shape in shapes)
    return derive(trace(function, types).function, Request("value_and_grad", (0, 1)))


def sums_by_loop(compilation: Compilation) -> list[tuple[int, int]]:
    """Return of each loop of contractions alone how many are over lanes, and along the loop."""
    found = []
    for loop in loops_of(compilation.nest.body):
        sums = [one for one in loop.body if isinstance(one, Statement)]
        if len(sums) == len(loop.body) and all(one.node.op.name == "contract" for one in sums):
            along = sum(one in loop.reductions for one in sums)
            found.append((len(sums) - along, along))
    return found


def test_short_sums_share_a_loop() -> None:
    assert (1, 1) in sums_by_loop(Compilation(network(32)))


@pytest.mark.parametrize("classes", [K, 33])
def test_sums_by_groups_do_not(classes: Size) -> None:
    function = network(classes)
    compilation = Compilation(function)
    found = sums_by_loop(compilation)
    assert (1, 1) not in found
    assert (1, 0) in found
    kernel = compilation.kernel(level=0)
    for samples, k in [(1, 3), (31, 33), (70, 40)] if classes is K else [(40, 33)]:
        random = np.random.default_rng(samples)
        arrays = [random.normal(size=shape) for shape in ((9, 5), (5, k), (samples, 9))]
        for got, want in zip(kernel(arrays), interpret(function, arrays), strict=True):
            assert_same_bits(got, want)
