"""What is joined, flattened and joined again is written where it is at last, to the same bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from gradc_codegen.nest.loop_nest import StatementKind
from gradc_codegen.schedule.schedule import schedule
from gradc_codegen.storage.buffers import plan
from gradc_ir import build
from gradc_ir.core import sizes
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.types import DType, Type
from tests.codegen.compiled import assert_compiled_same, function_of

N = sizes.symbol("n")


def flat(x: Value) -> Value:
    return build.reshape(x, (x.type.count,))


def columns(x: Value, count: int) -> list[Value]:
    """Return numbers, parameters and computed values in turn."""
    made = [
        x,
        build.full(x.type.shape, 2.0, x.type.dtype),
        build.sqrt(build.abs(x)),
        x + 1.0,
        x * x,
    ]
    return [made[i % len(made)] if i < len(made) else x * float(i) for i in range(count)]


def rows_of(x: Value, count: int) -> Value:
    shape = x.type.shape
    return build.stack(columns(x, count), (*shape, count), (len(shape),))


def one_run(x: Value, count: int) -> Value:
    return flat(rows_of(x, count))


def beside_others(x: Value, count: int) -> Value:
    return build.concatenate([build.neg(x), flat(rows_of(x, count)), x, flat(rows_of(x, 2))], 0)


def in_bands(x: Value, count: int) -> Value:
    """Return lines of a border, an interior and a border each."""
    times, size = 6, x.type.shape[0]
    plane = build.broadcast(x, (times, size), (1,)) * 1.5
    inner = build.reshape(rows_of(plane, count), (times, size * count))
    edges = build.broadcast(build.slice(x, (0,), (3,), (1,)), (times, 3), (1,))
    return flat(build.concatenate([edges, inner, edges + 1.0], 1))


def along_a_first_axis(x: Value, count: int) -> Value:
    """Return stacks of stacks, whose neighbours are no neighbours at last."""
    inner = rows_of(x, count)
    shape = (*inner.type.shape, 2)
    return flat(build.stack([inner, inner * 2.0], shape, (2,)))


SHAPES = [one_run, beside_others, in_bands, along_a_first_axis]


def in_memory(function: Function) -> list[Value]:
    """Return which values of the function's joins have scratch."""
    storage = plan(schedule(function)).storage
    return [value for value, here in storage.items() if here.buffer is not None]


@pytest.mark.parametrize("form", SHAPES)
@pytest.mark.parametrize(
    ("count", "dtype"),
    [(3, DType.F64), (5, DType.F64), (8, DType.F64), (11, DType.F64), (3, DType.F32)],
)
def test_bits_are_those_of_the_interpreter(
    form: Callable[[Value, int], Value], count: int, dtype: DType
) -> None:
    function = function_of([Type(dtype, (N,))], lambda x: form(x, count))
    random = np.random.default_rng(count)
    assert_compiled_same(function, *[[random.normal(size=size)] for size in (3, 8, 21, 70)])


@pytest.mark.parametrize("dtype", [DType.I64, DType.I32])
def test_rows_of_places(dtype: DType) -> None:
    def body(x: Value) -> list[Value]:
        def row(count: int) -> Value:
            number = build.full(x.type.shape, 7, dtype)
            made = [number if i == 1 else x * 11 + i for i in range(count)]
            return flat(build.stack(made, (*x.type.shape, count), (1,)))

        return [build.concatenate([row(15), x], 0), row(3)]

    function = function_of([Type(dtype, (N,))], body)
    cases = [[np.arange(size, dtype=dtype.numpy) - 4] for size in (3, 8, 21, 70)]
    assert_compiled_same(function, *cases)


@pytest.mark.parametrize("form", [one_run, beside_others, in_bands])
def test_nothing_is_there_twice(form: Callable[[Value, int], Value]) -> None:
    function = function_of([Type(DType.F64, (40,))], lambda x: form(x, 4))
    assert not [value for value in in_memory(function) if value.op.name in ("stack", "concatenate")]
    nest = schedule(function)
    assert all(one.kind is not StatementKind.COPY for one in nest.statements)


def test_what_is_read_again_has_an_array_of_its_own() -> None:
    def body(x: Value) -> Sequence[Value]:
        stacked = rows_of(x, 3)
        total = build.reduce_sum(stacked, [1])
        return [build.concatenate([flat(stacked), total, total, total, total], 0), total]

    function = function_of([Type(DType.F64, (N,))], body)
    assert_compiled_same(function, *[[np.arange(float(size))] for size in (1, 9, 33)])


def test_unknown_sizes_and_results_that_are_not_wanted() -> None:
    def body(x: Value, y: Value) -> Sequence[Value]:
        return [one_run(x, 3), one_run(y, 2), one_run(x * 2.0, 9)]

    function = function_of([Type(DType.F64, (N,)), Type(DType.F64, (N,))], body)
    cases: list[list[Any]] = [[np.ones(size), np.arange(float(size))] for size in (1, 16, 45)]
    assert_compiled_same(function, *cases, level=2)


def test_numbers_of_a_row_wait_for_what_is_computed_beside_them() -> None:
    size = 40

    def body(x: Value) -> list[Value]:
        made = [build.sin(x * float(i)) for i in range(30)]  # in a loop of their own
        here = [build.slice(one, (0,), (size - 1,), (1,)) for one in made]
        behind = [build.slice(one, (1,), (size - 1,), (1,)) for one in made]
        number = build.full((size - 1,), 2.0, DType.F64)
        ends = [here[0] * behind[1], number, here[2] * behind[3], build.neg(number)]
        return [*made, flat(build.stack(ends, (size - 1, len(ends)), (1,)))]

    function = function_of([Type(DType.F64, (size,))], body)
    pieces = [one for one in schedule(function).statements if one.kind is StatementKind.PIECE]
    assert len(pieces) == 4
    assert len({one.loops[0][0] for one in pieces}) == 1
