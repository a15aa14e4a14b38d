"""Strips of a long axis as tasks: loops over time have the bits of one thread."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradc
from gradc_codegen.compile_function import Compilation
from gradc_codegen.nest.loop_nest import Items
from gradc_codegen.nest.strips import STRIPS, rows_of_task
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import Size
from gradc_ir.meaning import reduction
from tests.codegen.test_interchange import (
    PROGRAMS,
    STEPS,
    N,
    arguments,
    floored,
    gradient,
    walk,
)
from tests.codegen.test_interchange import eager as near  # noqa: F401 - a fixture
from tests.codegen.test_tasks import check, eager  # noqa: F401 - a fixture

ROWS = 3 * reduction.CHUNK + 33

pytestmark = pytest.mark.usefixtures("eager", "near")


def units(function: Function) -> list[int]:
    """Return of how many rows tasks of strips are, where they are divided."""
    divisions = Compilation(function, threads=2).divisions
    return [
        tasks.unit
        for item, tasks, _ in divisions
        if tasks is not None and isinstance(item, Items) and item.statement.node.op is STRIPS
    ]


@pytest.mark.parametrize(
    ("program", "size"),
    [
        (walk, N),
        (floored, ROWS),
        *(pytest.param(p, size, marks=pytest.mark.slow) for p in PROGRAMS for size in (ROWS, N)),
    ],
)
def test_bits_are_those_of_one_thread(program: Any, size: Size) -> None:
    function = gradient(program, STEPS, size)
    found = units(function)
    assert found
    assert set(found) == {reduction.CHUNK}
    check(function, arguments(ROWS))


def extremes(s: Any, z: Any) -> Any:
    """Reductions whose order changes nothing, of a loop's rows and of each step's."""

    def step(x: Any, z_t: Any) -> Any:
        x = x * s + z_t
        return x, (x, (x * 100).astype(np.int64))

    last, (rows, whole) = gradc.scan(step, np.zeros(z.shape[1]), z)
    return np.max(last), np.min(rows, axis=1), np.sum(whole, axis=1), np.any(rows > 1.5, axis=1)


def carried(s: Any, z: Any) -> Any:
    """One loop, which hands a long array from step to step."""
    return gradc.fori_loop(0, z.shape[0], lambda i, x: x + s * (z[i] - x), z[0])


@pytest.mark.parametrize("size", [2 * reduction.CHUNK + 5, N])
@pytest.mark.parametrize(("program", "unit"), [(extremes, reduction.CHUNK), (carried, 96)])
def test_what_tasks_join_and_what_they_write(program: Any, unit: int, size: Size) -> None:
    function = gradient(program, STEPS, size, of="value")
    assert units(function) == [unit]
    check(function, arguments(2 * reduction.CHUNK + 5))


def test_a_carry_that_all_strips_write_is_no_task() -> None:
    def beside(s: Any, z: Any) -> Any:
        def step(carry: Any, z_t: Any) -> Any:
            x, number = carry
            return (x * number + z_t, number * 0.5), None

        x, number = gradc.scan(step, (np.zeros(z.shape[1]), s), z)[0]
        return np.sum(x), number

    function = gradient(beside, STEPS, 3 * reduction.CHUNK, of="value")
    (strips,) = [n for n in Compilation(function).nest.function.nodes if n.op is STRIPS]
    assert rows_of_task(strips) == 0
    assert units(function) == []
