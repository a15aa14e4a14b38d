"""Where values live: registers, outputs, and scratch that is no longer than it must be."""

from __future__ import annotations

import numpy as np

from gradc_codegen.schedule.schedule import schedule
from gradc_codegen.storage.buffers import plan
from gradc_ir import build
from gradc_ir.core import sizes
from gradc_ir.core.types import DType, Type
from tests.codegen.compiled import assert_compiled_same, function_of

N = sizes.symbol("n")
F64 = DType.F64


def plan_of(types, body):
    return plan(schedule(function_of(types, body)))


def test_scalars_and_fused_loops_need_no_scratch() -> None:
    scalar = plan_of([Type(F64), Type(F64)], lambda x, y: build.sqrt(x) * y + x)
    fused = plan_of([Type(F64, (N,))], lambda x: build.reduce_sum(build.sqrt(x) * x, [0]))
    assert not scalar.needs_work
    assert not fused.needs_work


def test_a_value_read_in_a_later_loop_is_kept_whole() -> None:
    def body(x):
        e = build.sqrt(x)
        return e / build.broadcast(build.reduce_sum(e, [0]), (N,), ())

    assert plan_of([Type(F64, (N,))], body).shared.slots == [8 * N]


def test_scratch_keeps_only_axes_below_the_shared_loop() -> None:
    def body(x):
        e = build.sqrt(x)
        return e / build.broadcast(build.reduce_sum(e, [1]), x.type.shape, (0,))

    made = plan_of([Type(F64, (N, 5))], body)
    assert made.shared.slots == []
    assert made.shared.fixed_bytes == 2 * 8 * 5 * 32  # of a block of rows, as read and as computed


def test_a_result_that_is_read_again_lives_in_its_output() -> None:
    def body(x):
        e = build.sqrt(x)
        return e, e / build.broadcast(build.reduce_sum(e, [0]), (N,), ())

    function = function_of([Type(F64, (N,))], body)
    made = plan(schedule(function))
    storage = [s for s in made.storage.values() if s.memory]
    assert [s.output for s in storage] == [0]
    assert made.shared.slots == [8 * N]  # for a caller who does not want it


def test_places_are_taken_over_by_later_values() -> None:
    def body(x):
        for _ in range(20):
            e = build.sqrt(x)
            x = e / build.broadcast(build.reduce_sum(e, [0]), (N,), ())
        return x

    types = [Type(F64, (N,))]
    assert len(plan_of(types, body).shared.slots) == 2
    assert_compiled_same(function_of(types, body), [np.linspace(1, 2, 50)])


def test_a_scalar_sum_is_joined_on_the_stack_and_many_sums_in_scratch() -> None:
    def body(x):
        sums = [build.reduce_sum(build.sqrt(x * float(i + 1)), [0]) for i in range(30)]
        return sums

    made = plan_of([Type(F64, (100,))], body)
    on_stack = [a for a in made.accumulators.values() if a.chunk is None]
    assert len(made.accumulators) == 30
    assert len(on_stack) == 12
    assert_compiled_same(function_of([Type(F64, (100,))], body), [np.linspace(0, 1, 100)])


def test_axes_of_size_one_need_no_loop() -> None:
    def body(x):
        e = build.sqrt(x)
        return build.reduce_sum(e, [0, 2]), build.contract(e, e, "ijk,ijk->j")

    types = [Type(F64, (1, 4, 1))]
    assert str(schedule(function_of(types, body))).count("for ") == 1
    assert_compiled_same(function_of(types, body), [np.array([[[1.0], [-0.0], [2.0], [-1.0]]])])


def test_what_is_joined_and_looked_into_is_written_piece_by_piece() -> None:
    """Pieces that are flattened run over their own axes: no index is divided."""
    types = [Type(F64, (3, 4)), Type(F64, (5,)), Type(DType.I64, (N,))]

    def body(x, y, at):
        grid = build.slice(build.pad(x, (1, 1), (5, 6), (1, 1)), (0, 1), (3, 4), (1, 1))
        flat = [build.reshape(grid * 2.0, (12,)), build.full((1,), 3.0, F64), build.sqrt(y)]
        turned = build.reshape(build.transpose(x, (1, 0)), (12,))
        return build.gather(build.concatenate([*flat, turned], 0), [at], (0,))

    function = function_of(types, body)
    loops = str(schedule(function)).splitlines()
    assert sum("piece concatenate" in line for line in loops) == 4
    assert not any("reshape" in line for line in loops)
    random = np.random.default_rng(0)
    for count in (0, 1, 40):
        arrays = [random.normal(size=(3, 4)), random.uniform(size=5), random.integers(0, 30, count)]
        assert_compiled_same(function, arrays)
