"""Passes keep every bit of every result, and leave a well-formed function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.graph import Function
from gradc_ir.core.types import DType, Type
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.matching.operand_order import OperandOrder, commutative_ops
from gradc_ir.passes import (
    Canonicalize,
    FoldConstants,
    MergeCommonSubexpressions,
    RemoveDeadNodes,
)
from gradc_ir.text.parser import parse_function
from gradc_ir.verify import verify
from tests.comparing import assert_same_bits
from tests.programs import arguments, programs

PASSES: Sequence[Callable[[Function], Function]] = (
    Canonicalize(),
    MergeCommonSubexpressions(),
    RemoveDeadNodes(),
    FoldConstants(),
    FoldConstants(limit=0),
)


@pytest.mark.parametrize("each", PASSES, ids=repr)
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_bits_stay(each: Callable[[Function], Function], data: st.DataObject) -> None:
    program = data.draw(programs(kind="exact", symbolic=True))
    arrays = data.draw(arguments(program, special=True))
    made = each(program)
    verify(made)
    assert made.param_types == program.param_types
    for before, after in zip(interpret(program, arrays), interpret(made, arrays), strict=True):
        assert_same_bits(after, before)


@settings(max_examples=40, deadline=None)
@given(programs(symbolic=True))
def test_a_second_time_changes_nothing(program: Function) -> None:
    for each in PASSES:
        program = each(program)
        assert each(program) == program


@settings(max_examples=40, deadline=None)
@given(programs(kind="exact"), st.randoms(use_true_random=False))
def test_the_order_of_operands_is_one_of_structure(program: Function, random: Any) -> None:
    """Programs that differ in operand order only are equal once canonical.

    Of operands that differ in sizes alone the first comes first.
    """
    order = OperandOrder()
    pairs = [node.operands for node in program.nodes if node.op.name in commutative_ops()]
    assume(not any(x is not y and order.key(x)[:3] == order.key(y)[:3] for x, y in pairs))
    with Builder() as builder:
        mapping = {}
        for node in program.nodes:
            if node.op.name in commutative_ops() and random.random() < 0.5:
                left, right = (mapping[operand] for operand in node.operands)
                mapping[node.results[0]] = build.apply(node.op.name, right, left)
            else:
                builder.copy(node, mapping)
        params = [mapping[param] for param in program.params]
        shuffled = builder.function("f", params, [mapping[x] for x in program.results])
    assert MergeCommonSubexpressions()(shuffled) == MergeCommonSubexpressions()(program)


def test_order_of_kinds() -> None:
    with Builder() as builder:
        x, y = (builder.param(i, Type(DType.F64, (2,))) for i in range(2))
        shallow, deep = build.exp(x), build.exp(build.sin(y))
        number = build.full_like(x, 2)
        order = OperandOrder()
        values = [number, deep, shallow, y, x]
        assert sorted(values, key=order.key) == [x, y, shallow, deep, number]


def test_folding_is_limited() -> None:
    with Builder() as builder:
        ramp = build.constant(np.arange(100.0))
        total = build.reduce_sum(ramp, [0])
        function = builder.function("f", [], [total])
    assert FoldConstants(limit=100)(function).results[0].op.name == "constant"
    assert FoldConstants(limit=99)(function) == function


def test_folding_matches_the_interpreter() -> None:
    with Builder() as builder:
        x = build.constant(np.linspace(-3, 3, 50, dtype=np.float32))
        value = build.reduce_sum(build.sqrt(build.abs(x)) / (1 + x * x), [0])
        function = builder.function("f", [], [value])
    folded = FoldConstants()(function)
    assert folded.results[0].op.name == "constant"
    assert_same_bits(interpret(folded, [])[0], interpret(function, [])[0])


def test_dead_code_keeps_the_meaning_of_loops() -> None:
    program = parse_function("""
    func @f(%x: f64[n], %a: f64) -> (f64, f64[n]) {
      %0: f64 = constant 1.0
      %1, %2, %3, %4: f64, f64, f64[n], f64[n] =
        scan %a, %0, %0, %x {body = @body, consts = 1, carries = 2, length = n, reverse = true,
         counted = false, checkpoint = none}
      return %2, %4
    }
    func @body(%a: f64, %first: f64, %second: f64, %row: f64) -> (f64, f64, f64, f64) {
      %0: f64 = mul %first, %a
      %1: f64 = add %second, %row
      %2: f64 = sin %0
      return %0, %1, %2, %1
    }
    """)
    made = RemoveDeadNodes()(program)
    verify(made)
    (scan,) = {result.node for result in made.results}
    assert len(scan.operands) == 2
    arrays = [np.arange(5.0), np.asarray(3.0)]
    for before, after in zip(interpret(program, arrays), interpret(made, arrays), strict=True):
        assert_same_bits(after, before)
