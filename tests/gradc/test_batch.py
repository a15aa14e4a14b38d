"""Batching: the batched function is the stack of the function over the points."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradc.autodiff.batch import batch
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.graph import Function
from gradc_ir.interpret import interpret
from gradc_ir.sizes import symbol
from gradc_ir.types import DType, Type
from tests.comparing import assert_same_bits
from tests.programs import arrays_for, programs

POINTS = 3


def assert_batched_is_stack(function: Function, batched: list[bool], seed: int) -> None:
    points = [arrays_for(function, seed + i) for i in range(POINTS)]
    shared = points[0]
    arrays = [
        np.stack([point[i] for point in points]) if has else shared[i]
        for i, has in enumerate(batched)
    ]
    found = interpret(batch(function, batched, POINTS), arrays)
    each = [
        interpret(function, [point[i] if has else shared[i] for i, has in enumerate(batched)])
        for point in points
    ]
    for k, result in enumerate(found):
        assert_same_bits(result, np.stack([results[k] for results in each]))


@settings(max_examples=60, deadline=None)
@given(programs(), st.data())
def test_batched_program_is_the_stack(function: Function, data: st.DataObject) -> None:
    batched = [data.draw(st.booleans()) for _ in function.params]
    assert_batched_is_stack(function, batched, seed=data.draw(st.integers(0, 99)))


def indexing(name: str) -> Function:
    """A gather or scatter with its index as a parameter."""
    with Builder() as builder:
        x = builder.param(0, Type(DType.F64, (4, 3)))
        i = builder.param(1, Type(DType.I64, (2,)))
        part = builder.param(2, Type(DType.F64, (2, 4)))
        if name == "gather":
            result = build.gather(x, [i], (1,))
        else:
            result = build.apply(name, x, part, i, axes=(1,))
        return builder.function(name, [x, i, part], [result])


@pytest.mark.parametrize("name", ["gather", "scatter_set", "scatter_add"])
@pytest.mark.parametrize("batched", [(1, 0, 0), (0, 1, 0), (1, 1, 0), (0, 0, 1), (1, 1, 1)])
def test_indexing(name: str, batched: tuple[int, ...]) -> None:
    function = indexing(name)
    rng = np.random.default_rng(0)
    points = [
        (rng.normal(size=(4, 3)), rng.integers(-3, 3, size=2), rng.normal(size=(2, 4)))
        for _ in range(POINTS)
    ]
    arrays = [
        np.stack([point[k] for point in points]) if has else points[0][k]
        for k, has in enumerate(batched)
    ]
    (found,) = interpret(batch(function, [bool(has) for has in batched], POINTS), arrays)
    for p, point in enumerate(points):
        arguments = [point[k] if has else points[0][k] for k, has in enumerate(batched)]
        assert_same_bits(found[p], interpret(function, arguments)[0])


def test_number_of_points_may_be_a_symbol() -> None:
    with Builder() as builder:
        x = builder.param(0, Type(DType.F64, (3,)))
        square = builder.function("square", [x], [build.reduce_sum(x * x, [0])])
    wide = batch(square, [True], symbol("m"))
    assert str(wide.result_types[0]) == "f64[m]"
    (found,) = interpret(wide, [np.arange(6.0).reshape(2, 3)])
    assert_same_bits(found, np.array([5.0, 50.0]))
