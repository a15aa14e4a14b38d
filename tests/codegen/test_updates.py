"""Long runs of updates are written into one array, in order."""

from __future__ import annotations

import numpy as np

from gradc_codegen.nest.loop_nest import StatementKind
from gradc_codegen.schedule.schedule import schedule
from gradc_codegen.schedule.updates import SHORTEST_RUN
from gradc_ir import build
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.sizes import symbol
from gradc_ir.core.types import DType, Type
from tests.codegen.compiled import assert_compiled_same, function_of

n = symbol("n")


def _elements(count: int) -> Function:
    """Write ``count`` numbers one by one into an array of zeros."""

    def body(x: Value) -> Value:
        whole = build.full((count,), 0.0, DType.F64)
        for i in range(count):
            part = build.reshape(build.sin(x * float(i)), (1,))
            whole = build.set_slice(whole, part, (i,), (1,))
        return whole

    return function_of([Type(DType.F64)], body)


def test_a_long_run_goes_through_the_array_once() -> None:
    kernel = schedule(_elements(20))
    kinds = [statement.kind for statement in kernel.statements]
    assert kinds.count(StatementKind.BASE) == 1
    assert kinds.count(StatementKind.PIECE) == 20
    assert "piece set_slice" in str(kernel)


def test_a_short_run_is_recomputed() -> None:
    kernel = schedule(_elements(SHORTEST_RUN - 1))
    assert StatementKind.BASE not in [statement.kind for statement in kernel.statements]


def _overlapping(x: Value, y: Value) -> list[Value]:
    """Windows that overlap, run backwards, and are read in between."""
    whole = x
    results = []
    for i in range(12):
        start, step = ((i, 2), (11 - i % 3, -1), (3, 1))[i % 3]
        part = build.slice(y, (i, 0), (3, y.type.shape[1]), (1, 1))
        whole = build.set_slice(whole, part, (start % 8 if step > 0 else start, 0), (step, 1))
        if i == 7:
            results.append(build.reduce_sum(whole, (0,)))
    return [whole, *results]


def test_later_updates_win() -> None:
    function = function_of([Type(DType.F64, (13, n)), Type(DType.F64, (14, n))], _overlapping)
    random = np.random.default_rng(0)
    cases = [
        [random.normal(size=(13, size)), random.normal(size=(14, size))] for size in (0, 1, 5, 40)
    ]
    for level in (0, 2):
        assert_compiled_same(function, *cases, level=level)
