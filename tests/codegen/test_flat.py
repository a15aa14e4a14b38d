"""Functions of one shape, element by element, go along memory whatever their rows are."""

from __future__ import annotations

import numpy as np
import pytest

from gradc_codegen.compile_function import Compilation
from gradc_codegen.schedule.passes.flat import flat
from gradc_ir import build
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.sizes import Shape, symbol
from gradc_ir.core.types import DType, Type
from gradc_ir.interpreter.interpret import interpret
from tests.codegen.compiled import function_of
from tests.comparing import assert_same_bits

N, M = symbol("n"), symbol("m")


def _function(shape: Shape) -> Function:
    def body(x: Value, y: Value, scale: Value) -> list[Value]:
        scaled = build.mul(build.sqrt(build.abs(x)), build.broadcast(scale, shape, ()))
        chosen = build.select(build.lt(x, y), scaled, build.full(shape, 1.0, DType.F64))
        return [chosen, build.add(chosen, 2.0), build.mul(scale, scale)]

    of_elements = Type(DType.F64, shape)
    return function_of([of_elements, of_elements, Type(DType.F64, ())], body, ["x", "y", "scale"])


@pytest.mark.parametrize(
    ("shape", "given"),
    [((N, 3), (41, 3)), ((4, N, 5), (4, 7, 5)), ((17, 3), (17, 3)), ((N, 3), (0, 3))],
)
def test_bits_and_shapes_are_the_same(shape: Shape, given: tuple[int, ...]) -> None:
    random = np.random.default_rng(0)
    function = _function(shape)
    assert {type_.rank for type_ in flat(function).param_types} == {0, 1}
    arguments = [random.normal(size=given), random.normal(size=given), np.array(1.5)]
    found = Compilation(function).kernel(0)(arguments)
    for have, want in zip(found, interpret(function, arguments), strict=True):
        assert_same_bits(have, want)


def test_what_reads_other_elements_stays_as_it_is() -> None:
    one = Type(DType.F64, (N, 3))
    for body in (
        lambda x: [build.sqrt(x), build.reduce_sum(x, (1,))],
        lambda x: [build.transpose(build.sqrt(x), (1, 0))],
        lambda x: [build.add(x, build.broadcast(build.iota(DType.F64, 3), (N, 3), (1,)))],
    ):
        function = function_of([one], body)
        assert flat(function) is function


def test_sizes_stay_in_their_order() -> None:
    for shape in ((N, M), (M, N), (M, 2, N)):
        function = _function(shape)
        assert flat(function).size_symbols == function.size_symbols
