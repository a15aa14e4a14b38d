"""Long straight-line code over samples: in lanes part by part, strip by strip, to the same bits."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.pipeline import Request, derive
from gradc.tracing import trace
from gradc_codegen.compile_function import Compilation
from gradc_codegen.interface.python_kernel import Kernel
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


@cache
def compiled(by_rows: bool) -> tuple[Function, Kernel]:
    """Return a function whose body is cut, and its kernel."""
    function = walk(80, N, by_rows)
    return function, Compilation(function).kernel()


def outer_loop(function: Function) -> Loop:
    return max(loops_of(Compilation(function).nest.body), key=lambda loop: len(loop.body))


def test_a_short_body_is_not_cut() -> None:
    loop = outer_loop(walk(20, N, True))
    assert loop.block > 1
    assert not any(isinstance(item, Part) for item in loop.body)


def test_a_long_body_keeps_its_lanes() -> None:
    loop = outer_loop(walk(120, N, True))
    assert loop.block == 32
    assert all(isinstance(item, Part) and item.strip == 8 for item in loop.body)


def layers(samples: Size) -> Function:
    """Return value and gradients of a loss whose classes are written out between two products."""

    def function(w: Any, x: Any, labels: Any) -> Any:
        z = x @ w
        likely = 1 / (1 + (z - z.max(1, keepdims=True)) ** 2)
        return np.sum((likely / likely.sum(1, keepdims=True))[np.arange(len(x)), labels])

    floats = Type(DType.F64, (11, 4)), Type(DType.F64, (samples, 11))
    types = (*floats, Type(DType.I64, (samples,)))
    return derive(trace(function, types).function, Request("value_and_grad", (0,)))


@pytest.mark.parametrize("samples", [N, 20, 24, 40, 64])
def test_a_long_run_between_loops_goes_in_strips(samples: Size) -> None:
    function = layers(samples)
    loop = outer_loop(function)
    assert loop.block == 32
    assert any(isinstance(item, Part) and item.strip == 8 for item in loop.body)
    assert any(isinstance(item, Loop) for item in loop.body)
    kernel = Compilation(function).kernel()
    for count in (1, 8, 31, 32, 33, 71) if samples is N else (samples,):
        random = np.random.default_rng(0)
        w, x = random.normal(size=(11, 4)), random.normal(size=(count, 11))
        arrays = [w, x, random.integers(0, 4, count)]
        for found, want in zip(kernel(arrays), interpret(function, arrays), strict=True):
            assert_same_bits(found, want)


@pytest.mark.parametrize("by_rows", [True, False], ids=["rows", "columns"])
def test_bits_are_those_of_the_interpreter(by_rows: bool) -> None:
    """Around strips and blocks, and where memory is asked for ahead."""
    function, kernel = compiled(by_rows)
    for samples in (1, 7, 8, 9, 31, 32, 33, 71, 2000):
        z = np.random.default_rng(samples).normal(size=(80, samples))
        arrays = [np.array(0.3), z if by_rows else np.ascontiguousarray(z.T)]
        for found, want in zip(kernel(arrays), interpret(function, arrays), strict=True):
            assert_same_bits(found, want)


def test_scratch_is_a_block_of_what_crosses() -> None:
    """It grows with the steps; with the samples only the tree of their sums does."""
    _, kernel = compiled(True)
    few, many = kernel._worksize(100), kernel._worksize(10_000_000)
    assert few <= many < few + 1000 < 80 * 32 * 8 * 4
