"""Large arrays in modules: their bytes are set aside, and names are found beside them."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from gradc_codegen.machine.jit import compile_module
from gradc_codegen.machine.large_arrays import put_back, set_aside
from gradc_codegen.machine.machine_code import machine_code
from gradc_codegen.machine.symbol_names import names_of
from gradc_ir import build
from gradc_ir.core.types import DType, Type
from tests.codegen.compiled import assert_compiled_same, function_of


def _bytes(count: int) -> str:
    return "".join(f"\\{i % 256:02x}" for i in range(count))


def _module(count: int, at: int) -> str:
    return f"""
@few = private constant [2 x i8] c"\\01\\02"
@many = private constant [{count} x i8] c"{_bytes(count)}", align 64
declare double @cbrt(double)
define double @f(double %x) {{
  %place = getelementptr [{count} x i8], ptr @many, i64 0, i64 {at}
  %byte = load volatile i8, ptr %place
  %number = uitofp i8 %byte to double
  %sum = fadd double %x, %number
  %root = call double @cbrt(double %sum)
  ret double %root
}}
"""


def test_set_aside() -> None:
    texts = [_module(5000, 0), "", _module(3000, 1), _module(10, 2)]
    short, aside = set_aside(texts)
    assert aside == [_bytes(5000), _bytes(3000)]
    assert all(len(text) < 700 for text in short)
    assert short[3] == texts[3]
    assert [put_back(text, aside) for text in short] == texts


@pytest.mark.parametrize("count", [100, 5000])
def test_compiled(count: int) -> None:
    found = compile_module(_module(count, 77))
    call = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(found.address("f"))
    assert call(48.0) == 5.0
    names = names_of(found.code)
    assert b"cbrt" in names
    assert len(names) < 2000


@pytest.mark.parametrize("triple", ["aarch64-apple-darwin", "x86_64-pc-windows-msvc", "armv7em"])
def test_names_of_other_files(triple: str) -> None:
    """What is no ELF of 64 bits is searched as a whole."""
    code = machine_code(_module(5000, 77), triple=triple).object()
    assert names_of(code) is code
    assert b"cbrt" in code


@pytest.mark.parametrize("dtype", [DType.F64, DType.F32, DType.I32])
def test_elements(dtype: DType) -> None:
    """A constant of the graph is there, byte by byte, between others."""
    random = np.random.default_rng(0)
    large = (1000 * random.normal(size=3000)).astype(dtype.numpy)
    small = large[:3]
    function = function_of(
        [Type(dtype, (3000,)), Type(dtype, (3,))],
        lambda x, y: [build.mul(x, build.constant(large)), build.mul(y, build.constant(small))],
    )
    assert_compiled_same(function, [large, small])
