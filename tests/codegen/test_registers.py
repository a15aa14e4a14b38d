"""Which registers code is written for."""

from __future__ import annotations

import numpy as np
import pytest

from gradc.pipeline import Request, derive
from gradc.tracing import trace
from gradc_codegen.compile_function import Compilation
from gradc_codegen.machine.common import with_common
from gradc_codegen.target.target import host, machine_of
from gradc_codegen.text.module import NARROW, Machine
from gradc_ir.core.graph import Function
from gradc_ir.core.types import DType, Type
from gradc_ir.interpreter.interpret import interpret

WIDE = Machine(is_wide=True, permutes=True)
has_wide_registers = pytest.mark.skipif(
    not machine_of(host()).is_wide, reason="this machine has no registers of 64 bytes"
)


def turned(x):
    return sum(np.sin(x[k]) * np.cos(x[k - 1]) for k in range(6)) * x[0]


def chosen(x):
    for k in range(3):
        x = np.where(x[k] > np.exp(x[k - 1]), x - x[k], x * x[k])
    return x[0] + x[1]


def gradient_of(fn, *shape: int) -> Function:
    return derive(trace(fn, (Type(DType.F64, shape),)).function, Request("value_and_grad", (0,)))


def text_of(function: Function, cpu: str = "x86-64-v4") -> str:
    return Compilation(function, cpu=cpu, triple="x86_64-unknown-linux-gnu").llvm


def test_straight_code_keeps_to_short_registers() -> None:
    function = gradient_of(turned, 6)
    assert NARROW in text_of(function)
    assert NARROW not in text_of(function, "x86-64-v3")
    assembly = Compilation(function, cpu="x86-64-v4", triple="x86_64-unknown-linux-gnu").assembly
    assert "zmm" not in assembly


def test_lanes_and_whole_arrays_have_all_registers() -> None:
    assert NARROW not in text_of(gradient_of(lambda x: np.sum(np.sin(x) ** 2), 1000))
    assert NARROW not in text_of(gradient_of(lambda x: np.linalg.det(x), 40, 40))


def test_functions_that_are_written_for_wide_registers_have_them() -> None:
    assert NARROW not in text_of(gradient_of(lambda x: sum(np.tanh(x[k]) for k in range(8)), 8))


def test_code_that_chooses_and_calls_has_no_registers_of_truth_values() -> None:
    triple = "x86_64-unknown-linux-gnu"
    made = Compilation(gradient_of(chosen, 4), cpu="x86-64-v4", triple=triple).assembly
    assert "%k" not in made.split("gradc_kernel_worksize:")[0]


@has_wide_registers
@pytest.mark.parametrize("fn", [turned, chosen])
def test_bits_are_those_of_other_registers(fn) -> None:
    function = gradient_of(fn, 6)
    kernels = [Compilation(function, cpu=cpu).kernel() for cpu in ("native", "x86-64-v3")]
    # rare ways too, which lie outside
    for x in (
        [0.5, 1, -0.25, 2, 3, 4],
        [1e300, -1e17, 0, -750, 1, 2],
        [np.nan, 1, 1e-310, 1, 5, 6],
    ):
        given = [np.array(x, dtype=float)]
        found = [kernel(given) for kernel in kernels]
        for pair in zip(*found):
            assert np.array_equal(*pair, equal_nan=True)
        np.testing.assert_allclose(found[0][0], interpret(function, given)[0], rtol=1e-13)


def test_kernels_of_other_registers_share_no_functions() -> None:
    narrow = text_of(gradient_of(turned, 6))
    wide = narrow.replace(NARROW, "")
    assert "linkonce_odr" in with_common([narrow, narrow])[0]
    assert "linkonce_odr" not in with_common([narrow, wide])[0]
