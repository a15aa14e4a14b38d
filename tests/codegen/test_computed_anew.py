"""Formulas of numbers that are alone: what is asked before they are computed anew."""

from __future__ import annotations

import numpy as np
import pytest

from gradc.runtime.executable import Executable
from gradc_codegen.lower.lower import lower
from gradc_codegen.scalar.extremes import listed
from gradc_ir import build
from gradc_ir.core.builder import Builder
from gradc_ir.core.graph import Function
from gradc_ir.core.types import DType, Type
from gradc_ir.interpreter.interpret import interpret
from tests.codegen.test_unbounded import formula


@pytest.mark.parametrize("other", [0.0, 3.0])
def test_a_zero_that_is_chosen_is_not_asked_about(other: float) -> None:
    body = formula("mul %0 %1; mul %2 %2 -> %3", 2)
    with Builder() as builder:
        x, y = (builder.param(i, Type(DType.F64)) for i in range(2))
        chosen = build.select(build.lt(x, y), x, build.constant(other, DType.F64))
        result = build.apply("unbounded", chosen, y, body=body, result=0)
        function = builder.function("f", [x, y], [result])
    text = lower(function, "f")
    # the choice, what the call says, who is asked where; and whether it is zero
    assert text.count(" = select i1 %") == 3 + (other == 0.0)
    for given in ([1.0, 2.0], [2.0, 1.0], [1e200, 1e250], [0.0, 1e300], [1e-200, 2.0]):
        arrays = [np.array(each) for each in given]
        found = Executable(function, False, False)(arrays)[0]
        np.testing.assert_array_equal(np.asarray(found), interpret(function, arrays)[0])


def test_how_places_are_listed() -> None:
    assert listed([3, 1, 3, 9]) == bytes([1, 2, 6])
    for last in (254, 255, 256, 510, 1000):
        data = listed([5, 5 + last])
        assert sum(data) == 5 + last
        assert [each for each in data if each != 255] == [5, last % 255]


def test_places_that_are_far_apart() -> None:
    """Formulas whose operands many other numbers lie between."""
    with Builder() as builder:
        params = [builder.param(i, Type(DType.F64)) for i in range(300)]
        every = build.apply("unbounded", *params, body=_product_of_ends(300), result=0)
        ends = [params[0], params[299]]
        both = build.apply("unbounded", *ends, body=_product_of_ends(2), result=0)
        function = builder.function("f", params, [every, both])
    arrays = [np.array(1.0)] * 300
    for first, last in ((2.0, 3.0), (1e200, 1e200), (1e-200, 1e200)):
        given = [np.array(first), *arrays[1:-1], np.array(last)]
        wanted = interpret(function, given)
        for found, each in zip(Executable(function, False, False)(given), wanted, strict=True):
            np.testing.assert_array_equal(np.asarray(found), each)


def _product_of_ends(count: int) -> Function:
    return formula(
        f"mul %0 %{count - 1}; mul %{count} %{count}; sqrt %{count + 1} -> %{count + 2}", count
    )
