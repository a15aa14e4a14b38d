"""Long straight-line code over samples: in lanes part by part, strip by strip, to the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradc
from gradc.pipeline import Request, derive
from gradc.tracing import trace
from gradc_codegen.compile_function import Compilation
from gradc_codegen.nest.loop_nest import Loop, Part, loops_of
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import Size, symbol
from gradc_ir.core.types import DType, Type
from gradc_ir.interpreter.interpret import interpret
from tests.comparing import assert_same_bits

N = symbol("n")


def walk(steps: int, samples: Size, by_rows: bool) -> Function:
    """Return value and gradients of a sum over paths whose steps are written out."""

    def function(s: Any, z: Any) -> Any:
        z = z if by_rows else z.T
        x = np.zeros(z.shape[1])
        for t in gradc.unroll(range(steps)):
            x = x + s * (1 - 0.1 * x * x) * z[t]
        return np.mean(x**2)

    shape = (steps, samples) if by_rows else (samples, steps)
    types = (Type(DType.F64, ()), Type(DType.F64, shape))
    return derive(trace(function, types).function, Request("value_and_grad", (0, 1)))


def outer_loop(function: Function) -> Loop:
    return max(loops_of(Compilation(function).nest.body), key=lambda loop: len(loop.body))


def test_a_short_body_is_not_cut() -> None:
    loop = outer_loop(walk(20, N, True))
    assert loop.block > 1
    assert not loop.strip


def test_a_long_body_keeps_its_lanes() -> None:
    loop = outer_loop(walk(120, N, True))
    assert (loop.block, loop.strip) == (32, 8)
    assert all(isinstance(item, Part) for item in loop.body)


@pytest.mark.parametrize("by_rows", [True, False], ids=["rows", "columns"])
def test_bits_are_those_of_the_interpreter(by_rows: bool) -> None:
    """Around strips and blocks, and where memory is asked for ahead."""
    function = walk(80, N, by_rows)
    kernel = Compilation(function).kernel()
    for samples in (1, 7, 8, 9, 31, 32, 33, 71, 2000):
        z = np.random.default_rng(samples).normal(size=(80, samples))
        arrays = [np.array(0.3), z if by_rows else np.ascontiguousarray(z.T)]
        for found, want in zip(kernel(arrays), interpret(function, arrays), strict=True):
            assert_same_bits(found, want)


def test_scratch_is_a_block_of_what_crosses() -> None:
    """It grows with the steps; with the samples only the tree of their sums does."""
    kernel = Compilation(walk(80, N, True)).kernel()
    few, many = kernel._worksize(100), kernel._worksize(10_000_000)
    assert few <= many < few + 1000 < 80 * 32 * 8 * 4
