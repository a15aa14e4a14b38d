"""Reductions whose groups run in rows: the defined order, to the bit, optimised and symbolic."""

from __future__ import annotations

import numpy as np
import pytest

from gradc_codegen.lower.lower import lower
from gradc_codegen.machine.machine_code import machine_code
from gradc_ir import build
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.sizes import Size, symbol
from gradc_ir.core.types import DType, Type
from tests.codegen.compiled import assert_compiled_same, function_of

n = symbol("n")
LENGTHS = (31, 32, 33, 39, 40, 63, 64, 65, 4095, 4096, 4097, 4128, 4161, 8200)
DTYPES = (DType.F64, DType.F32)


def _array(dtype: DType, *shape: int) -> np.ndarray:
    random = np.random.default_rng(shape[0])
    # of all magnitudes, so that another order of joining has other bits
    return (random.normal(size=shape) * 10.0 ** random.integers(-6, 6, shape)).astype(dtype.numpy)


def _sum_and_more(dtype: DType, size: Size) -> Function:
    """A sum of squares, a product, a dot product and an array, in one loop."""

    def body(x: Value, y: Value) -> list[Value]:
        root = build.sqrt(build.abs(x))
        return [
            build.reduce_sum(x * x, (0,)),
            build.reduce_prod(root / (root + 1e-3), (0,)),
            build.contract(x, root, "i,i->"),
            build.reduce_max(x, (0,)),
            root - y,
        ]

    return function_of([Type(dtype, (size,))] * 2, body)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_symbolic_length(dtype: DType) -> None:
    arrays = [[_array(dtype, length), _array(dtype, length)] for length in (0, 1, *LENGTHS)]
    with np.errstate(all="ignore"):
        assert_compiled_same(_sum_and_more(dtype, n), *arrays, level=2)


@pytest.mark.parametrize("length", [33, 64, 70, 4100])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_length_that_is_known(dtype: DType, length: int) -> None:
    arrays = [_array(dtype, length), _array(dtype, length)]
    with np.errstate(all="ignore"):
        assert_compiled_same(_sum_and_more(dtype, length), arrays, level=2)


def test_both_dtypes_in_one_loop() -> None:
    def body(x: Value) -> list[Value]:
        return [build.reduce_sum(x, (0,)), build.reduce_sum(build.cast(x, DType.F32), (0,))]

    function = function_of([Type(DType.F64, (n,))], body)
    assert_compiled_same(function, *([_array(DType.F64, length)] for length in LENGTHS), level=2)


def test_rows_of_a_matrix() -> None:
    function = function_of(
        [Type(DType.F64, (3, n)), Type(DType.F64, (2, n))],
        lambda x, y: build.contract(x, y, "ik,jk->ij"),
    )
    cases = [[_array(DType.F64, 3, length), _array(DType.F64, 2, length)] for length in LENGTHS]
    assert_compiled_same(function, *cases, level=2)


def test_a_sum_is_joined_a_row_at_once() -> None:
    function = function_of([Type(DType.F64, (4096,))], lambda x: build.reduce_sum(x, (0,)))
    text = str(machine_code(lower(function, "f"), "x86-64-v3", "x86_64-unknown-linux-gnu").module)
    assert "fadd <8 x double>" in text
    assert "alloca" not in text.replace("alloca double", "")
