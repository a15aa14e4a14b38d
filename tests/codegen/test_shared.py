"""What emitted functions do rarely is compiled once a process, to the bits of a module's own."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from gradc_codegen.machine.jit import LoadedModule, compile_module
from gradc_codegen.math.emitted.function_text import text_of
from gradc_codegen.math.emitted.table import DEFINITIONS, operands_of
from gradc_codegen.math.shared import shared_of
from gradc_codegen.target.target import machine_of, target
from gradc_codegen.text.module import REGISTER, suffix, vector_type
from gradc_ir.core.types import DType
from tests.comparing import assert_same_bits

WORDS = (
    "sin",
    "cos",
    "tan",
    "log",
    "log1p",
    "pow",
    "fmod",
    "atan2",
    "hypot",
    "softplus",
    "gammaln",
)
NUMBERS = (0.0, -0.0, 0.5, -1.5, 3.0, 1e-310, 1e5, -1e22, 7e37, np.inf, -np.inf, np.nan)


def module_of(word: str, dtype: DType, lanes: int) -> str:
    """Return a module with a function of arrays, one vector long, that computes a word."""
    operands = operands_of(f"math.{word}")
    name, type_ = f"@gradc.{word}.{suffix(dtype, lanes)}", vector_type(REGISTER[dtype], lanes)
    text, declarations = text_of(
        name, DEFINITIONS[f"math.{word}"], dtype, operands, lanes, machine_of(target("native"))
    )
    loads = "\n".join(f"  %v{i} = load {type_}, ptr %x{i}, align 8" for i in range(operands))
    return "\n".join([
        f"define void @whole({', '.join(f'ptr %x{i}' for i in range(operands))}, ptr %out) {{",
        loads,
        f"  %r = call {type_} {name}({', '.join(f'{type_} %v{i}' for i in range(operands))})",
        f"  store {type_} %r, ptr %out, align 8",
        "  ret void",
        "}",
        text,
        *declarations,
        "",
    ])  # fmt: skip


def run(module: LoadedModule, arrays: list[Any]) -> Any:
    out = np.empty_like(arrays[0])
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (*arrays, out)]
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(pointers))(module.address("whole"))
    function(*pointers)
    return out


@pytest.mark.parametrize("dtype", [DType.F64, DType.F32])
@pytest.mark.parametrize("word", WORDS)
def test_bits_are_those_of_a_module_of_its_own(word: str, dtype: DType) -> None:
    lanes = 4
    text = module_of(word, dtype, lanes)
    assert shared_of(f"{word}.{suffix(dtype, lanes)}", machine_of(target("native"))) is not None
    shared, own = compile_module(text), compile_module(text, target("native").cpu)
    assert b"gradc_shared." in shared.code
    assert b"gradc_shared." not in own.code
    assert len(shared.code) < len(own.code)
    numbers = np.array(NUMBERS, dtype.numpy)
    for turn in range(0, 12, lanes):
        arrays = [
            np.ascontiguousarray(np.roll(numbers, place * 5)[turn : turn + lanes])
            for place in range(operands_of(f"math.{word}"))
        ]
        assert_same_bits(run(shared, arrays), run(own, arrays))


@pytest.mark.parametrize("word", DEFINITIONS)
def test_every_function_is_shared_whole_or_not_at_all(word: str) -> None:
    for dtype in (DType.F64, DType.F32):
        for lanes in (1, 8):
            function = f"{word.removeprefix('math.')}.{suffix(dtype, lanes)}"
            found = shared_of(function, machine_of(target("native")))
            if found is not None:
                text, _ = text_of(
                    f"@gradc.{function}",
                    *(DEFINITIONS[word], dtype, operands_of(word), lanes),
                    machine=machine_of(target("native")),
                )
                assert all(f"{block}\n" in text for block in found.blocks)
