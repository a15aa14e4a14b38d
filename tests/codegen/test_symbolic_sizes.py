"""Kernels for any size: laid out as those for one are, with the same bits at every size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gradc.pipeline import Request, derive
from gradc.tracing import trace
from gradc_codegen.compile_function import Compilation, compile_function
from gradc_codegen.nest.loop_nest import loops_of
from gradc_codegen.schedule.estimates import UNKNOWN, Estimates
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import Size, symbol
from gradc_ir.core.types import DType, Type
from gradc_ir.interpreter.interpret import interpret
from tests.comparing import assert_same_bits

# without functions of the mathematics library, which the interpreter has others of
N, M, K = symbol("n"), symbol("m"), symbol("k")


def fitted(w: Any, x: Any, y: Any) -> Any:
    return np.mean((y - np.abs(x @ w)) ** 2)


def nearest(p: Any, c: Any) -> Any:
    return np.sum(np.min(np.sum((p[:, None] - c) ** 2, axis=2), axis=1))


def classified(w: Any, x: Any) -> Any:
    z = x @ w
    return np.mean(np.sqrt(1 + np.sum((z - np.max(z, axis=1, keepdims=True)) ** 2, axis=1)))


# the functions, and the shapes of their arguments for n samples, m features and k classes
CASES: dict[str, Any] = {
    "fitted": (fitted, lambda n, m, k: ((m,), (n, m), (n,))),
    "nearest": (nearest, lambda n, m, k: ((n, m), (k, m))),
    "classified": (classified, lambda n, m, k: ((m, k), (n, m))),
}


def gradient(name: str, n: Size, m: Size, k: Size, dtype: DType = DType.F64) -> Function:
    function, shapes = CASES[name]
    types = tuple(Type(dtype, shape) for shape in shapes(n, m, k))
    return derive(trace(function, types).function, Request("value_and_grad", (0,)))


def blocks(function: Function) -> set[int]:
    return {loop.block for loop in loops_of(Compilation(function).nest.body)}


@pytest.mark.parametrize("name", CASES)
def test_samples_run_in_blocks_whatever_else_is_known(name: str) -> None:
    """Otherwise lanes run along short axes, most of them empty, or not at all."""
    assert 32 in blocks(gradient(name, N, 50, 10))
    assert 32 in blocks(gradient(name, N, M, K))


def sizes() -> Iterator[tuple[int, int, int]]:
    """Yield numbers of samples, features and classes around groups, blocks and chunks."""
    yield from [(40, m, 3) for m in (1, 7, 8, 9, 31, 32, 33, 63, 64, 65, 100)]
    yield from [(n, 9, k) for n, k in ((1, 1), (2, 40), (31, 33), (32, 32), (65, 2), (12_300, 4))]


@pytest.mark.parametrize("dtype", [DType.F64, DType.F32], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_bits_at_any_size_are_those_of_the_interpreter(name: str, dtype: DType) -> None:
    function = gradient(name, N, M, K, dtype)
    kernel = compile_function(function)
    shapes = CASES[name][1]
    for size in sizes():
        random = np.random.default_rng(size)
        arrays = [random.normal(size=shape).astype(dtype.numpy) for shape in shapes(*size)]
        for found, want in zip(kernel(arrays), interpret(function, arrays), strict=True):
            assert_same_bits(found, want)


@pytest.mark.parametrize("size", [(40, 8, 3), (65, 33, 40)])
@pytest.mark.parametrize("name", CASES)
def test_bits_are_those_of_kernels_for_one_size(name: str, size: tuple[int, int, int]) -> None:
    shapes = CASES[name][1](*size)
    arrays = [np.random.default_rng(1).normal(size=shape) for shape in shapes]
    one = compile_function(gradient(name, *size))
    every = compile_function(gradient(name, N, M, K))
    for found, want in zip(every(arrays), one(arrays), strict=True):
        assert_same_bits(found, want)


def test_inner_axes_are_taken_for_short() -> None:
    def shape_of(*shapes: tuple[Size, ...]) -> Function:
        return trace(
            lambda *x: sum(map(np.sum, x)), tuple(Type(DType.F64, s) for s in shapes)
        ).function

    estimate = Estimates(shape_of((N, M), (M,)))
    assert estimate(N) == UNKNOWN > 10 * estimate(M)
    assert estimate(N - 1) == UNKNOWN - 1
    assert estimate(7) == 7
    picture = Estimates(shape_of((N, N), (M,)))
    assert picture(N) == picture(M) == UNKNOWN
