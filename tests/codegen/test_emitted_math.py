"""The emitted math functions: errors, special values, the same bits everywhere, no calls."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import numpy as np
import pytest

from gradc_codegen.machine.machine_code import machine_code
from gradc_codegen.math.emitted import coefficients, special_coefficients
from gradc_codegen.math.emitted.table import DEFINITIONS
from gradc_ir.core.types import DType
from tests.comparing import assert_same_bits
from tools.coefficients import CONSTANTS, FOLDER, STEPS, WORDS, constant, polynomial, steps, words
from tools.math_errors import (
    FUNCTIONS,
    MEASURED,
    errors,
    exact,
    largest_error,
    largest_error_in_f32,
    limit,
    points,
)
from tools.math_loops import apply, emitted_text

POINTS = int(os.environ.get("GRADC_EXAMPLES", "10_000"))
FEW_POINTS = 1_000
NAN, INF = np.nan, np.inf
TABLES = vars(special_coefficients) | vars(coefficients)

each_function = pytest.mark.parametrize("name", FUNCTIONS)
each_dtype = pytest.mark.parametrize("dtype", [DType.F64, DType.F32])


def test_every_emitted_function_is_measured() -> None:
    assert {f"math.{name}" for name in FUNCTIONS} == set(DEFINITIONS)


@pytest.mark.parametrize("name", MEASURED)
@pytest.mark.parametrize(
    ("dtype", "points"),
    [
        (DType.F64, FEW_POINTS),
        pytest.param(DType.F64, POINTS, marks=pytest.mark.slow),
        pytest.param(DType.F32, POINTS, marks=pytest.mark.slow),
    ],
)
def test_errors_are_within_one_or_two_units_in_the_last_place(
    name: str, dtype: DType, points: int
) -> None:
    found = largest_error(name, dtype, points)
    assert found.error <= limit(name), f"{name}: {found}"


@pytest.mark.parametrize("name", ["exp", "log", "sigmoid"])
def test_every_number_of_f32_can_be_gone_through(name: str) -> None:
    ones = int(np.float32(1).view(np.uint32))
    found = largest_error_in_f32(name, ones, ones + (1 << 17))
    assert 0.5 < found.error <= limit(name), f"{name}: {found}"


# C99, annex F.9: argument, result
ODD = [(0.0, 0.0), (-0.0, -0.0), (NAN, NAN)]
GROWING = [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (NAN, NAN)]
LOGARITHM = [
    (1.0, 0.0), (0.0, -INF), (-0.0, -INF), (-1.0, NAN), (INF, INF), (-INF, NAN), (NAN, NAN)
]  # fmt: skip
# base, exponent, result
POWERS = [
    *((x, 0.0, 1.0) for x in (0.0, -0.0, 1.0, -2.0, INF, -INF, NAN)),
    *((1.0, y, 1.0) for y in (0.5, -3.0, INF, -INF, NAN)),
    *((-1.0, y, 1.0) for y in (INF, -INF, 2.0, 1e30)),
    *((0.0, y, INF) for y in (-1.0, -2.0, -0.5, -INF)), *((0.0, y, 0.0) for y in (1.0, 0.5, INF)),
    (-0.0, -1.0, -INF), (-0.0, -2.0, INF), (-0.0, -0.5, INF), (-0.0, -INF, INF),
    (-0.0, 3.0, -0.0), (-0.0, 2.0, 0.0), (-0.0, 0.5, 0.0), (-0.0, INF, 0.0),
    (INF, 0.5, INF), (INF, -0.5, 0.0), (INF, INF, INF), (INF, -INF, 0.0), (INF, 1e-30, INF),
    (-INF, 3.0, -INF), (-INF, 2.0, INF), (-INF, 2.5, INF), (-INF, INF, INF),
    (-INF, -3.0, -0.0), (-INF, -2.0, 0.0), (-INF, -2.5, 0.0), (-INF, -INF, 0.0),
    (0.5, INF, 0.0), (-0.5, INF, 0.0), (0.5, -INF, INF), (2.0, INF, INF), (-2.0, -INF, 0.0),
    (-2.0, 0.5, NAN), (-1.0, 1.5, NAN), (NAN, 1.0, NAN), (2.0, NAN, NAN), (-1.0, NAN, NAN),
    (0.0, NAN, NAN), (-2.0, 3.0, -8.0), (-2.0, -2.0, 0.25), (2.0, 1e30, INF), (0.5, 1e30, 0.0),
]  # fmt: skip
# y, x, angle
ANGLES = [
    *((y, 1.0, y) for y in (0.0, -0.0)), *((y, INF, y) for y in (0.0, -0.0)),
    *((np.copysign(y, s), x, np.copysign(np.pi, s))
      for s in (1, -1) for y, x in ((0.0, -0.0), (0.0, -1.0), (0.0, -INF), (1.0, -INF))),
    (0.0, 0.0, 0.0), (-0.0, 0.0, -0.0), (1.0, INF, 0.0), (-1.0, INF, -0.0),
    *((np.copysign(y, s), x, np.copysign(np.pi / 2, s))
      for s in (1, -1) for y, x in ((1.0, 0.0), (1.0, -0.0), (INF, 0.0), (INF, 5.0), (INF, -5.0))),
    (INF, INF, np.pi / 4), (-INF, INF, -np.pi / 4), (1.0, 1.0, np.pi / 4),
    (INF, -INF, 3 * np.pi / 4), (-INF, -INF, -3 * np.pi / 4), (-1.0, -1.0, -3 * np.pi / 4),
    (NAN, 1.0, NAN), (1.0, NAN, NAN), (NAN, INF, NAN), (0.0, NAN, NAN),
]  # fmt: skip
REMAINDERS = [
    (5.0, 3.0, 2.0), (-5.0, 3.0, -2.0), (5.0, -3.0, 2.0), (6.0, 3.0, 0.0), (-6.0, 3.0, -0.0),
    (0.0, 3.0, 0.0), (-0.0, 3.0, -0.0), (2.0, INF, 2.0), (-2.0, -INF, -2.0), (0.0, INF, 0.0),
    (1.0, 0.0, NAN), (0.0, 0.0, NAN), (INF, 1.0, NAN), (-INF, 2.0, NAN), (INF, INF, NAN),
    (NAN, 1.0, NAN), (1.0, NAN, NAN), (2.0**100, 3.0, 1.0), (-(2.0**101), 3.0, -2.0),
]  # fmt: skip
SIDES = [
    (3.0, 4.0, 5.0), (-5.0, 12.0, 13.0), (0.0, -0.0, 0.0), (-0.0, -0.0, 0.0), (-2.0, 0.0, 2.0),
    (INF, NAN, NAN), (NAN, -INF, NAN), (-INF, 1.0, INF), (NAN, 1.0, NAN), (0.0, NAN, NAN),
    (3e30, 4e30, 5e30), (2.0**-120, 0.0, 2.0**-120),
]  # fmt: skip
SPECIAL: dict[str, Sequence[tuple[float, ...]]] = {
    "exp": GROWING,
    "exp2": [*GROWING, (3.0, 8.0), (-1.0, 0.5)],
    "exp_product": [
        (0.0, 5.0, 1.0), (-0.0, -0.0, 1.0), (INF, 1.0, INF), (-2.0, INF, 0.0), (INF, -INF, 0.0),
        (0.0, INF, NAN), (NAN, 0.0, NAN), (30.0, 30.0, INF), (-30.0, 30.0, 0.0),
        (2.0**100, 2.0**100, INF), (2.0**100, -(2.0**100), 0.0),
    ],
    "expm1": [*ODD, (INF, INF), (-INF, -1.0)],
    "log": LOGARITHM,
    "log1p": [*ODD, (-1.0, -INF), (-2.0, NAN), (INF, INF), (-INF, NAN)],
    "log2": LOGARITHM,
    "log10": LOGARITHM,
    "tanh": [*ODD, (INF, 1.0), (-INF, -1.0)],
    "sinh": [*ODD, (INF, INF), (-INF, -INF)],
    "pow": POWERS,
    "sin": [*ODD, (INF, NAN), (-INF, NAN)],
    "cos": [(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN), (NAN, NAN)],
    "sin_beside_cos": [*ODD, (INF, NAN), (-INF, NAN)],
    "cos_beside_sin": [(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN), (NAN, NAN)],
    "tan": [*ODD, (INF, NAN), (-INF, NAN)],
    "atan": ODD,
    "asin": [*ODD, (1.5, NAN), (-1.5, NAN), (INF, NAN), (-INF, NAN)],
    "acos": [(1.0, 0.0), (1.5, NAN), (-1.5, NAN), (INF, NAN), (-INF, NAN), (NAN, NAN)],
    "asinh": [*ODD, (INF, INF), (-INF, -INF)],
    "acosh": [(1.0, 0.0), (0.5, NAN), (-2.0, NAN), (INF, INF), (-INF, NAN), (NAN, NAN)],
    "atanh": [*ODD, (1.0, INF), (-1.0, -INF), (1.5, NAN), (INF, NAN), (-INF, NAN)],
    "cbrt": [*ODD, (INF, INF), (-INF, -INF), (27.0, 3.0), (-0.125, -0.5), (1e15, 1e5)],
    "hypot": SIDES,
    "hypot_infinity_wins": [*SIDES[:5], *SIDES[7:], (INF, NAN, INF), (NAN, -INF, INF)],
    "atan2": ANGLES,
    "fmod": REMAINDERS,
    "erfc": [(0.0, 1.0), (-0.0, 1.0), (INF, 0.0), (-INF, 2.0), (NAN, NAN), (30.0, 0.0)],
    "erf": [*ODD, (INF, 1.0), (-INF, -1.0)],
    "sigmoid": [(0.0, 0.5), (-0.0, 0.5), (INF, 1.0), (-INF, 0.0), (NAN, NAN), (-800.0, 0.0)],
    "sigmoid_of_double": [(0.0, 0.5), (-0.0, 0.5), (INF, 1.0), (-INF, 0.0), (NAN, NAN)],
    "sigmoid_derivative_of_double": [(0.0, 0.25), (INF, 0.0), (-INF, 0.0), (NAN, NAN)],
    "sigmoid_derivative": [(0.0, 0.25), (-0.0, 0.25), (INF, 0.0), (-INF, 0.0), (NAN, NAN)],
    "logaddexp": [
        (0.0, -INF, 0.0), (-INF, -INF, -INF), (-INF, 5.0, 5.0), (INF, 1.0, INF), (INF, -INF, INF),
        (NAN, INF, NAN), (1.0, NAN, NAN), (INF, INF, INF), (-0.0, -INF, 0.0),
    ],
    "log1mexp": [
        (0.0, -INF), (-0.0, -INF), (1.0, NAN), (INF, NAN), (-INF, -0.0), (-800.0, -0.0), (NAN, NAN)
    ],
    "softplus": [(INF, INF), (-INF, 0.0), (NAN, NAN), (100.0, 100.0), (-800.0, 0.0)],
    "erfcx": [(0.0, 1.0), (-0.0, 1.0), (INF, 0.0), (-INF, INF), (NAN, NAN), (-30.0, INF)],
    "erfinv": [*ODD, (1.0, INF), (-1.0, -INF), (1.5, NAN), (-2.0, NAN), (INF, NAN), (-INF, NAN)],
    "ndtr": [(0.0, 0.5), (-0.0, 0.5), (INF, 1.0), (-INF, 0.0), (NAN, NAN), (-40.0, 0.0)],
    "log_ndtr": [(INF, -0.0), (40.0, -0.0), (-INF, -INF), (NAN, NAN)],
    "gammaln": [
        *((x, INF) for x in (0.0, -0.0, -1.0, -2.0, -1e30, INF)), *((x, 0.0) for x in (1.0, 2.0)),
        (-INF, -INF), (NAN, NAN),
    ],
    "psi": [
        (0.0, -INF), (-0.0, INF), (INF, INF), *((x, NAN) for x in (-1.0, -2.0, -1e30, -INF, NAN)),
    ],
    "trigamma": [*((x, INF) for x in (0.0, -0.0, -1.0, -1e30, -INF)), (INF, 0.0), (NAN, NAN)],
    "i0e": [(0.0, 1.0), (-0.0, 1.0), (INF, 0.0), (-INF, 0.0), (NAN, NAN)],
    "i1e": [*ODD, (INF, 0.0), (-INF, -0.0)],
    "cosh": [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, INF), (NAN, NAN)],
}  # fmt: skip


@each_function
@each_dtype
def test_special_values(name: str, dtype: DType) -> None:
    *operands, want = np.array(SPECIAL[name], dtype.numpy).T.copy()
    assert_same_bits(apply(f"math.{name}", *operands), want)


@pytest.mark.parametrize("name", ["gammaln", "psi"])
@each_dtype
def test_next_to_their_positive_zeros_functions_are_accurate(name: str, dtype: DType) -> None:
    random = np.random.default_rng(0)
    zeros = [1.0, 2.0] if name == "gammaln" else [1.4616321449683623]
    apart = random.choice([-1, 1], 2_000) * 2.0 ** random.uniform(-60, -3, 2_000)
    x = np.concatenate([zero + apart for zero in zeros]).astype(dtype.numpy)
    assert errors(apply(f"math.{name}", x), exact(name, x)).max() <= limit(name)


@each_dtype
def test_logarithms_of_powers_are_exact(dtype: DType) -> None:
    limits = np.finfo(dtype.numpy)
    exponents = np.arange(limits.minexp - limits.nmant, limits.maxexp).astype(dtype.numpy)
    found = apply("math.log2", np.ldexp(dtype.numpy.type(1), exponents.astype(int)))
    assert_same_bits(found, exponents)
    exponents = np.arange(0, 23 if dtype is DType.F64 else 11).astype(dtype.numpy)
    found = apply("math.log10", np.array([10 ** int(k) for k in exponents], dtype.numpy))
    assert_same_bits(found, exponents)


@each_dtype
def test_powers_are_exact_where_they_can_be(dtype: DType) -> None:
    x, y = np.meshgrid(np.arange(-60, 61), np.arange(0, 12))
    known = np.abs(x.astype(object) ** y) < 2 ** (np.finfo(dtype.numpy).nmant + 1)
    x, y = x[known].astype(dtype.numpy), y[known].astype(dtype.numpy)
    assert_same_bits(apply("math.pow", x, y), np.power(x, y))
    size = np.abs(x[x != 0])
    for exponent, factors in ((0.5, 1), (1.5, 3), (2.5, 5)):
        squares = size[size**2 < 2.0 ** (np.finfo(dtype.numpy).nmant // 5)]
        found = apply("math.pow", squares**2, np.full_like(squares, exponent))
        assert_same_bits(found, np.power(squares, dtype.numpy.type(factors)))


@each_dtype
def test_exponentials_overflow_exactly_where_the_result_does(dtype: DType) -> None:
    limits = np.finfo(dtype.numpy)
    for name, scale in (("exp", 1), ("expm1", 1), ("sinh", 2), ("cosh", 2)):
        edge = dtype.numpy.type(np.log(scale) + np.log(np.float64(limits.max)))
        x = edge + np.arange(-50, 50).astype(dtype.numpy) * np.spacing(edge)
        found = apply(f"math.{name}", x)
        assert 0 < np.isinf(found).sum() < len(x)
        assert_same_bits(np.isinf(found), np.isinf(exact(name, x)[0].astype(dtype.numpy)))
    found = apply("math.exp2", np.array([limits.maxexp], dtype.numpy))
    assert_same_bits(found, np.array([INF], dtype.numpy))


@each_function
@each_dtype
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="names CPUs of x86-64")
def test_bits_are_the_same_with_shorter_vectors(name: str, dtype: DType) -> None:
    operands = points(name, dtype, 1_000, seed=1)
    native = apply(f"math.{name}", *operands, lanes=64 // dtype.bytes)
    assert_same_bits(apply(f"math.{name}", *operands, cpu="x86-64-v3"), native)


@each_function
@each_dtype
def test_vectors_call_nothing_but_what_is_rare(name: str, dtype: DType) -> None:
    text = emitted_text(f"math.{name}", dtype, 8)
    assembly = machine_code(text, "x86-64-v3", "x86_64-unknown-linux-gnu").assembly()
    called = set(re.findall(r"\bcall\w*\s+(\S+)", assembly))
    assert all(re.fullmatch(r"\S*function(\.\w+_of_\w+)+(\.lanes|\.wide)?", to) for to in called)
    packed = "p" + ("d" if dtype is DType.F64 else "s")
    assert re.search(rf"vfn?m\w+{packed}\s.*ymm", assembly)


@pytest.mark.parametrize("name", CONSTANTS)
def test_constants_are_what_the_tool_computes(name: str) -> None:
    for dtype in (DType.F64, DType.F32):
        assert TABLES[name][dtype] == constant(name, dtype.name)


@pytest.mark.parametrize("name", WORDS)
def test_words_are_what_the_tool_computes(name: str) -> None:
    assert getattr(coefficients, name) == words(name)


@pytest.mark.parametrize("name", STEPS)
def test_steps_are_what_the_tool_computes(name: str) -> None:
    assert (FOLDER / f"{name}.py").read_text(encoding="utf-8") == steps(name)


@each_dtype
def test_coefficients_are_what_the_tool_computes(dtype: DType) -> None:
    found, error = polynomial("LOG", dtype.name)
    assert coefficients.LOG[dtype] == tuple(found)
    assert error < -59 if dtype is DType.F64 else error < -30
