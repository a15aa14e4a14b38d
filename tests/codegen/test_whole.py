"""Functions of math that straight code calls are compiled once a process, to the same bits."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from gradc_codegen.machine.jit import LoadedModule, compile_module
from gradc_codegen.math.functions import reference_of_all
from gradc_codegen.math.whole import whole_of, without_whole
from gradc_codegen.target.target import machine_of, target
from gradc_codegen.text.module import NARROW, UNMASKED, Machine, Module, vector_type
from gradc_ir.core.types import DType
from tests.comparing import assert_same_bits

NUMBERS = np.array([0.0, -0.5, 1e-310, 1e22, -3.0, np.inf, np.nan, 7.0])
FUNCTIONS = ("exp", "sin.cos", "tanh", "log1p")


def module_of(
    words: str, lanes: int, mark: str = "noinline", machine: Machine | None = None
) -> str:
    """Return a module with a function of arrays, one vector long, that calls one of math."""
    module = Module("whole", machine or machine_of(target("native")))
    parts = words.split(".")
    name = reference_of_all(module, [f"math.{part}" for part in parts], DType.F64, lanes)
    type_ = vector_type("double", lanes)
    result = type_ if len(parts) == 1 else f"{{ {', '.join([type_] * len(parts))} }}"
    first = [] if len(parts) == 1 else [f"  %r = extractvalue {result} %all, 0"]
    made = "%r" if len(parts) == 1 else "%all"
    module.functions.append(
        "\n".join([
            "define void @whole(ptr %x, ptr %out) {",
            f"  %v = load {type_}, ptr %x, align 8",
            f"  {made} = call {result} {name}({type_} %v) {mark}",
            *first,
            f"  store {type_} %r, ptr %out, align 8",
            "  ret void",
            "}",
        ])
    )  # fmt: skip
    return str(module)


def run(module: LoadedModule) -> Any:
    out = np.empty(8)
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(module.address("whole"))
    function(NUMBERS.ctypes.data, out.ctypes.data)
    return out


@pytest.mark.parametrize("words", FUNCTIONS)
def test_bits_are_those_of_a_module_of_its_own(words: str) -> None:
    text = module_of(words, 8)
    shared, own = compile_module(text), compile_module(text, target("native").cpu)
    assert f"gradc_whole.{words}.v8f64".encode() in shared.code
    assert b"gradc_whole" not in own.code
    assert len(shared.code) < len(own.code) // 2
    assert_same_bits(run(shared), run(own))


def test_registers_of_the_callers_are_those_of_the_function() -> None:
    machine = machine_of(target("native"))
    narrow = module_of("exp", 8, machine=machine.keeping_to(NARROW))
    taken = without_whole(narrow, machine)
    assert "@gradc_whole_narrow.exp.v8f64(" in taken
    assert NARROW in whole_of("exp.v8f64", machine.keeping_to(NARROW)).text  # type: ignore[union-attr]
    assert_same_bits(run(compile_module(narrow)), run(compile_module(module_of("exp", 8))))
    unmasked = module_of("exp", 8, machine=machine.keeping_to(UNMASKED))
    assert without_whole(unmasked, machine) == unmasked


def test_what_is_inlined_or_not_as_gradc_writes_it_stays() -> None:
    machine = machine_of(target("native"))
    inlined = module_of("exp", 8, "alwaysinline")
    assert without_whole(inlined, machine) == inlined
    # of two calls one may be inlined
    twice = module_of("exp", 8)
    call = next(line for line in twice.split("\n") if "noinline" in line)
    other = call.replace("%r", "%s").replace("noinline", "alwaysinline")
    both = twice.replace(call, f"{call}\n{other}")
    assert without_whole(both, machine) == both
    changed = twice.replace("ret <8 x double> %v", "ret <8 x double> %x0 ; %v")
    assert changed != twice
    assert without_whole(changed, machine) == changed
    assert whole_of("each.f64", machine) is None
