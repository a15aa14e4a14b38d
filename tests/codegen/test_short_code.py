"""Code that is short before it is fast has the bits of any other."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from gradc_codegen.lower.lower import lower_nest
from gradc_codegen.schedule.choices import Choices, WithoutLanes
from gradc_codegen.schedule.schedule import schedule
from gradc_codegen.text.module import Machine
from gradc_ir import build
from gradc_ir.core.graph import Function
from gradc_ir.core.types import DType, Type
from tests.codegen import test_random_control as control
from tests.codegen import test_random_schedules as schedules
from tests.codegen.compiled import function_of
from tests.random_graphs import random_graph

SMALL = Machine(is_small=True)
ORDINARY = pytest.mark.skipif(
    sys.platform == "win32", reason="pages are protected in another way there"
)


def check(function: Function, seed: int, choices: Choices | None = None) -> None:
    text = lower_nest(schedule(function, choices=choices or WithoutLanes()), "test", SMALL)
    assert choices or " x double>" not in text
    compiled = control.Compiled(function, "size", text)
    random = np.random.default_rng(seed)
    for _ in range(2):
        schedules.assert_runs_as_meant(function, compiled, random)


@ORDINARY
@pytest.mark.parametrize("dtype", [DType.F64, DType.F32])
@pytest.mark.parametrize("name", ["reduce_sum", "reduce_prod", "reduce_max"])
@pytest.mark.parametrize("length", [7, 32, 33, 64, 100, 4096, 12288, 20000])
def test_sums_of_every_length(dtype: DType, name: str, length: int) -> None:
    """In order, by groups, in chunks one after another, and by a tree of chunks."""

    def totals(x: build.Value) -> list[build.Value]:
        reduce = getattr(build, name)
        return [reduce(x, (0,)), reduce(x, (0, 1)), reduce(x, (1,))]

    check(function_of([Type(dtype, (length, 3))], totals), length)


@pytest.mark.slow
@ORDINARY
@pytest.mark.parametrize("seed", range(schedules.EXAMPLES))
def test_random_programs(seed: int) -> None:
    # lanes, too, where the code may be short and the machine has vectors
    check(random_graph(seed), seed, schedules.RandomChoices(seed) if seed % 4 == 3 else None)
