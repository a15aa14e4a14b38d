"""Passes keep every bit of what loops and branches make, and leave nothing of use undone."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.graph import Function
from gradc_ir.core.types import DType, Type
from gradc_ir.core.walk import nested
from gradc_ir.errors import LoopError
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.passes import (
    Canonicalize,
    FoldConstants,
    MergeCommonSubexpressions,
    RemoveDeadNodes,
    SimplifyControl,
)
from gradc_ir.text.parser import parse_function
from gradc_ir.text.printer import print_function
from gradc_ir.verify import verify
from tests.comparing import assert_same_bits
from tests.control_programs import control_program
from tests.counting import calls_in

PASSES: tuple[Callable[[Function], Function], ...] = (
    SimplifyControl(),
    RemoveDeadNodes(),
    Canonicalize(),
    FoldConstants(),
    MergeCommonSubexpressions(),
)
ARRAYS = [
    [np.float64(0.5), np.float64(-2.0), np.arange(4.0)],
    [np.float64(np.inf), np.float64(-0.0), np.asarray([np.nan])],
    [np.float64(1.0), np.float64(1.0), np.zeros(0)],
]


def outcomes(function: Function) -> Iterator[object]:
    for arrays in ARRAYS:
        try:
            with np.errstate(all="ignore"):
                yield interpret(function, arrays)
        except LoopError as error:
            yield error


@pytest.mark.parametrize("seed", range(60))
def test_bits_stay(seed: int) -> None:
    program = control_program(seed)
    verify(program)
    before = list(outcomes(program))
    for each in PASSES:
        made = each(program)
        verify(made)
        assert made.param_types == program.param_types
        for now, then in zip(outcomes(made), before, strict=True):
            if isinstance(then, LoopError):
                # a loop that nobody needs does not fail any more, so another may be the first
                continue
            assert not isinstance(now, LoopError)
            for new, old in zip(now, then, strict=True):  # type: ignore[call-overload]
                assert_same_bits(new, old)
        assert parse_function(print_function(made)) == made
        program = made


@pytest.mark.parametrize("seed", range(30))
def test_it_comes_to_an_end(seed: int) -> None:
    program = control_program(seed)
    for _ in range(8):
        before = program
        for each in PASSES:
            program = each(program)
        if program == before:
            break
    for each in PASSES:
        assert each(program) == program


@pytest.mark.parametrize("seed", range(30))
def test_nothing_dead_is_left(seed: int) -> None:
    """Each operand is used by a body, and each carry and row matters to a result."""
    made = RemoveDeadNodes()(control_program(seed))
    assert RemoveDeadNodes()(made) == made
    for _, node in nested(made):
        bodies = [x for x in node.attributes.values() if isinstance(x, Function)]
        read = {
            operand.node.attributes["index"]
            for body in bodies
            for operand in (*body.results, *(x for inner in body.body for x in inner.operands))
            if operand.op.name == "param"
        }
        if node.op.name in ("checkpoint", "cond"):
            assert read == set(range(len(bodies[0].params)))


def test_a_carry_that_only_feeds_itself_is_dead_in_nested_loops() -> None:
    made = RemoveDeadNodes()(
        parse_function("""
        func @f(%x: f64[3,n], %a: f64) -> f64 {
          %0, %1, %2: f64, f64, f64[3,n] = scan %a, %a, %a, %x
            {body = @rows, consts = 1, carries = 2, length = 3, reverse = false, counted = false,
             checkpoint = none}
          return %0
        }
        func @rows(%a: f64, %sum: f64, %dead: f64, %row: f64[n]) -> (f64, f64, f64[n]) {
          %0, %1, %2: f64, f64, f64[n] = scan %a, %sum, %dead, %row
            {body = @row, consts = 1, carries = 2, length = n, reverse = false, counted = false,
             checkpoint = none}
          return %0, %1, %2
        }
        func @row(%a: f64, %sum: f64, %dead: f64, %x: f64) -> (f64, f64, f64) {
          %0: f64 = add %sum, %x
          %1: f64 = mul %dead, %a
          return %0, %1, %1
        }
        """)
    )
    loops = [node for _, node in nested(made) if node.op.name == "scan"]
    assert [len(loop.operands) for loop in loops] == [2, 2]
    assert [len(loop.results) for loop in loops] == [1, 1]


def chained(carries: int) -> Function:
    """Return a scan in which each carry needs the next one, and half of the rows are dead."""
    scalar = Type(DType.F64)
    with Builder() as builder:
        params = [builder.param(i, scalar) for i in range(carries)]
        ends = [build.sin(x) for x in params[1:]]
        body = builder.function("body", params, [*ends, params[0], *ends])
    with Builder() as builder:
        start = [builder.param(i, scalar) for i in range(carries)]
        last = build.scan(body, [], start, [], length=5)
        return builder.function("f", start, [last[0], last[carries]])


def test_dead_code_takes_linear_time() -> None:
    def calls(carries: int) -> int:
        function = chained(carries)
        made = RemoveDeadNodes()(function)
        assert len(made.results[0].node.results) == carries + 1
        return calls_in(lambda: RemoveDeadNodes()(chained(carries)))

    assert calls(2000) < 12 * calls(200)


def nest_of_scans(depth: int) -> Function:
    scalar = Type(DType.F64)
    with Builder() as builder:
        x, y = builder.param(0, scalar), builder.param(1, scalar)
        body = builder.function("f", [x, y], [build.sin(x * y), y])
    for _ in range(depth):
        with Builder() as builder:
            x, y = builder.param(0, scalar), builder.param(1, scalar)
            first = build.scan(body, [], [x, y], [], length=3)
            second = build.scan(body, [], [build.cos(first[0]), first[1]], [], length=4)
            body = builder.function("f", [x, y], second)
    return body


def test_a_deep_nest_of_shared_bodies_is_seen_once() -> None:
    function = nest_of_scans(18)

    def look() -> None:
        assert hash(function) == hash(nest_of_scans(18))
        assert function == nest_of_scans(18)
        assert len(print_function(function)) < 20_000
        assert len(list(nested(function))) < 200
        assert "sin" in function._repr_html_()

    assert calls_in(look) < 100_000  # without sharing there are 2**18 scans


def test_a_shared_body_keeps_the_lines_of_each_place() -> None:
    text = """
    func @f(%a: f64, %b: f64) -> (f64, f64) {
      %0: f64 = scan %a
        {body = @one, consts = 0, carries = 1, length = 3, reverse = false, counted = false,
         checkpoint = none}
      %1: f64 = scan %b
        {body = @two, consts = 0, carries = 1, length = 3, reverse = false, counted = false,
         checkpoint = none}
      return %0, %1
    }
    func @one(%a: f64) -> f64 {
      %0: f64 = sin %a   # first.py:1
      return %0
    }
    func @two(%a: f64) -> f64 {
      %0: f64 = sin %a   # second.py:1
      return %0
    }
    """
    made = Canonicalize()(parse_function(text))
    assert "first.py:1" in print_function(made)
    assert "second.py:1" in print_function(made)
