"""Emitted math functions in programs: inlined in loops, called outside of them."""

from __future__ import annotations

import re

import pytest

from gradc_codegen.lower import lower
from gradc_codegen.object import emit_assembly
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.types import DType, Type


def assembly_of(name: str, lanes: bool = True) -> str:
    """Return an op on whole vectors, or on a number, as the assembly of a kernel."""
    with Builder() as builder:
        x = builder.param(0, Type(DType.F64, (64,) if lanes else ()))
        function = builder.function("f", [x], [build.elementwise(name, x)], ["x"])
    return emit_assembly(lower(function, "f"), "x86-64-v3", "x86_64-unknown-linux-gnu")


@pytest.mark.parametrize("name", ["tanh", "sigmoid", "softplus"])
def test_loops_are_of_vectors_without_calls(name: str) -> None:
    assembly = assembly_of(name)
    assert not re.search(r"\bcall", assembly)
    assert re.search(r"vfmadd\w+pd\s.*ymm", assembly)


def test_outside_of_loops_one_copy_is_called() -> None:
    assert re.search(r"(?:call|jmp)\S*\s+\S*gradc\.tanh", assembly_of("tanh", lanes=False))
