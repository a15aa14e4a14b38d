"""Contractions of which only some elements are gathered: the same bits from fewer of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradc_codegen.schedule.passes.sample_contractions import SampleContractions
from gradc_codegen.schedule.passes.spell_out import SpellOut
from gradc_ir import build
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.sizes import symbol
from gradc_ir.core.types import DType, Type
from gradc_ir.interpreter.interpret import interpret
from tests.codegen.compiled import assert_compiled_same, function_of
from tests.comparing import assert_same_bits

n = symbol("n")
SAMPLE = SampleContractions()
ROWS, COLUMNS = np.tril_indices(5, -1)


def _index(numbers: Any) -> Value:
    return build.constant(np.asarray(numbers, np.int64))


def _triangle(x: Value, y: Value) -> Value:
    product = build.contract(x, y, "nki,nkj->kij")
    return build.gather(product, [_index(ROWS), _index(COLUMNS)], (1, 2))


def _rows(x: Value, y: Value) -> Value:
    return build.gather(build.contract(x, y, "nki,nkj->ikj"), [_index([3, 1, -1])], (0,))


def _stack(x: Value, y: Value) -> Value:
    """The label of the stack is both operands'."""
    return build.gather(build.contract(x, y, "nki,nkj->kij"), [_index([0])], (0,))


def _function(body: Callable[[Value, Value], Any]) -> Function:
    return function_of([Type(DType.F64, (n, 2, 5))] * 2, body)


def _contracted(function: Function) -> list[str]:
    return [node.attributes["spec"] for node in function.nodes if node.op.name == "contract"]


@pytest.mark.parametrize(
    ("body", "spec"),
    [(_triangle, "ank,ank->ak"), (_rows, "ank,nkj->akj"), (_stack, "ani,anj->aij")],
)
def test_operands_are_gathered(body: Callable[[Value, Value], Value], spec: str) -> None:
    function = _function(body)
    sampled = SAMPLE(function)
    assert _contracted(sampled) == [spec]
    for length in (0, 1, 31, 33, 70):
        arrays = list(np.random.default_rng(length).normal(size=(2, length, 2, 5)))
        assert_same_bits(interpret(sampled, arrays)[0], interpret(function, arrays)[0])
        assert_compiled_same(function, arrays, level=2)


def test_what_is_read_elsewhere_too_stays_whole() -> None:
    def body(x: Value, y: Value) -> list[Value]:
        product = build.contract(x, y, "nki,nkj->kij")
        return [build.gather(product, [_index(ROWS), _index(COLUMNS)], (1, 2)), product]

    assert _contracted(SpellOut()(SAMPLE(_function(body)))) == ["nki,nkj->kij"]


def test_as_many_elements_as_there_are_stay_whole() -> None:
    def body(x: Value, y: Value) -> Value:
        return build.gather(build.contract(x, y, "nki,nkj->ikj"), [_index([0, 1, 2, 3, 4])], (0,))

    function = _function(body)
    assert SAMPLE(function) is function


def test_an_index_outside_fails_as_before() -> None:
    def body(x: Value, y: Value) -> Value:
        return build.gather(build.contract(x, y, "nki,nkj->ikj"), [_index([7])], (0,))

    function = _function(body)
    arrays = list(np.ones((2, 3, 2, 5)))
    with pytest.raises(IndexError):
        interpret(SAMPLE(function), arrays)
