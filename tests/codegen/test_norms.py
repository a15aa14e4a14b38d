"""Norms along axes: compiled as interpreted, and summed again only where a row leaves the range."""

from __future__ import annotations

import numpy as np
import pytest

from gradc_codegen.lower.lower import lower
from gradc_ir import build
from gradc_ir.core import sizes
from gradc_ir.core.types import Array, DType, Type
from gradc_ir.interpreter.interpret import interpret
from tests.codegen.compiled import assert_compiled_same, function_of, kernel_of

N, M = sizes.symbol("n"), sizes.symbol("m")
SHAPES = [(1, 1), (3, 5), (40, 3), (3, 40), (9, 64), (64, 9), (33, 33), (2, 5000), (5000, 2)]


def rows(shape: tuple[int, ...], dtype: DType, extreme: bool) -> Array:
    random = np.random.default_rng(7)
    x = random.normal(size=shape)
    if extreme:
        ends = np.array([1.0, 2.0**-510, 2.0**510, 2.0**-1060, 2.0**1020, 0.0])
        if dtype is DType.F32:
            ends = np.array([1.0, 2.0**-70, 2.0**62, 2.0**-140, 2.0**120, 0.0])
        x *= random.choice(ends, (*shape[:-1], 1)) if random.random() < 2 else 1
        x *= random.choice(np.append(ends[:2], 0.0), (1, shape[-1]))
        special = random.choice(x.size, x.size // 50)
        x.ravel()[special] = random.choice([np.inf, -np.inf, np.nan], special.size)
    with np.errstate(all="ignore"):
        return x.astype(dtype.numpy)


@pytest.mark.parametrize("dtype", [DType.F64, DType.F32])
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("symbolic", [False, True])
def test_norms_have_the_interpreters_bits(
    axes: tuple[int, ...], dtype: DType, symbolic: bool
) -> None:
    for shape in SHAPES:
        size = (N, M) if symbolic else shape
        f = function_of([Type(dtype, size)], lambda x: build.norm(x, axes))
        assert_compiled_same(f, *([rows(shape, dtype, extreme)] for extreme in (False, True)))


@pytest.mark.parametrize("axis", [0, 1])
def test_rows_divided_by_their_norms(axis: int) -> None:
    def unit(x: build.Value) -> build.Value:
        norm = build.norm(x * x - x, (axis,))
        return build.exp(x) / build.broadcast(norm, x.type.shape, (1 - axis,))

    f = function_of([Type(DType.F64, (N, M))], lambda x: unit(build.abs(x)) * 0 + x)
    assert_compiled_same(f, *([rows(shape, DType.F64, True)] for shape in SHAPES))


@pytest.mark.parametrize(
    ("row", "want"),
    [
        ([3e200, 4e200], 5e200),
        ([3e-200, 4e-200], 5e-200),
        ([3 * 2.0**-1074, 4 * 2.0**-1074], 5 * 2.0**-1074),
        ([0.0, -0.0], 0.0),
        ([np.inf, 1.0], np.inf),
        ([1.7e308, 1.7e308], np.inf),
    ],
)
def test_norms_neither_over_nor_underflow(row: list[float], want: float) -> None:
    f = function_of([Type(DType.F64, (1, 2))], lambda x: build.norm(x, (1,)))
    assert np.allclose(interpret(f, [np.array([row])])[0], want, rtol=4e-16, atol=0)
    assert np.isnan(kernel_of(f)([np.array([[np.nan, 1e200]])])[0]).all()


@pytest.mark.parametrize(("shape", "axis"), [((100, 64), 1), ((100, 64), 0), ((5000, 3), 1)])
def test_the_second_sum_stands_behind_a_branch(shape: tuple[int, int], axis: int) -> None:
    f = function_of([Type(DType.F64, shape)], lambda x: build.norm(x, (axis,)))
    text = lower(f, "f")
    scale = np.float64(2.0**600).view(np.int64)
    assert f"{scale:016X}" in text.upper()
    assert "where" in text
