"""Rows of two vectors: both at once where a body is short, one after the other where it is long."""

from __future__ import annotations

import numpy as np
import pytest

from gradc_codegen.nest.loop_nest import loops_of
from gradc_codegen.schedule.schedule import schedule
from gradc_ir import build
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.types import DType, Type
from tests.codegen.compiled import assert_compiled_same, function_of


def chain_of(x: Value, count: int) -> list[Value]:
    """Return square roots of sums with square roots."""
    made = [x]
    for _ in range(count):
        made.append(build.sqrt(made[-1] + x))
    return made[1:]


def chain(size: int, count: int, dtype: DType) -> Function:
    """Return a function of as many results, one row each."""
    return function_of([Type(dtype, (size,))], lambda x: chain_of(x, count))


def blocks(function: Function) -> list[int]:
    return [loop.block for loop in loops_of(schedule(function).body)]


@pytest.mark.parametrize(("count", "block"), [(4, 16), (80, 8)])
@pytest.mark.parametrize("size", [9, 14, 16])
def test_rows_of_two_vectors(size: int, count: int, block: int) -> None:
    function = chain(size, count, DType.F64)
    assert blocks(function) == [block]
    assert_compiled_same(function, [np.linspace(0.5, 2, size)])


def test_longer_rows_and_sums_are_as_they_were() -> None:
    with_sum = function_of(
        [Type(DType.F64, (14,))],
        lambda x: [build.reduce_sum(chain_of(x, 80)[-1], (0,)), *chain_of(x, 80)],
    )
    assert blocks(with_sum) == [16]
    assert_compiled_same(with_sum, [np.linspace(0.5, 2, 14)])
    assert blocks(chain(17, 80, DType.F64)) == blocks(chain(17, 4, DType.F64))


def test_rows_of_one_vector_and_of_single_precision() -> None:
    assert blocks(chain(8, 80, DType.F64)) == [8]
    assert blocks(chain(14, 80, DType.F32)) == [16]
