"""Hoisting keeps every bit, fails where the loop failed and nowhere else, and is done at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core import sizes
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import IndexError
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.passes import HoistInvariants
from gradc_ir.text.parser import parse_function
from gradc_ir.text.printer import print_function
from gradc_ir.verify import verify
from tests.comparing import assert_same_bits
from tests.golden_runner import GOLDEN, cases_of

CASES = {case.heading: case.before for case in cases_of((GOLDEN / "hoist.ir").read_text())}
N = sizes.symbol("n")
SCALAR = Type(DType.F64)
VECTOR = Type(DType.F64, (N,))
INDEX = Type(DType.I64)


def made(types: Sequence[Type], body: Callable[..., Any]) -> Function:
    with Builder() as builder:
        params = [builder.param(i, type_) for i, type_ in enumerate(types)]
        results = body(*params)
        return builder.function("f", params, [results] if isinstance(results, Value) else results)


def drawn(function: Function, n: int) -> list[Any]:
    random = np.random.default_rng(n)
    symbols = {name: n + i for i, name in enumerate(function.size_symbols)}
    found = []
    for type_ in function.param_types:
        shape = tuple(sizes.evaluate(size, symbols) for size in type_.shape)
        array = random.uniform(0.5, 1, shape)
        found.append(np.asarray(array if type_.dtype.is_float else array > 0, type_.dtype.numpy))
    return found


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("heading", CASES)
def test_bits_stay(heading: str, n: int) -> None:
    before = parse_function(CASES[heading])
    after = HoistInvariants()(before)
    verify(after)
    arrays = drawn(before, n)
    for found, want in zip(interpret(after, arrays), interpret(before, arrays), strict=True):
        assert_same_bits(found, want)


@pytest.mark.parametrize("heading", CASES)
def test_a_second_time_changes_nothing(heading: str) -> None:
    once = HoistInvariants()(parse_function(CASES[heading]))
    assert HoistInvariants()(once) == once
    assert parse_function(print_function(once)) == once


def test_without_loops_the_function_is_the_same_one() -> None:
    function = made([SCALAR], lambda x: build.exp(x) + build.exp(x * 2))
    assert HoistInvariants()(function) is function


def looking_up(x: Value, i: Value, times: Value) -> Value:
    """A loop that reads ``x[i]`` in each step."""
    body = made([VECTOR, INDEX, SCALAR], lambda x, i, c: c + build.exp(build.gather(x, [i], (0,))))
    return build.scan(body, [x, i], [build.constant(0.0)], [], length=None, count=times)[0]


def test_a_loop_that_runs_no_step_does_not_fail() -> None:
    function = HoistInvariants()(made([VECTOR, INDEX, INDEX], looking_up))
    arrays = [np.ones(3), np.array(7)]
    assert interpret(function, [*arrays, np.array(0)])[0] == 0
    with pytest.raises(IndexError):
        interpret(function, [*arrays, np.array(1)])


def test_a_loop_inside_that_may_not_end_stays_where_it_is() -> None:
    def outer(c: Value, times: Value) -> Value:
        condition = made([SCALAR], lambda x: build.lt(x, 10.0))
        grown = made([SCALAR], lambda x: x * 2.0)
        body = made(
            [SCALAR, SCALAR],
            lambda a, c: c + build.while_loop(condition, grown, [], [], [a])[0],
        )
        return build.scan(body, [c], [c], [], length=None, count=times)[0]

    function = HoistInvariants()(made([SCALAR, INDEX], outer))
    assert "while" not in {node.op.name for node in function.nodes}
    assert interpret(function, [np.array(-1.0), np.array(0)])[0] == -1
    assert interpret(function, [np.array(3.0), np.array(2)])[0] == 27
