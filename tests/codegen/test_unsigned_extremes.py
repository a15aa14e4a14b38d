"""The greater and the smaller of numbers of which no two are zeros of different signs."""

from __future__ import annotations

import numpy as np
import pytest

from gradc_codegen.lower.lower import lower
from gradc_ir import build
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.sizes import symbol
from gradc_ir.core.types import DType, Type
from tests.codegen.compiled import assert_compiled_same, function_of

SPECIAL = (0.0, -0.0, 1.0, -1.0, 2.5, np.inf, -np.inf, np.nan, 5e-324, 1e308)


def _function(dtype: DType, op: str, squared: bool) -> Function:
    """Extremes of pairs, over rows and over columns."""

    def body(x: Value, y: Value) -> list[Value]:
        x, y = (build.mul(each, each) if squared else each for each in (x, y))
        rows, columns = ([build.apply(f"reduce_{op[:3]}", x, axes=(axis,))] for axis in (0, 1))
        zeros = [build.elementwise(op, x, 0.0), build.elementwise(op, -0.0, y)]
        return [build.elementwise(op, x, y), build.elementwise(op, x, 1.0), *zeros, *rows, *columns]

    return function_of([Type(dtype, (symbol("n"), symbol("m")))] * 2, body)


@pytest.mark.parametrize("op", ["maximum", "minimum"])
@pytest.mark.parametrize("dtype", [DType.F64, DType.F32])
def test_bits_are_those_of_all_numbers(dtype: DType, op: str) -> None:
    random = np.random.default_rng(0)
    for squared in (False, True):
        cases = [
            [random.choice(SPECIAL, shape).astype(dtype.numpy) for _ in range(2)]
            for shape in ((3, 5), (40, 33), (70, 2))
        ]
        with np.errstate(all="ignore"):
            assert_compiled_same(_function(dtype, op, squared), *cases)


@pytest.mark.parametrize("op", ["maximum", "minimum"])
def test_signs_of_zeros_are_looked_at_where_there_may_be_two(op: str) -> None:
    """Squares are never -0.0, and 1.0 is no zero."""
    assert "call nsz" in lower(_function(DType.F64, op, squared=True), "test")
    text = lower(_function(DType.F64, op, squared=False), "test")
    types = [Type(DType.F64, (symbol("n"),))] * 2
    assert "call nsz" in text  # of x and 1.0
    assert "nsz" not in lower(function_of(types, lambda x, y: build.elementwise(op, x, y)), "test")
