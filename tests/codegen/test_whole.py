"""Ops on whole arrays in a nest: what they read and write, their scratch, where they stand."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gradc_codegen.schedule.schedule import schedule
from gradc_codegen.schedule.straight import outline
from gradc_ir import build
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.sizes import symbol
from gradc_ir.core.types import DType, Type
from tests.codegen.compiled import assert_compiled_same, call_raw, function_of, kernel_of
from tests.codegen.test_memory import assert_stays_inside
from tests.codegen.test_schedule import assert_nest
from tests.programs import arrays_for, programs

F64, I64 = DType.F64, DType.I64
n, m = symbol("n"), symbol("m")
guarded = pytest.mark.skipif(sys.platform == "win32", reason="pages are protected otherwise there")


def running(x: Value) -> list[Value]:
    """A running sum of what is made, and what reads both."""
    made = build.exp(x * 2.0)
    sums = build.cumsum(made, 0)
    return [sums, sums / build.broadcast_to(build.reduce_sum(made, (0,)), x.type.shape)]


def test_it_stands_between_loops_and_reads_what_is_kept_whole() -> None:
    assert_nest(
        function_of([Type(F64, (n,))], running),
        """
    for i in n by 8:
      %3[i] = exp mul(p0, broadcast(2.0))
      %5 joins reduce_sum %3
    %4[:] = cumsum %3 -> output 0
    for i in n by 8:
      %7[i] = div %4, broadcast(%5) -> output 1
        """.rstrip(),
    )


def test_what_would_be_recomputed_is_kept_for_it() -> None:
    def body(x: Value) -> Value:
        return build.cumsum(build.transpose(x, (1, 0)), 1)

    assert_nest(
        function_of([Type(F64, (n, 3))], body),
        """
    for i in n by 32:
      for j in 3:
        %0[j,i] = transpose p0
    %1[:,:] = cumsum %0 -> output 0
        """.rstrip(),
    )


def test_a_reshape_is_read_where_it_is() -> None:
    def body(x: Value) -> Value:
        flat = build.reshape(build.exp(x), (n * 3,))
        return build.cumsum(build.reshape(flat, (3, n)), 0)

    assert_nest(
        function_of([Type(F64, (n, 3))], body),
        """
    for i in n by 32:
      for j in 3:
        %0[i,j] = exp p0
    %2[:,:] = cumsum reshape(%0) -> output 0
        """.rstrip(),
    )


def test_several_results_are_one_statement() -> None:
    def body(x: Value) -> list[Value]:
        packed, order = build.lu(x)
        return [order, build.reduce_sum(packed, (0, 1))]

    assert_nest(
        function_of([Type(F64, (3, 3))], body),
        """
    %0.0[:,:], %0.1[:] = lu p0 -> output 0
    for i in 3:
      for j in 3 by 8:
        %1[i] joins reduce_sum %0.0
      %2 joins reduce_sum %1 -> output 1
        """.rstrip(),
    )


def _everywhere(x: Value) -> list[Value]:
    """Results that are outputs, some twice, and read again by loops and by other whole ops."""
    packed, order = build.lu(x)
    sums = build.cumsum(packed, 1, reverse=True)
    again = build.recurrence(sums, packed * 0.5, 0)
    places = build.argsort(build.neg(again), 0)
    rows = build.gather(again, (order,), (0,))
    constant = build.cumsum(build.constant(np.arange(6.0).reshape(2, 3)), 0)
    return [packed, order, sums, again + sums, places, rows, packed, order, constant]


@pytest.mark.parametrize("size", [0, 1, 2, 9, 33])
@pytest.mark.parametrize("level", [0, 2])
def test_results_that_are_read_again(size: int, level: int) -> None:
    function = function_of([Type(F64, (n, 5))], _everywhere)
    x = np.random.default_rng(size).normal(size=(size, 5))
    assert_compiled_same(function, [x], level=level)


@guarded
@pytest.mark.parametrize("size", [0, 1, 40])
def test_results_that_are_read_again_stay_inside(size: int) -> None:
    def body(x: Value) -> list[Value]:
        packed, order, *_, again, _, _, _, _, _ = _everywhere(x)
        return [packed, order, again]

    x = np.random.default_rng(size).normal(size=(size, 5))
    assert_stays_inside(function_of([Type(F64, (n, 5))], body), [x], size, 2)


def test_arrays_of_one_element_are_in_memory_for_it() -> None:
    def body(x: Value) -> list[Value]:
        one = build.reshape(build.exp(x), (1, 1))
        return [build.cumsum(one, 0), build.argsort(one, 1), build.cholesky(one)]

    assert_compiled_same(function_of([Type(F64)], body), [2.0], [-1.0])


def test_it_asks_for_no_more_than_its_scratch() -> None:
    """Keys and positions twice, 8 bytes each; room for a result only where something reads it."""
    sort = kernel_of(function_of([Type(F64, (n,))], lambda x: build.argsort(x, 0)))
    length = 1000
    assert sort._worksize(length) == 4 * 8 * length + 64
    total = kernel_of(function_of([Type(F64, (n,))], lambda x: build.cumsum(x, 0)))
    assert total._worksize(length) == 0
    read = kernel_of(function_of([Type(F64, (n,))], running))
    assert read._worksize(length) == 2 * 8 * length + 64
    assert read._worksize(0) == 0


def test_outputs_that_are_not_wanted() -> None:
    kernel = kernel_of(function_of([Type(F64, (3, 3))], lambda x: build.lu(x)))
    x = np.array([[0.0, 1.0, 2.0], [4.0, 4.0, 4.0], [1.0, 0.0, 0.0]])
    work = np.empty(kernel._worksize(), np.uint8)
    order = np.empty(3, np.int64)
    assert call_raw(kernel, x, None, order, work) == 0
    assert order.tolist() == [1, 0, 2]


def test_long_code_is_cut_into_parts_around_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outline, "MOST_OPERATIONS", 150)

    def body(x: Value) -> list[Value]:
        results = []
        for step in range(6):
            packed, order = build.lu(build.sqrt(build.abs(x + float(step))))
            results += [packed, order]
            x = build.cumsum(packed, step % 2)
        return results

    function = function_of([Type(F64, (n, 4))], body)
    assert "part 2:" in str(schedule(function))
    assert_compiled_same(function, *[[np.ones((size, 4))] for size in (0, 1, 5)])


def _twice(function: Function, data: st.DataObject) -> Function:
    """A function of results of whole ops on its own arguments, and whole ops on its results."""

    def along(x: Value) -> Value:
        if not x.type.rank:
            return x
        axis = data.draw(st.integers(0, x.type.rank - 1))
        reverse = data.draw(st.booleans())
        kind = data.draw(st.sampled_from(("cumsum", "recurrence", "argsort")))
        if kind == "argsort":
            return build.cast(build.argsort(x, axis), x.type.dtype)
        if kind == "cumsum":
            return build.cumsum(x, axis, reverse)
        return build.recurrence(x * 0.5, x, axis, reverse)

    def body(*params: Value) -> list[Value]:
        first = build.active().inline(function, params)
        second = build.active().inline(function, [along(x) for x in params])
        floats = [x for x in (*first, *second) if x.type.dtype.is_float]
        return [*first[:1], *second[:1], *(along(x) for x in floats[:2])]

    return function_of(function.param_types, body)


@guarded
@settings(
    max_examples=30,
    deadline=None,  # each compiles
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.data())
def test_whole_ops_among_others_stay_inside_their_buffers(data: st.DataObject) -> None:
    function = _twice(data.draw(programs(kind="exact", symbolic=True, most=12)), data)
    size = data.draw(st.sampled_from((0, 1, 2, 7, 33, 40)))
    arrays = arrays_for(function, data.draw(st.integers(0, 1000)), n=size, special=True)
    with np.errstate(all="ignore"):
        assert_stays_inside(function, arrays, size, data.draw(st.sampled_from((0, 2))))
