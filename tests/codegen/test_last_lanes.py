"""Lanes behind the last whole group join in order where there is no group, else as a group does."""

from __future__ import annotations

import numpy as np
import pytest

from gradc_codegen.lower.lower import lower
from gradc_ir import build
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.sizes import symbol
from gradc_ir.core.types import DType, Type
from gradc_ir.interpreter.interpret import interpret
from tests.codegen.compiled import function_of, kernel_of
from tests.comparing import assert_same_bits

LENGTHS = (0, 1, 7, 8, 9, 31, 32, 33, 40, 63, 64, 71, 100)
N, M = symbol("n"), symbol("m")


def sums(dtype: DType) -> Function:
    """Return sums over samples of each kind, alone and beside sums of long rows."""

    def body(w: Value, x: Value) -> list[Value]:
        z = build.contract(x, w, "ij,j->i")
        e = build.sub(build.mul(z, z), 0.5)
        return [
            build.contract(e, x, "i,ij->j"),
            build.reduce_sum(e, (0,)),
            build.reduce_prod(e, (0,)),
            build.reduce_max(z, (0,)),
            build.reduce_min(z, (0,)),
        ]

    return function_of([Type(dtype, (M,)), Type(dtype, (N, M))], body, ["w", "x"])


@pytest.mark.parametrize("dtype", [DType.F64, DType.F32])
def test_sums_of_any_length(dtype: DType) -> None:
    function = sums(dtype)
    assert "@gradc.in_order.products" in lower(function, "test")
    kernel, random = kernel_of(function), np.random.default_rng(0)
    for n in LENGTHS:
        for m in (3, 40):
            arrays = [random.normal(size=shape).astype(dtype.numpy) / 4 for shape in ((m,), (n, m))]
            for found, want in zip(kernel(arrays), interpret(function, arrays), strict=True):
                assert_same_bits(found, want)
