"""What is kept in the memory of an output until that is written, and what must not be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradc_codegen.schedule.schedule import schedule
from gradc_codegen.storage.buffers import plan
from gradc_ir import build
from gradc_ir.core import sizes
from gradc_ir.core.graph import Value
from gradc_ir.core.types import DType, Type
from gradc_ir.interpreter.interpret import interpret
from tests.codegen.compiled import call_raw, function_of, kernel_of
from tests.comparing import assert_same_bits

N = sizes.symbol("n")
VECTOR = Type(DType.F64, (N,))


def total(x: Value) -> Value:
    return build.broadcast(build.reduce_sum(x, [0]), x.type.shape, ())


def shares(x: Value) -> Value:
    e = build.sqrt(x)
    return e / total(e)


def reversed_shares(x: Value) -> Value:
    e = build.sqrt(x)
    return build.slice(e / total(e), (N - 1,), (N,), (-1,))


def differences(x: Value) -> Value:
    e = build.sqrt(x)
    moved = build.pad(build.slice(e, (1,), (N - 1,), (1,)), (0,), (N,), (1,))
    return (e - moved) / total(e)


def read_again(x: Value) -> list[Value]:
    e = build.sqrt(x)
    scaled = e / total(e)
    return [scaled, build.reduce_sum(scaled * e, [0])]


def with_sum(x: Value) -> list[Value]:
    e = build.sqrt(x)
    return [build.sqrt(x) / total(e), build.reduce_sum(total(e) * e, [0])]


def long_ago(x: Value) -> list[Value]:
    e = build.sqrt(x)
    scaled = build.sqrt(e / total(e))
    return [build.sqrt(scaled / total(scaled))]


def twice_the_same(x: Value) -> list[Value]:
    e = build.sqrt(x)
    scaled = e / total(e)
    return [scaled, scaled]


CASES: dict[str, tuple[Callable[[Value], Any], int]] = {
    "read where it is written": (shares, 1),
    "read for the last time before, by what is read elsewhere": (reversed_shares, 1),
    "read elsewhere too": (differences, 0),
    "read by others at that time": (read_again, 0),
    "read for the last time before": (long_ago, 1),
    "two outputs of one value": (twice_the_same, 0),
    "read in a loop of an output": (with_sum, 0),
}


@pytest.mark.parametrize("name", [*CASES])
def test_what_lives_in_an_output(name: str) -> None:
    body, wanted = CASES[name]
    function = function_of([VECTOR], body)
    results = set(function.results)
    made = plan(schedule(function))
    guests = [v for v, here in made.storage.items() if here.output >= 0 and v not in results]
    assert len(guests) == wanted


@pytest.mark.parametrize("name", [*CASES])
@pytest.mark.parametrize("count", [1, 40, 1001])
def test_results_are_the_same_whatever_is_wanted(name: str, count: int) -> None:
    function = function_of([VECTOR], CASES[name][0])
    kernel = kernel_of(function)
    x = np.linspace(0.5, 2.0, count)
    expected = interpret(function, [x])
    work = np.empty(8 * (8 * count + 64))
    for left_out in range(-1, len(expected)):
        found = [np.full_like(want, np.nan) for want in expected]
        given = [None if i == left_out else array for i, array in enumerate(found)]
        assert call_raw(kernel, count, x, *given, work) == 0
        for i, (array, want) in enumerate(zip(found, expected)):
            if i != left_out:
                assert_same_bits(array, want)
