"""The emitted math functions: errors, special values, the same bits in every width, no calls."""

from __future__ import annotations

import os
import re

import numpy as np
import pytest

from gradc_codegen.lower import lower
from gradc_codegen.math.emitted import coefficients
from gradc_codegen.math.emitted.table import DEFINITIONS
from gradc_codegen.object import emit_assembly
from gradc_ir.types import DType
from tests.comparing import assert_same_bits
from tools.coefficients import CONSTANTS, constant, polynomial
from tools.math_errors import FUNCTIONS, errors, exact, kernel, points

POINTS = int(os.environ.get("GRADC_EXAMPLES", "10_000"))
# In units in the last place. At 1 the two halves of erf meet, each with rounding errors of its own.
LARGEST_ERROR = {name: 1.2 if name == "erf" else 1.0 for name in FUNCTIONS}
NAN, INF = np.nan, np.inf

each_function = pytest.mark.parametrize("name", FUNCTIONS)
each_dtype = pytest.mark.parametrize("dtype", [DType.F64, DType.F32])


def test_every_emitted_function_is_measured() -> None:
    assert {f"math.{name.replace('arc', 'a')}" for name in FUNCTIONS} == set(DEFINITIONS)


@each_function
@each_dtype
def test_errors_are_within_a_unit_or_so_in_the_last_place(name: str, dtype: DType) -> None:
    x = points(name, dtype, POINTS)
    (found,) = kernel(name, dtype)([x])
    apart = errors(found, exact(name, x))
    worst = int(np.argmax(apart))
    assert apart[worst] <= LARGEST_ERROR[name], f"{apart[worst]:.3f} ulp: {name}({x[worst]!r})"


# C99, annex F.9: argument, result
ODD = [(0.0, 0.0), (-0.0, -0.0), (NAN, NAN)]
GROWING = [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (NAN, NAN)]
LOGARITHM = [
    (1.0, 0.0), (0.0, -INF), (-0.0, -INF), (-1.0, NAN), (INF, INF), (-INF, NAN), (NAN, NAN)
]  # fmt: skip
SPECIAL = {
    "exp": GROWING,
    "exp2": [*GROWING, (3.0, 8.0), (-1.0, 0.5)],
    "expm1": [*ODD, (INF, INF), (-INF, -1.0)],
    "log": LOGARITHM,
    "log1p": [*ODD, (-1.0, -INF), (-2.0, NAN), (INF, INF), (-INF, NAN)],
    "log2": LOGARITHM,
    "log10": LOGARITHM,
    "tanh": [*ODD, (INF, 1.0), (-INF, -1.0)],
    "sinh": [*ODD, (INF, INF), (-INF, -INF)],
    "arctan": ODD,
    "arcsin": [*ODD, (1.5, NAN), (-1.5, NAN), (INF, NAN), (-INF, NAN)],
    "arccos": [(1.0, 0.0), (1.5, NAN), (-1.5, NAN), (INF, NAN), (-INF, NAN), (NAN, NAN)],
    "arcsinh": [*ODD, (INF, INF), (-INF, -INF)],
    "arccosh": [(1.0, 0.0), (0.5, NAN), (-2.0, NAN), (INF, INF), (-INF, NAN), (NAN, NAN)],
    "arctanh": [*ODD, (1.0, INF), (-1.0, -INF), (1.5, NAN), (INF, NAN), (-INF, NAN)],
    "erf": [*ODD, (INF, 1.0), (-INF, -1.0)],
    "cosh": [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, INF), (NAN, NAN)],
}


@each_function
@each_dtype
def test_special_values(name: str, dtype: DType) -> None:
    x, want = np.array(SPECIAL[name], dtype.numpy).T.copy()
    (found,) = kernel(name, dtype)([x])
    assert_same_bits(found, want)


