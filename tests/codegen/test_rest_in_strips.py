"""The rest of a loop over samples: strip by strip, to the bits of a block at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradc.pipeline import Request, derive
from gradc.tracing import trace
from gradc_codegen.compile_function import Compilation
from gradc_codegen.nest.loop_nest import Loop, loops_of
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import Size, symbol
from gradc_ir.core.types import DType, Type
from gradc_ir.interpreter.interpret import interpret
from tests.comparing import assert_same_bits

N, M = symbol("n"), symbol("m")


def scaled(w: Any, x: Any, labels: Any) -> Any:
    """What is summed over samples beside the features takes a block at once, in two places."""
    centred = x - np.mean(x, axis=1, keepdims=True)
    size = np.mean(centred**2, axis=1, keepdims=True) + 1
    z = np.where(size > 1.2, w * centred / size, 0.5 * w * centred)
    return np.sum(z[np.arange(len(x)), labels]) + np.sum(z**2) + np.sum(np.sum(x, axis=0) ** 2)


def weighted(w: Any, x: Any, labels: Any) -> Any:
    """One loop over features makes what goes in strips, the other one what does not."""
    residual = np.abs(x @ w - labels)
    return np.sum(residual / (2 + residual))


def function_of(function: Any, dtype: DType, features: Any = M) -> Function:
    types = (Type(dtype, (features,)), Type(dtype, (N, features)), Type(DType.I64, (N,)))
    return derive(trace(function, types).function, Request("value_and_grad", (0, 1)))


@pytest.mark.parametrize("dtype", [DType.F64, DType.F32], ids=str)
@pytest.mark.parametrize("function", [scaled, weighted])
def test_bits_are_those_of_the_interpreter(function: Any, dtype: DType) -> None:
    made = function_of(function, dtype)
    compilation = Compilation(made)
    blocks = [loop for loop in loops_of(compilation.nest.body) if loop.block == 32]
    assert any(isinstance(item, Loop) for loop in blocks for item in loop.body)
    kernel = compilation.kernel(level=0)
    for samples, features in [(n, 5) for n in (1, 8, 31, 32, 49)] + [(27, 40)]:
        random = np.random.default_rng(samples)
        arrays = [
            random.normal(size=features).astype(dtype.numpy),
            random.normal(size=(samples, features)).astype(dtype.numpy),
            random.integers(0, features, samples),
        ]
        for found, want in zip(kernel(arrays), interpret(made, arrays), strict=True):
            assert_same_bits(found, want)


def classified(w: Any, v: Any, x: Any) -> Any:
    z = np.abs(x @ w) @ v
    return np.sum(np.log(np.sum(np.exp(z), axis=1)))


def test_functions_beside_loops_of_unknown_length_are_there_once() -> None:
    def compilation(*sizes: Size) -> Compilation:
        n, m, h, k = sizes
        types = tuple(Type(DType.F64, shape) for shape in ((m, h), (h, k), (n, m)))
        return Compilation(derive(trace(classified, types).function, Request("value")))

    sizes = 70, 5, 6, 3
    any_size, one_size = compilation(*map(symbol, "nmhk")), compilation(*sizes)
    calls = [each.llvm.count("= call <8 x double> @gradc.log.") for each in (any_size, one_size)]
    assert calls[1] - calls[0] == 6  # one for four in whole blocks, and in the rest
    random = np.random.default_rng(0)
    arrays = [random.normal(size=shape) for shape in ((5, 6), (6, 3), (70, 5))]
    found, want = (each.kernel(level=0)(arrays)[0] for each in (any_size, one_size))
    assert_same_bits(found, want)


def test_it_is_shorter_than_a_block() -> None:
    """Of eight features each sum of a block is written once for 32 samples, once for a strip."""
    text = Compilation(function_of(weighted, DType.F64, 8), cpu="x86-64-v3").llvm
    assert "@llvm.masked.gather.v8f64" in text
    assert "@llvm.masked.gather.v32f64" not in text
