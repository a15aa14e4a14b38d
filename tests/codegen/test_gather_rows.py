"""Arrays of which rows are looked up are made for those rows alone, with the same bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc
from gradc_codegen.schedule.passes.gather_rows import GatherRows
from gradc_ir import build
from gradc_ir.core import sizes
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType, Type
from gradc_ir.interpreter.interpret import interpret
from tests.codegen.compiled import assert_compiled_same, function_of, kernel_of
from tests.comparing import assert_same_bits

N, M = sizes.symbol("n"), sizes.symbol("m")
WIDTH = 12


def _moved(rows: Value) -> Value:
    """Each row times a matrix of numbers, through a root."""
    weights = build.constant(np.arange(144.0).reshape(12, 12), DType.F64)
    return build.apply("sqrt", build.apply("abs", build.contract(rows, weights, "ij,jk->ik")))


def _columns(rows: Value) -> Value:
    return build.transpose(_moved(rows), (1, 0))


def _sums(rows: Value) -> Value:
    return build.reduce_sum(_moved(rows), (1,))


def _looked_up(made: Callable[[Value], Value], axis: int, rows: Size, wanted: Size) -> Function:
    """Rows of an array at two sets of indices."""

    def body(x: Value, first: Value, second: Value) -> list[Value]:
        array = made(x)
        return [build.gather(array, [index], (axis,)) for index in (first, second)]

    index = Type(DType.I64, (wanted,))
    types = [Type(DType.F64, (rows, WIDTH)), index, Type(DType.I64, (2, wanted))]
    return function_of(types, body)


def _arguments(rows: int, wanted: int) -> list[Any]:
    random = np.random.default_rng(rows)
    indices = [random.integers(-rows, rows, shape) for shape in ((wanted,), (2, wanted))]
    return [random.normal(size=(rows, WIDTH)), *indices]


def _lengths(function: Function) -> set[Size]:
    """How many roots are computed."""
    return {node.results[0].type.shape[0] for node in function.nodes if node.op.name == "sqrt"}


@pytest.mark.parametrize(("made", "axis"), [(_moved, 0), (_columns, 1), (_sums, 0)])
def test_rows_that_are_looked_up_are_made_alone(made: Any, axis: int) -> None:
    function = _looked_up(made, axis, 100, 5)
    assert _lengths(GatherRows()(function)) == {15}
    assert_compiled_same(function, _arguments(100, 5))


@pytest.mark.parametrize(("made", "axis"), [(_moved, 0), (_columns, 1), (_sums, 0)])
def test_of_sizes_that_the_program_knows_the_shorter_is_made(made: Any, axis: int) -> None:
    function = _looked_up(made, axis, N, M)
    prepared = GatherRows()(function)
    assert _lengths(prepared) == {sizes.minimum(3 * M, N)}
    cases = [_arguments(*case) for case in ((100, 5), (30, 10), (10, 40), (1, 1), (7, 0))]
    assert_compiled_same(function, *cases)
    for case in cases:
        for found, want in zip(interpret(prepared, case), interpret(function, case), strict=True):
            assert_same_bits(found, want)


def test_all_rows_are_made_where_most_are_looked_up() -> None:
    function = _looked_up(_moved, 0, 100, 30)
    assert GatherRows()(function) is function


def test_what_something_else_reads_is_made_whole() -> None:
    def body(x: Value, index: Value) -> list[Value]:
        array = _moved(x)
        return [build.gather(array, [index], (0,)), build.reduce_sum(array, (0, 1))]

    function = function_of([Type(DType.F64, (100, WIDTH)), Type(DType.I64, (5,))], body)
    assert GatherRows()(function) is function


def test_indices_that_are_made_of_rows_come_later() -> None:
    def body(x: Value, index: Value) -> list[Value]:
        array = _moved(x)
        first = build.gather(array, [index], (0,))
        sums = build.reduce_sum(first, (1,))
        again = build.cast(build.lt(sums * 0.5, sums), DType.I64)
        return [first, build.gather(array, [again], (0,))]

    function = function_of([Type(DType.F64, (100, WIDTH)), Type(DType.I64, (5,))], body)
    assert GatherRows()(function) is function
    random = np.random.default_rng(0)
    arguments = [random.normal(size=(100, WIDTH)), np.arange(5)]
    assert_same_bits(kernel_of(function)(arguments)[0], interpret(function, arguments)[0])


def test_what_reads_rows_and_the_whole_reads_both() -> None:
    def body(x: Value, index: Value) -> Value:
        roots = build.apply("sqrt", build.apply("abs", x))
        products = build.contract(roots, roots, "ij,kj->ik")
        return build.gather(products, [index], (0,))

    function = function_of([Type(DType.F64, (20, WIDTH)), Type(DType.I64, (N,))], body)
    random = np.random.default_rng(0)
    x = random.normal(size=(20, WIDTH))
    assert_compiled_same(function, *([x, random.integers(-20, 20, n)] for n in (0, 3, 50)))


def test_an_index_outside_names_the_whole_axis() -> None:
    @gradc.compile
    def near(x: Any, index: Any) -> Any:
        return np.sin(x @ np.eye(3))[index]

    x = np.ones((50, 3))
    near(x, np.arange(3))
    for index in ([1, 50], [-51]):
        with pytest.raises(IndexError, match="out of bounds for axis 0 with size 50"):
            near(x, np.array(index))


def test_derivatives_have_the_same_bits_for_any_size() -> None:
    def near(theta: Any, x: Any, index: Any) -> Any:
        return np.sqrt(1 + (x @ theta) ** 2)[index]

    random = np.random.default_rng(0)
    theta, x, index = random.normal(size=(3, 3)), random.normal(size=(60, 3)), np.arange(0, 60, 9)
    known = gradc.compile(lambda *args: gradc.jacobian(near)(*args))
    other = gradc.compile(lambda *args: gradc.jacobian(near)(*args))
    want = known(theta, x, index)
    other(theta, x[:50], index[:3])
    assert_same_bits(other(theta, x, index), want)


def test_rows_of_an_argument_are_looked_up_beside_those_that_are_made() -> None:
    def body(x: Value, y: Value, index: Value) -> list[Value]:
        return [build.gather(array, [index], (0,)) for array in (_moved(x), y)]

    rows = Type(DType.F64, (40, WIDTH))
    function = function_of([rows, rows, Type(DType.I64, (3,))], body)
    assert _lengths(GatherRows()(function)) == {3}
    random = np.random.default_rng(0)
    arrays = [
        random.normal(size=(40, WIDTH)),
        random.normal(size=(40, WIDTH)),
        np.array([7, -1, 0]),
    ]
    assert_compiled_same(function, arrays)
