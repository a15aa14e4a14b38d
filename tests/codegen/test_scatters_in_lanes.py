"""Scatters in loops of lanes: lane after lane, with the bits of one element after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

import gradc
from gradc_codegen.interface.python_kernel import Kernel, KernelStatus
from gradc_codegen.lower.lower import lower_nest
from gradc_codegen.machine.jit import compile_module
from gradc_codegen.nest.loop_nest import Loop
from gradc_codegen.schedule.choices import Choices
from gradc_codegen.schedule.schedule import schedule
from gradc_ir import build
from gradc_ir.core import sizes
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType, Type
from gradc_ir.interpreter.interpret import interpret
from tests.codegen.compiled import function_of
from tests.comparing import assert_same_bits

N = sizes.symbol("n")
LENGTHS = (0, 1, 7, 31, 32, 33, 100, 4097)


def _scatter(name: str, dtype: DType, length: Size) -> Function:
    """Return a function of elements and places: the sums, or the last, of what is at a place."""

    def body(x: Value, at: Value) -> list[Value]:
        zeros = build.full((5,), 0, dtype)
        values = build.sqrt(build.abs(x)) / (x * x + 1e-3) if dtype.is_float else x
        made = build.scatter_add if name == "add" else build.scatter_set
        return [made(zeros, values, (at,), (0,)), build.reduce_sum(values, (0,))]

    return function_of([Type(dtype, (length,)), Type(DType.I64, (length,))], body)


def _arrays(dtype: DType, length: int) -> list[np.ndarray]:
    random = np.random.default_rng(length)
    x = random.normal(size=length) * 10.0 ** random.integers(-6, 2, length)
    return [x.astype(dtype.numpy), random.integers(-5, 5, length)]


class InLanes(Choices):
    """Lanes as far outside as they can be."""

    def lanes(self, loop: Loop, block: int) -> bool:
        return True


def _kernel(function: Function, level: int = 0) -> Kernel:
    nest = schedule(function, choices=InLanes())
    assert " by " in str(nest)
    code = compile_module(lower_nest(nest, "test"), level=level)
    return Kernel(function, code, "test", native=False)


def _assert_same(function: Function, *cases: Sequence[np.ndarray], level: int = 0) -> None:
    kernel = _kernel(function, level)
    for case in cases:
        for found, want in zip(kernel(list(case)), interpret(function, list(case)), strict=True):
            assert_same_bits(found, want)


@pytest.mark.parametrize("name", ["add", "set"])
@pytest.mark.parametrize("dtype", [DType.F64, DType.F32, DType.I64], ids=str)
def test_lanes_take_turns(name: str, dtype: DType) -> None:
    cases = [_arrays(dtype, length) for length in LENGTHS]
    _assert_same(_scatter(name, dtype, N), *cases)
    for case in cases[3:]:
        _assert_same(_scatter(name, dtype, len(case[0])), case, level=2)


def test_a_function_beside_a_scatter_runs_in_lanes() -> None:
    def body(x: Value, at: Value) -> Value:
        return build.scatter_add(build.full((5,), 0, DType.F64), build.exp(x), (at,), (0,))

    types = [Type(DType.F64, (1000,)), Type(DType.I64, (1000,))]
    assert "for i in 1000 by 8" in str(schedule(function_of(types, body)))


@pytest.mark.parametrize("outside", [5, -6])
def test_a_place_outside_is_refused_in_the_last_lanes_too(outside: int) -> None:
    kernel = _kernel(_scatter("add", DType.F64, N))
    for position in (0, 40, 69):
        x, at = _arrays(DType.F64, 70)
        at[position] = outside
        with pytest.raises(KernelStatus, match="INDEX"):
            kernel([x, at])


def pairs(positions, one, other):
    apart = positions[one] - positions[other]
    squares = np.sum(apart * apart, axis=1) + 0.1
    return np.sum(1 / squares - np.sqrt(squares))


def histogram(x, at):
    counts = np.zeros(6)
    np.add.at(counts, at, 1 / (1 + x * x))
    return np.sum(counts * counts)


def cells(x, rows, columns):
    grid = np.zeros((4, 3))
    np.add.at(grid, (rows, columns), x / (2 + x * x))
    return np.sum(grid * grid)


def written(x, at):
    found = np.zeros(6)
    found[at] = x / (2 + x)
    return np.sum(found * np.arange(6.0))


def _places(random: np.random.Generator, most: int, length: int) -> np.ndarray:
    return random.integers(0, most, length)


PROGRAMS: dict[str, tuple[Callable[..., object], Callable[..., tuple[np.ndarray, ...]]]] = {
    "pairs": (
        pairs,
        lambda r, n: (r.normal(size=(9, 3)), _places(r, 9, n), _places(r, 9, n)),
    ),
    "histogram": (histogram, lambda r, n: (r.normal(size=n), _places(r, 6, n))),
    "cells": (cells, lambda r, n: (r.normal(size=n), _places(r, 4, n), _places(r, 3, n))),
    "written": (written, lambda r, n: (r.normal(size=n), _places(r, 6, n))),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_have_the_bits_of_the_interpreter(name: str) -> None:
    program, data = PROGRAMS[name]
    compiled = gradc.compile(program)
    for length in (45, 300, 4100):
        arguments = data(np.random.default_rng(length), length)
        function = compiled.ir(*arguments, of="value_and_grad")
        _assert_same(function, arguments)
        for found, want in zip(
            compiled.value_and_grad(*arguments), interpret(function, list(arguments)), strict=True
        ):
            np.testing.assert_array_equal(found, want)
