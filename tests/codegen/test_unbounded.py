"""Formulas whose exponents have no bound: the interpreter's bits, alone and in lanes."""

from __future__ import annotations

import numpy as np
import pytest

from gradc.executable import Executable
from gradc_codegen.lower import lower
from gradc_codegen.object import emit_object
from gradc_codegen.unbounded import watched
from gradc_ir import build
from gradc_ir.builder import Builder
from gradc_ir.graph import Function
from gradc_ir.interpret import interpret
from gradc_ir.types import DType, Type
from gradc_ir.unbounded import parse_formulas

FORMULAS = [
    "mul %0 %1; div %2 %1 -> %3",
    "mul %0 %0; mul %1 %1; add %2 %3; sqrt %4; div %0 %5 -> %5 %6",
    "neg %0; div %2 %1; abs %3; sub %4 %1; mul %5 %0 -> %6 %2",
    "div %0 %1; div 2.5 %2; mul %3 1e-300; add %4 %0 -> %5",
    "mul %0 %1; mul %2 %2; mul %3 %3; mul %4 %4; mul %5 %5; div %6 %5; sqrt %7 -> %8 %4",
]


def function_of(text: str, dtype: DType, shape: tuple[int, ...]) -> Function:
    with Builder() as builder:
        params = [builder.param(i, Type(dtype, shape)) for i in range(2)]
        count = len(parse_formulas(text).results)
        results = [build.apply("unbounded", *params, formulas=text, result=i) for i in range(count)]
        return builder.function("f", params, results)


def samples(dtype: DType, shape: tuple[int, ...], seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    word = np.uint64 if dtype is DType.F64 else np.uint32
    drawn = random.integers(0, np.iinfo(word).max, size=shape, dtype=word, endpoint=True)
    special = random.choice([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 5e-324], size=shape)
    chosen = random.random(shape)
    with np.errstate(all="ignore"):
        values = np.where(chosen < 0.6, drawn.view(dtype.numpy), random.normal(size=shape))
        return np.where(chosen < 0.1, special, values).astype(dtype.numpy)


@pytest.mark.parametrize("text", FORMULAS)
@pytest.mark.parametrize("dtype", [DType.F64, DType.F32])
@pytest.mark.parametrize("shape", [(), (5,), (70,)])
def test_compiled_formulas_have_the_bits_of_the_interpreter(
    text: str, dtype: DType, shape: tuple[int, ...]
) -> None:
    function = function_of(text, dtype, shape)
    arrays = [samples(dtype, shape, seed) for seed in (1, 2)]
    wanted = interpret(function, arrays)
    for found, each in zip(Executable(function, False, False)(arrays), wanted, strict=True):
        np.testing.assert_array_equal(np.asarray(found), each)


@pytest.mark.parametrize(
    ("x", "y", "wanted"),
    [
        (1e200, 1e300, 1e200),
        (1e-200, 1e-300, 1e-200),
        (3.0, 4.0, 3.0),
        (0.0, 2.0, 0.0),
        (np.inf, 2.0, np.inf),
        (5e-324, 1e300, 5e-324),
    ],
)
def test_products_leave_the_range_and_come_back(x: float, y: float, wanted: float) -> None:
    function = function_of(FORMULAS[0], DType.F64, ())
    (found,) = interpret(function, [np.float64(x), np.float64(y)])
    np.testing.assert_allclose(found, wanted, rtol=1e-15)


def test_few_values_are_watched() -> None:
    # a root halves the exponent, so that only one operand of the quotient must be moderate
    steps = parse_formulas("sqrt %1; div %0 %2 -> %3").steps
    assert watched(steps, 2, DType.F64) == (0,)
    # a sum of moderate numbers neither overflows nor loses a bit by underflow
    steps = parse_formulas("add %0 %1; mul %2 2.0 -> %3").steps
    assert watched(steps, 2, DType.F64) == (0, 1)


def test_an_object_has_a_function_for_formulas_of_its_own() -> None:
    text = lower(function_of(FORMULAS[1], DType.F64, (9,)), "f")
    assert b"gradc_formula" not in emit_object(text, exported=["f"])


def test_a_whole_power_is_made_of_products() -> None:
    function = function_of("power %0 5.0; div %2 %1 -> %3", DType.F64, ())
    arrays = [np.float64(1e100), np.float64(1e300)]
    for found in (*interpret(function, arrays), *Executable(function, False, False)(arrays)):
        np.testing.assert_allclose(found, 1e200, rtol=1e-14)


@pytest.mark.parametrize("text", ["mul %0", "mul %0 %1", "root %0 -> %1", "mul %0 %9 -> %1"])
def test_what_is_no_formula_is_refused(text: str) -> None:
    with Builder() as builder:
        x = builder.param(0, Type(DType.F64, ()))
        with pytest.raises((ValueError, TypeError)):
            build.apply("unbounded", x, formulas=text, result=0)