@each_dtype
def test_logarithms_of_powers_are_exact(dtype: DType) -> None:
    limits = np.finfo(dtype.numpy)
    exponents = np.arange(limits.minexp - limits.nmant, limits.maxexp).astype(dtype.numpy)
    (found,) = kernel("log2", dtype)([np.ldexp(dtype.numpy.type(1), exponents.astype(int))])
    assert_same_bits(found, exponents)
    exponents = np.arange(0, 23 if dtype is DType.F64 else 11).astype(dtype.numpy)
    (found,) = kernel("log10", dtype)([np.array([10 ** int(k) for k in exponents], dtype.numpy)])
    assert_same_bits(found, exponents)


@each_dtype
def test_exponentials_overflow_exactly_where_the_result_does(dtype: DType) -> None:
    limits = np.finfo(dtype.numpy)
    for name, scale in (("exp", 1), ("expm1", 1), ("sinh", 2), ("cosh", 2)):
        edge = dtype.numpy.type(np.log(scale) + np.log(np.float64(limits.max)))
        x = edge + np.arange(-50, 50).astype(dtype.numpy) * np.spacing(edge)
        (found,) = kernel(name, dtype)([x])
        assert 0 < np.isinf(found).sum() < len(x)
        assert_same_bits(np.isinf(found), np.isinf(exact(name, x)[0].astype(dtype.numpy)))
    (found,) = kernel("exp2", dtype)([np.array([limits.maxexp], dtype.numpy)])
    assert_same_bits(found, np.array([INF], dtype.numpy))


@each_function
@each_dtype
def test_bits_are_those_of_one_element_alone_on_every_machine(name: str, dtype: DType) -> None:
    x = points(name, dtype, 1_000, seed=1)
    (wide,) = kernel(name, dtype)([x])
    (narrow,) = kernel(name, dtype, cpu="x86-64-v3")([x]) if _is_x86() else (wide,)
    assert_same_bits(wide, narrow)
    alone = kernel(name, dtype, lanes=False)
    for start in range(0, len(x), 37):
        (found,) = alone([x[start]])
        assert_same_bits(found, wide[start])


def _is_x86() -> bool:
    return os.uname().machine == "x86_64"


@each_function
@each_dtype
def test_loops_are_vectorised_without_calls(name: str, dtype: DType) -> None:
    text = lower(kernel(name, dtype).function, "f")
    assembly = emit_assembly(text, "x86-64-v3", "x86_64-unknown-linux-gnu")
    assert not re.search(r"\bcall", assembly)
    packed = "p" + ("d" if dtype is DType.F64 else "s")
    assert re.search(rf"vfn?m\w+{packed}\s.*ymm", assembly)


@pytest.mark.parametrize("name", ["sigmoid", "softplus"])
def test_what_is_composed_of_them_is_vectorised_too(name: str) -> None:
    text = lower(kernel(name, DType.F64).function, "f")
    assembly = emit_assembly(text, "x86-64-v3", "x86_64-unknown-linux-gnu")
    assert not re.search(r"\bcall", assembly)
    assert re.search(r"vfmadd\w+pd\s.*ymm", assembly)


def test_where_loops_are_not_vectorised_one_copy_is_called() -> None:
    text = lower(kernel("tanh", DType.F64).function, "f")
    assembly = emit_assembly(text, "x86-64-v3", "x86_64-unknown-linux-gnu", level=1)
    assert re.search(r"call\S*\s+\S*gradc\.tanh", assembly)


def test_outside_of_loops_one_copy_is_called() -> None:
    text = lower(kernel("tanh", DType.F64, lanes=False).function, "f")
    assembly = emit_assembly(text, "x86-64-v3", "x86_64-unknown-linux-gnu")
    assert re.search(r"(?:call|jmp)\S*\s+\S*gradc\.tanh", assembly)


@pytest.mark.parametrize("name", CONSTANTS)
def test_constants_are_what_the_tool_computes(name: str) -> None:
    for dtype in (DType.F64, DType.F32):
        assert getattr(coefficients, name)[dtype] == constant(name, dtype.name)


@each_dtype
def test_coefficients_are_what_the_tool_computes(dtype: DType) -> None:
    found, error = polynomial("LOG", dtype.name)
    assert coefficients.LOG[dtype] == tuple(found)
    assert error < -59 if dtype is DType.F64 else error < -35
