"""The one road from a function to its kernel: its stations, and where it ends."""

from __future__ import annotations

import numpy as np
import pytest

from gradc_codegen.compile_function import Compilation, compile_function, compile_object
from gradc_ir import build
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import symbol
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import ExportError
from tests.codegen.compiled import function_of

LINUX = "x86_64-unknown-linux-gnu"


def doubled() -> Function:
    return function_of([Type(DType.F64, (symbol("n"),))], lambda x: build.exp(x) * 2.0, ["x"])


def test_a_function_becomes_a_kernel() -> None:
    (found,) = compile_function(doubled(), level=0)([np.array([0.0, 1.0])])
    assert found == pytest.approx([2.0, 2 * np.e])


def test_each_station_is_made_of_the_one_before() -> None:
    made = Compilation(doubled(), "doubled", cpu=None, triple=LINUX)
    assert "for i in n" in str(made.nest)
    assert made.nest is made.nest
    assert "define i32 @doubled(" in made.llvm
    assert "doubled:" in made.assembly


def test_an_object_file_has_kernels_with_checks() -> None:
    made = compile_object({"one": doubled(), "two": doubled()})
    assert made.routines == ()
    for name in (b"one", b"one_worksize", b"two", b"two_worksize"):
        assert name in made.code


def test_a_cpu_without_fma_is_refused_or_emulated() -> None:
    with pytest.raises(ExportError, match="no fused multiply-add"):
        compile_object({"f": doubled()}, cpu="x86-64", triple=LINUX)
    assert compile_object({"f": doubled()}, cpu="x86-64", triple=LINUX, emulate=True).code
