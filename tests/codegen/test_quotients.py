"""Quotients of polynomials in the emitted math functions: their coefficients, what they share."""

from __future__ import annotations

import re

import numpy as np
import pytest

from gradc_codegen.machine.machine_code import machine_code
from gradc_codegen.math.emitted import coefficients, trigonometric
from gradc_codegen.math.emitted.builder import Float
from gradc_codegen.math.emitted.function_text import text_of
from gradc_ir.core.types import DType
from tests.comparing import assert_same_bits
from tools.coefficients import PRECISION, QUOTIENTS
from tools.math_loops import apply, emitted_text, loop_text
from tools.rational import quotient

TRIPLE = "x86_64-unknown-linux-gnu"

each_dtype = pytest.mark.parametrize("dtype", [DType.F64, DType.F32])


@each_dtype
def test_coefficients_are_what_the_tool_computes(dtype: DType) -> None:
    above, below, error = quotient(QUOTIENTS["TAN"], dtype.name, PRECISION[dtype.name])
    assert coefficients.TAN_ABOVE[dtype] == tuple(above)
    assert coefficients.TAN_BELOW[dtype] == tuple(below)
    assert error < (-54 if dtype is DType.F64 else -30)


@pytest.mark.parametrize("name", QUOTIENTS)
def test_constants_are_those_that_the_functions_count_on(name: str) -> None:
    for dtype in (DType.F64, DType.F32):
        if name == "TAN":
            assert coefficients.TAN_ABOVE[dtype][0] == coefficients.TAN_BELOW[dtype][0] == 1.0
        if name == "ERFC":
            assert coefficients.ERFC_ABOVE[dtype][0] == QUOTIENTS[name].constant


@each_dtype
def test_sine_and_cosine_of_one_number_cost_little_more_than_one(dtype: DType) -> None:
    def both(x: Float) -> Float:
        return trigonometric.sin_beside_cos(x) + trigonometric.cos_beside_sin(x)

    text, declarations = text_of("@function", both, dtype, lanes=8)
    loop = loop_text("@function", dtype, 8, 1, "alwaysinline")
    # what is rare has functions of its own
    pair, alone = (
        len(re.findall(r"vfn?m\w+p[ds]\s", _function(made.assembly())))
        for made in (
            machine_code("\n".join([text, *declarations, loop]), "x86-64-v3", TRIPLE),
            machine_code(emitted_text("math.sin_beside_cos", dtype, 8), "x86-64-v3", TRIPLE),
        )
    )
    assert pair == alone


def _function(assembly: str) -> str:
    """Return the assembly of the loop."""
    return re.split(r"\n\.Lfunc_end", re.split(r"\nloop:", assembly)[1])[0]


@each_dtype
def test_error_functions_stay_within_their_bounds(dtype: DType) -> None:
    x = np.linspace(-7, 7, 100_001).astype(dtype.numpy)
    assert np.abs(apply("math.erf", x)).max() == 1.0
    complement = apply("math.erfc", x)
    assert complement.min() >= 0.0
    assert complement.max() == 2.0


@each_dtype
def test_the_diagonal_is_at_a_quarter_of_pi(dtype: DType) -> None:
    one = np.ones(1, dtype.numpy)
    assert_same_bits(apply("math.atan", one), one * dtype.numpy.type(np.pi / 4))
