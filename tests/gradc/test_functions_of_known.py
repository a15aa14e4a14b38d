"""Functions of mathematics of what is known have the bits of what is recorded."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import gradc
from gradc import special
from gradc.pipeline import derive
from gradc.requests.request import Request
from gradc.tracing import trace
from gradc_codegen.compile_function import compile_function
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.sizes import Size, symbol
from gradc_ir.core.types import DType, Type
from gradc_ir.passes import FoldConstants
from tests.comparing import assert_same_bits

# As many are computed in a loop of machine code, fewer one by one.
MANY = 70


def of_sizes(x: Any) -> tuple[Any, ...]:
    n = x.shape[0]
    known = np.arange(n) + 0.37
    powers = np.arange(n) + 0.5
    powers **= 0.3
    placed = np.zeros(n)
    placed[-1] = 3.0
    placed -= 1.0
    return (
        x * np.sinh(placed),
        x * (np.log(n) + math.log(n)),
        x * known**-1 + known**0.5 + powers,
        x * np.sin(np.arange(n, dtype=np.float32)) + special.logsumexp(known),
    )


def sums_of_sizes(x: Any) -> tuple[Any, ...]:
    known = np.arange(len(x)) * 0.37 + 0.1
    table = np.outer(known, np.arange(7) + 0.7)
    return (
        x * (known.sum() + np.prod(known * 0.1) + np.mean(known) + np.sum([known, known])),
        x * (np.std(known) + known.var(ddof=1) + np.average(known, weights=known + 1)),
        x * np.add.reduce(table, 1, keepdims=True)[:, 0] + np.sum(table, axis=-1, dtype=np.float32),
        x[0] * (table.T @ table) + np.cov(table.T) + np.einsum("ij,ik,i->jk", table, table, known),
        x * np.sinc(known) * np.trapezoid(known * known, known) + np.linalg.norm(table, axis=1),
        x[0] * np.convolve(known, np.arange(5.0) * 0.3) + np.nanmean(known),
    )


def compiled(fn: Any, size: Size, x: Any) -> list[Any]:
    traced = trace(fn, [Type(DType.F64, (size,))]).function
    return compile_function(derive(traced, Request("value")))([x])


@pytest.mark.parametrize("fn", [of_sizes, sums_of_sizes])
def test_sizes_that_are_known_change_no_bit(fn: Any) -> None:
    x = np.random.default_rng(0).random(MANY)
    for known, symbolic in zip(compiled(fn, MANY, x), compiled(fn, symbol("n"), x), strict=True):
        assert_same_bits(known, symbolic)


def test_sums_of_known_numbers_are_numpy_in_kind_and_written_where_it_says() -> None:
    def fn(x: Any) -> Any:
        known = np.arange(len(x)) * 0.37
        written = np.zeros(())
        np.sum(known, out=written)
        shape = (int(np.sum(known)) % 7 + 1,)
        return x * np.sum(known), x * written, np.ones(shape) * np.sum(np.arange(3)) * x[0]

    found = gradc.compile(fn)(np.ones(MANY))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-14)
    assert found[2].shape == (int(np.sum(np.arange(MANY) * 0.37)) % 7 + 1,)


def test_out_and_where_get_the_same_numbers() -> None:
    def fn(x: Any) -> Any:
        known = np.linspace(0.1, 2.0, len(x))
        written, chosen = np.zeros(len(x)), np.ones(len(x))
        np.sinh(known, out=written)
        np.sinh(known, out=chosen, where=known > 1)
        return x * written, x * chosen, x * np.where(known > 1, np.sinh(known), 1.0)

    found = gradc.compile(fn)(np.ones(MANY))
    assert_same_bits(found[0], gradc.compile(np.sinh)(np.linspace(0.1, 2.0, MANY)))
    assert_same_bits(found[1], found[2])


def of_two(x: Any, y: Any) -> list[Any]:
    return [
        build.sinh(x),
        build.power(y, x),
        build.apply("log_mixture", x, y, build.full_like(x, 0.3)),
        build.apply("gammainc", y, build.abs(x)),
        build.apply("logsumexp", x, axes=(0,)),
    ]


def test_folding_gives_the_bits_of_compiled_code() -> None:
    for dtype in (DType.F64, DType.F32):
        a = np.linspace(-3, 3, MANY).astype(dtype.numpy)
        b = np.linspace(0.1, 9, MANY).astype(dtype.numpy)
        with Builder() as builder:
            params = [builder.param(i, Type(dtype, (MANY,))) for i in range(2)]
            function = builder.function("f", params, of_two(*params))
        with Builder() as builder:
            of_constants = builder.function("f", [], of_two(build.constant(a), build.constant(b)))
        folded = FoldConstants()(of_constants)
        for result, wanted in zip(folded.results, compile_function(function)([a, b]), strict=True):
            assert result.op.name == "constant"
            assert_same_bits(result.node.attributes["value"].array, wanted)


def test_what_kernels_compute_in_several_ways_is_left_to_them() -> None:
    with Builder() as builder:
        value = build.apply("zeta", build.constant(2.0), build.constant(1.5))
        function = builder.function("f", [], [value])
    assert FoldConstants()(function) == function
