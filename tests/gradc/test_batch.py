"""Batching: the batched function is the stack of the function over the points."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradc.autodiff.batching import batch
from gradc.autodiff.batching.batch import rule_of
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.op import TABLE, Op
from gradc_ir.core.sizes import symbol
from gradc_ir.core.types import DType, Type
from gradc_ir.interpreter.interpret import interpret
from tests.comparing import assert_same_bits
from tests.gradc.every_op import cases, function_of
from tests.gradc.op_cases import Case
from tests.programs import arrays_for, programs

POINTS = 3


def assert_stack(function: Function, points: Sequence[Any], flags: Sequence[bool]) -> None:
    """Batched by these parameters the function makes the results of each point, to the bit."""
    each = [[point[i] if has else points[0][i] for i, has in enumerate(flags)] for point in points]
    arrays = [
        np.stack([point[i] for point in points]) if has else points[0][i]
        for i, has in enumerate(flags)
    ]
    wanted = [interpret(function, given) for given in each]
    for found, *stack in zip(interpret(batch(function, flags, POINTS), arrays), *wanted):
        assert_same_bits(found, np.stack(stack))


@settings(max_examples=60, deadline=None)
@given(programs(), st.data())
def test_batched_program_is_the_stack(function: Function, data: st.DataObject) -> None:
    batched = [data.draw(st.booleans()) for _ in function.params]
    seed = data.draw(st.integers(0, 99))
    assert_stack(function, [arrays_for(function, seed + i) for i in range(POINTS)], batched)


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
    assert_stack(function, points, [bool(has) for has in batched])


def test_number_of_points_may_be_a_symbol() -> None:
    with Builder() as builder:
        x = builder.param(0, Type(DType.F64, (3,)))
        square = builder.function("square", [x], [build.reduce_sum(x * x, [0])])
    wide = batch(square, [True], symbol("m"))
    assert str(wide.result_types[0]) == "f64[m]"
    (found,) = interpret(wide, [np.arange(6.0).reshape(2, 3)])
    assert_same_bits(found, np.array([5.0, 50.0]))


def points_like(arrays: Sequence[Any]) -> list[list[Any]]:
    """Arguments for each point: those of a case, with their elements in other places."""
    return [[np.roll(array, 5 * p) for array in arrays] for p in range(POINTS)]


def scaled(arrays: Sequence[Any]) -> list[list[Any]]:
    """Arguments for each point: those of a case times a number."""
    return [[array * (p + 1) for array in arrays] for p in range(POINTS)]


OPTIONS: dict[str, list[dict[str, bool]]] = {
    "eigh": [{"lower": True}, {"lower": False}],
    "solve": [{"transposed": False}, {"transposed": True}],
    "triangular_solve": [{"lower": True, "transposed": True, "unit": False}],
}


def matrices(op: Op) -> list[Case]:
    """Return factorisations and solutions of one matrix and of a stack of matrices."""
    rng = np.random.default_rng(3)
    found = []
    for stack in ((), (2,)):
        a = rng.normal(size=(*stack, 3, 3))
        arrays = [a @ np.swapaxes(a, -1, -2) + np.eye(3), rng.normal(size=(*stack, 3, 2))]
        for attributes in OPTIONS.get(op.name, [{}]):

            def apply(*operands: Value, attributes: Any = attributes) -> Value:
                return build.apply_all(op.name, *operands, **attributes)[-1]

            found.append(Case(tuple(arrays[: op.operands]), apply, None))
    return found


# what has no operand does not vary; other tests have the others
ELSEWHERE = ("control", "foreign", "unbounded")
OPS = [op for op in TABLE.values() if op.operands != 0 and op.family not in ELSEWHERE]
COMPOSED = {"composed": [pytest.mark.slow]}  # their derivatives are long


def test_every_op_has_a_rule() -> None:
    for op in TABLE.values():
        if op.operands != 0:
            rule_of(op)


@pytest.mark.parametrize(
    "op", [pytest.param(op, id=op.name, marks=COMPOSED.get(op.family, ())) for op in OPS]
)
def test_every_op(op: Op) -> None:
    every = matrices(op) if op.family == "factor" else []
    if op.family != "factor":
        every = [case for dtype in (DType.F64, DType.I64, DType.BOOL) for case in cases(op, dtype)]
    for case in every:
        function, arrays = function_of([case], op.name)
        points = scaled(arrays) if op.family == "factor" else points_like(arrays)
        for flags in itertools.product([False, True], repeat=len(arrays)):
            assert_stack(function, points, flags)
