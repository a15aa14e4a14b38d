"""Sorting orders, running sums and recurrences as machine code: the interpreter's bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gradc_ir import build
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.sizes import Size, symbol
from gradc_ir.core.types import DType, Type
from tests.codegen.compiled import assert_compiled_same, function_of

DTYPES = (DType.F64, DType.F32, DType.I64, DType.I32)
SHAPES = {
    1: ((0,), (1,), (2,), (17,), (33,), (200,)),
    2: ((3, 0), (0, 3), (1, 1), (5, 40), (43, 5)),
    3: ((2, 33, 3), (0, 2, 2)),
}
SPECIAL = (np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf, 5e-324, -1e-40, 1.0, -1.0)


def _drawn(dtype: DType, shape: tuple[int, ...], seed: int = 0) -> npt.NDArray[Any]:
    """Numbers with many ties, and for floats all that is special."""
    random = np.random.default_rng(seed)
    if dtype is DType.BOOL:
        return random.random(shape) < 0.5
    drawn = random.integers(-4, 5, size=shape).astype(np.float64)
    if dtype.is_float:
        special = random.choice(SPECIAL, shape)
        drawn = np.where(random.random(shape) < 0.4, special, drawn / 4 + 0.1)
    elif seed:
        drawn = np.where(random.random(shape) < 0.3, np.iinfo(dtype.numpy).min, drawn)
    with np.errstate(all="ignore"):
        return drawn.astype(dtype.numpy)


def _check(dtype: DType, rank: int, count: int, body: Callable[..., list[Value]]) -> None:
    """Compare a body of operands and an axis, for all axes, with symbolic and with known sizes."""

    def of(shape: tuple[Size, ...]) -> Function:
        return function_of(
            [Type(dtype, shape)] * count,
            lambda *x: [y for axis in range(rank) for y in body(*x, axis)],
        )

    def cases(shape: tuple[int, ...]) -> list[list[npt.NDArray[Any]]]:
        return [[_drawn(dtype, shape, seed + i) for i in range(count)] for seed in (0, 5)]

    with np.errstate(all="ignore"):
        every = [case for shape in SHAPES[rank] for case in cases(shape)]
        assert_compiled_same(of(tuple(map(symbol, "nmk"[:rank]))), *every, level=2)
        for shape in SHAPES[rank]:
            assert_compiled_same(of(shape), *cases(shape))


@pytest.mark.parametrize("rank", SHAPES)
@pytest.mark.parametrize("dtype", [*DTYPES, DType.BOOL])
def test_argsort(dtype: DType, rank: int) -> None:
    _check(dtype, rank, 1, lambda x, axis: [build.argsort(x, axis)])


@pytest.mark.parametrize("rank", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_cumsum(dtype: DType, rank: int) -> None:
    _check(dtype, rank, 1, lambda x, axis: [build.cumsum(x, axis, r) for r in (False, True)])


@pytest.mark.parametrize("rank", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_running_product(dtype: DType, rank: int) -> None:
    """What it adds is not written; what looks like it and adds something is."""

    def body(x: Value, axis: int) -> list[Value]:
        added = build.select(build.starts(x, axis), x, 0.0 if dtype.is_float else 1)
        return [build.cumprod(x, axis), build.recurrence(x, added, axis)]

    _check(dtype, rank, 1, body)


@pytest.mark.parametrize("rank", SHAPES)
@pytest.mark.parametrize("dtype", [DType.F64, DType.F32])
def test_recurrence(dtype: DType, rank: int) -> None:
    def body(a: Value, b: Value, axis: int) -> list[Value]:
        return [build.recurrence(a, b, axis, reverse) for reverse in (False, True)]

    _check(dtype, rank, 2, body)


LENGTH = 5000
PATTERNS = {
    "ascending": np.arange(LENGTH),
    "descending": np.arange(LENGTH)[::-1],
    "equal": np.zeros(LENGTH),
    "saw": np.arange(LENGTH) % 37,
    "organ pipe": np.minimum(np.arange(LENGTH), np.arange(LENGTH)[::-1]),
    "random": np.random.default_rng(1).permutation(LENGTH),
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_long_rows_sort_stably(pattern: str) -> None:
    function = function_of([Type(DType.F64, (symbol("n"),))], lambda x: build.argsort(x, 0))
    x = PATTERNS[pattern].astype(np.float64)
    assert_compiled_same(function, *[[x[:length]] for length in (16, 32, 48, 100, 4096, LENGTH)])


def test_a_running_product_is_a_recurrence() -> None:
    function = function_of([Type(DType.F64, (symbol("n"),))], lambda x: build.cumprod(x, 0))
    cases = [np.array([-0.0, 3.0, -2.0]), np.array([2.0, -0.0, np.inf]), np.array([]), np.ones(40)]
    with np.errstate(all="ignore"):
        assert_compiled_same(function, *[[x] for x in cases])
