"""Emitted math functions in programs: inlined in loops, called outside of them."""

from __future__ import annotations

import re

import pytest

from gradc_codegen.lower.lower import lower
from gradc_codegen.machine.machine_code import machine_code
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.types import DType, Type


def assembly_of(name: str, lanes: bool = True) -> str:
    """Return an op on whole vectors, or on a number, as the assembly of a kernel."""
    with Builder() as builder:
        x = builder.param(0, Type(DType.F64, (64,) if lanes else ()))
        function = builder.function("f", [x], [build.elementwise(name, x)], ["x"])
    return machine_code(lower(function, "f"), "x86-64-v3", "x86_64-unknown-linux-gnu").assembly()


@pytest.mark.parametrize("name", ["tanh", "sigmoid", "softplus", "ndtr", "log_ndtr"])
def test_loops_are_of_vectors_without_calls_but_for_what_is_rare(name: str) -> None:
    assembly = assembly_of(name)
    called = re.findall(r"\bcall\w*\s+(\S+)", assembly)
    assert all(re.search(r"\.\w+_of_\w+$", to) for to in called)
    assert re.search(r"vfmadd\w+pd\s.*ymm", assembly)


def test_outside_of_loops_one_copy_is_called() -> None:
    assert re.search(r"(?:call|jmp)\S*\s+\S*gradc\.tanh", assembly_of("tanh", lanes=False))


@pytest.mark.parametrize(
    ("name", "known", "word"),
    [("zeta", 2.0, "trigamma"), ("bessel_i_scaled", 0.0, "i0e"), ("bessel_i_scaled", 1.0, "i1e")],
)
def test_a_known_first_operand_may_leave_a_function_of_the_second(
    name: str, known: float, word: str
) -> None:
    with Builder() as builder:
        x = builder.param(0, Type(DType.F64, ()))
        function = builder.function("f", [x], [build.elementwise(name, known, x)], ["x"])
    called = set(re.findall(r"call double @([\w.]+)\(double", lower(function, "f")))
    assert f"gradc.{word}.f64" in called
    assert not any("zeta" in function or "scipy" in function for function in called)


def test_a_sine_and_a_cosine_of_the_same_numbers_share_what_they_are_made_of() -> None:
    with Builder() as builder:
        x = builder.param(0, Type(DType.F64, (64,)))
        results = [build.sin(x), build.cos(x)]
        function = builder.function("f", [x], results, ["x"])
        alone = builder.function("g", [x], results[:1], ["x"])
    assert {"gradc.sin_beside_cos", "gradc.cos_beside_sin"} <= words_of(lower(function, "f"))
    assert "gradc.sin" in words_of(lower(alone, "g"))


def words_of(text: str) -> set[str]:
    """Return the names of the math functions that a module calls."""
    return set(re.findall(r"@(gradc\.\w+)\.v\d+f64\(", text))
