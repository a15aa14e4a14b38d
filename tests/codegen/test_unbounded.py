"""Formulas whose exponents have no bound: the interpreter's bits, alone and in lanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradc.runtime.executable import Executable
from gradc_codegen.lower.lower import lower
from gradc_codegen.machine.machine_code import machine_code
from gradc_codegen.math import formula_steps, formulas
from gradc_codegen.math.formula_steps import number, step
from gradc_codegen.math.formulas import Programs
from gradc_codegen.scalar.wide_exponents import watched
from gradc_codegen.text.module import Module
from gradc_ir import build
from gradc_ir.core.builder import Builder
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.op import TABLE
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import DTypeError, VerifyError
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.text.parser import parse_function
from gradc_ir.wide_exponents.arithmetic import compute
from gradc_ir.wide_exponents.formulas import steps_of
from gradc_ir.wide_exponents.functions import FUNCTIONS

FORMULAS = [
    "mul %0 %1; div %2 %1 -> %3",
    "mul %0 %0; mul %1 %1; add %2 %3; sqrt %4; div %0 %5 -> %5 %6",
    "neg %0; div %2 %1; abs %3; sub %4 %1; mul %5 %0 -> %6 %2",
    "div %0 %1; div 2.5 %2; mul %3 1e-300; add %4 %0 -> %5",
    "mul %0 %1; mul %2 %2; mul %3 %3; mul %4 %4; mul %5 %5; div %6 %5; sqrt %7 -> %8 %4",
]


CONDITIONS = {"select": (0,), "logical_not": (0,)} | dict.fromkeys(
    ("logical_and", "logical_or", "logical_xor"), (0, 1)
)


def formula(text: str, count: int, dtype: DType = DType.F64) -> Function:
    """Return formulas of ``count`` numbers: words with their operands, then what is a result.

    A number that stands where a condition is wanted says whether it is not 0, and a condition is
    the number 1 or 0.
    """
    steps, _, results = text.partition("->")
    with Builder() as builder:
        params = [builder.param(i, Type(dtype)) for i in range(count)]
        values = list(params)

        def number(name: str) -> Value:
            found = values[int(name[1:])] if name[0] == "%" else build.constant(float(name), dtype)
            return (
                found
                if found.type.dtype is dtype
                else build.select(found, build.constant(1, dtype), 0)
            )

        def condition(name: str) -> Value:
            found = values[int(name[1:])]
            return found if found.type.dtype is DType.BOOL else build.ne(found, 0.0)

        for step in steps.split(";"):
            word, *names = step.split()
            wanted = CONDITIONS.get(word, ())
            given = [condition(x) if i in wanted else number(x) for i, x in enumerate(names)]
            values.append(build.apply(word, *given))
        return builder.function("formula", params, list(map(number, results.split())))


def function_of(text: str, dtype: DType, shape: tuple[int, ...]) -> Function:
    body = formula(text, 2, dtype)
    with Builder() as builder:
        params = [builder.param(i, Type(dtype, shape)) for i in range(2)]
        results = [
            build.apply("unbounded", *params, body=body, result=i) for i in range(len(body.results))
        ]
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


@pytest.mark.parametrize("dtype", [DType.F64, DType.F32])
@pytest.mark.parametrize("shape", [(), (70,)])
def test_formulas_ask_of_common_numbers_once(dtype: DType, shape: tuple[int, ...]) -> None:
    # a zero is neither large nor small, but where a product with a constant has become it
    texts = [*FORMULAS, "mul %0 1e-30; mul %2 %0; div %3 %1 -> %4"]
    with Builder() as builder:
        params = [builder.param(i, Type(dtype, shape)) for i in range(2)]
        results = [
            build.apply("unbounded", *params, body=body, result=i)
            for body in (formula(text, 2, dtype) for text in [*texts, *reversed(texts)])
            for i in range(len(body.results))
        ]
        function = builder.function("f", params, results)
    executable = Executable(function, False, False)
    for seed in range(60 if shape == () else 4):
        arrays = [samples(dtype, shape, 2 * seed + i) for i in range(2)]
        wanted = interpret(function, arrays)
        for found, each in zip(executable(arrays), wanted, strict=True):
            np.testing.assert_array_equal(np.asarray(found), each)


def test_how_steps_are_written() -> None:
    # what is up to seven values before a step stands beside its op, all else behind
    assert step("mul", 9, [2, 8]) == bytes([3 | 7 << 5, 2 * 2])
    assert step("add", 9, [1, 1]) == bytes([0, 2 * 8 * 2, 2 * 8 * 2])
    # twice the distance, or where it is: which of them is shorter
    assert step("neg", 100, [20]) == bytes([8, (2 * 20 + 1) * 2])
    assert step("neg", 100, [90]) == bytes([8, 2 * 10 * 2])
    assert step("neg", 100, [20], is_function=True) == bytes([8]) + number(2 * 80)
    assert step("select", 3, [2, 1, 0]) == bytes([7 | 1 << 5, 2 * 2 * 2, 2 * 3 * 2])
    assert [len(number(1 << bits)) for bits in (0, 6, 7, 13, 14, 21)] == [1, 1, 2, 2, 3, 3]
    with pytest.raises(VerifyError):
        number(1 << 22)


@pytest.mark.parametrize("text", [*FORMULAS, "mul %0 %1; exp %2; log %3; div %4 %1 -> %5"])
def test_steps_of_places_that_are_far_on(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADC_CACHE", "0")
    body, shape = formula(text, 2), (5,)
    with Builder() as builder:
        params = [builder.param(i, Type(DType.F64, shape)) for i in range(3)]
        plain = [params[0]] * len(body.results)
        results = [
            build.apply("recover", *plain, *params[1:], body=body, result=i, guards=0)
            for i in range(len(body.results))
        ]
        function = builder.function("f", params, results)
    arrays = [np.full(shape, np.nan), *(samples(DType.F64, shape, seed) for seed in (3, 4))]
    near = Executable(function, False, False)(arrays)
    for count, marks in ((2, 1), (3, 3)):

        def far(value: int, count: int = count, marks: int = marks) -> bytes:
            return (value << 2 | marks).to_bytes(count, "little")

        monkeypatch.setattr(formula_steps, "number", far)
        monkeypatch.setattr(formulas, "number", far)
        for one, other in zip(near, Executable(function, False, False)(arrays), strict=True):
            assert np.asarray(one).tobytes() == np.asarray(other).tobytes()


def test_programs_call_functions_that_are_there_once() -> None:
    module = Module("f")
    programs = Programs.of(module, DType.F64)
    lengths = [len(str(programs))]
    for text in ("exp %0", "exp %0; mul %1 %1; exp %2; div %3 %1", "exp %0; log %1", "exp %0"):
        programs.program(formula(f"{text} -> %{1 + text.count(';')}", 1), [0])
        lengths.append(len(str(programs)))
    first, second, third, fourth = np.diff(lengths)
    assert second < first / 5 < third
    assert fourth == 0
    assert Programs.of(module, DType.F64) is programs
    assert programs.name in str(module)


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


@pytest.mark.parametrize("word", FUNCTIONS)
@pytest.mark.parametrize("dtype", [DType.F64, DType.F32])
def test_compiled_functions_have_the_bits_of_the_interpreter(word: str, dtype: DType) -> None:
    names = " ".join(["%3", "%1"][: TABLE[word].operands])
    text = f"mul %0 %1; {word} {names}; mul %4 %2; select %4 %5 %0; div %5 %6 -> %5 %4 %6 %7"
    body, count, shape = formula(text, 3, dtype), 4, (61,)
    with Builder() as builder:
        params = [builder.param(i, Type(dtype, shape)) for i in range(4)]
        results = [
            build.apply("recover", *[params[0]] * count, *params[1:], body=body, result=i, guards=0)
            for i in range(count)
        ]
        function = builder.function("f", params, results)
    arrays = [samples(dtype, shape, seed) for seed in (3, 4, 5)]
    arrays = [np.where(np.isfinite(array), array, 2).astype(dtype.numpy) for array in arrays]
    lost = np.full(shape, np.nan, dtype.numpy)
    wanted = interpret(function, [lost, *arrays])
    assert any(np.isfinite(each).any() for each in wanted)
    for found, each in zip(Executable(function, False, False)([lost, *arrays]), wanted):
        np.testing.assert_array_equal(np.asarray(found), each)


# word, what NumPy calls it, ends of an interval
REFERENCES: list[tuple[str, Callable[..., Any], float, float]] = [
    *((name, getattr(np, name), -20.0, 20.0) for name in ("exp", "expm1", "exp2", "cbrt", "sinh")),
    *((name, getattr(np, name), -20.0, 20.0) for name in ("cosh", "tanh", "arctan", "arcsinh")),
    *((name, getattr(np, name), 0.0, 9.0) for name in ("log", "log1p", "log2", "log10", "sqrt")),
    *((name, getattr(np, name), -1.0, 1.0) for name in ("arcsin", "arccos", "arctanh", "sign")),
    *((name, getattr(np, name), 1.0, 9.0) for name in ("arccosh", "power", "hypot", "arctan2")),
    *((name, getattr(np, name), -9.0, 9.0) for name in ("logaddexp", "maximum", "minimum")),
    ("sigmoid", lambda x: 1 / (1 + np.exp(-x)), -9.0, 9.0),
    ("sigmoid_derivative", lambda x: 1 / (2 + np.exp(-x) + np.exp(x)), -9.0, 9.0),
    ("softplus", lambda x: np.logaddexp(0, x), -9.0, 9.0),
    ("log1mexp", lambda x: np.log1p(-np.exp(x)), -9.0, -0.5),
    ("exp_product", lambda x, y: np.exp(x * y), -3.0, 3.0),
    ("direction_cosine", lambda x, y: x / np.hypot(x, y), -3.0, 3.0),
]


@pytest.mark.parametrize(("word", "reference", "low", "high"), REFERENCES)
def test_functions_are_what_they_are_called(
    word: str, reference: Callable[..., Any], low: float, high: float
) -> None:
    random, count = np.random.default_rng(6), TABLE[word].operands or 0
    arrays = [random.uniform(low, high, 200) for _ in range(count)]
    names = " ".join(f"%{i}" for i in range(count))
    found = compute(*arrays, body=formula(f"{word} {names} -> %{count}", count), result=0)
    np.testing.assert_allclose(found, reference(*arrays), rtol=2e-14, atol=1e-16)


@pytest.mark.parametrize(
    ("text", "x", "wanted"),
    [
        ("exp %0; add %0 1.0; exp %2; div %1 %3 -> %4", 1e4, np.exp(-1)),
        ("exp %0; log %1 -> %2", 1e300, 1e300),
        # of a rounded product of large exponentials there is no digit
        ("exp %0; exp 1e30; div %1 %2; mul %3 %2; div %4 %1 -> %5", 1e300, np.nan),
        ("exp %0; div %1 %1 -> %2", 1e300, 1.0),
        ("mul %0 -3.0; exp %0; exp %1; mul %2 %0; add %4 %3; div %5 %2 -> %6", 1e200, 1e200),
        ("mul %0 %0; exp %0; exp %1; add %2 %3; div %2 %4; div %3 %4; sub %6 %5 -> %7", 1e300, 1.0),
        ("mul %0 %0; neg %1; exp %2; mul %3 3.0; mul %3 2.0; div %4 %5 -> %6", 1e300, 1.5),
        ("exp %0; exp 1e30; sqrt %1; mul %3 %3; lt %2 %4; div %4 %1; mul %5 %6 -> %7", 1e300, 1.0),
        ("exp %0; sub %1 1.0; div 1.0 %2 -> %3", 1e300, 0.0),
        ("neg %0; exp %1; sub 1.0 %2 -> %3", 1e300, 1.0),
        ("mul %0 %0; exp %1; mul %2 %2; log %3; sqrt %4; div %5 %0 -> %6", 1e100, np.sqrt(2)),
        ("log %0; add %0 %1 -> %2", -1.0, np.nan),
        ("sub %0 %0; log %1 -> %2", 3.0, -np.inf),
        # of the exponential of an exponential only the size is known, which is above the latter
        ("exp %0; exp %1; sub %2 %1 -> %3", 1e300, np.inf),
        ("exp %0; exp %1; sqrt %2; sub %3 %1 -> %4", 1e300, np.inf),
        ("exp %0; exp %1; div %1 %2; add %3 1.0 -> %4", 1e300, 1.0),
        ("exp %0; exp %1; sqrt %2; div %2 %3; add %4 1.0 -> %5", 1e300, np.nan),
    ],
)
def test_exponentials_of_large_numbers(text: str, x: float, wanted: float) -> None:
    found = compute(np.array([x]), body=formula(text, 1), result=0)
    np.testing.assert_allclose(found, [wanted], rtol=1e-12)


def test_exponentials_of_exponentials_have_the_bits_of_the_interpreter() -> None:
    text = "mul %0 %0; exp %1; exp %2; sqrt %3; sub %4 %2; div %2 %3; div %3 %4; mul %7 %6"
    body = formula(f"{text}; sub %6 1.0; lt %2 %4; add %10 %3 -> %5 %6 %7 %8 %9 %10 %11", 1)
    count, x = len(body.results), np.array([1e154, -1e100, 800.0, -27.0, 3.0, 0.5, 1e5])
    with Builder() as builder:
        given = [builder.param(i, Type(DType.F64, x.shape)) for i in range(2)]
        results = [
            build.apply("recover", *[given[0]] * count, given[1], body=body, result=i, guards=0)
            for i in range(count)
        ]
        function = builder.function("f", given, results)
    arrays = [np.full(x.shape, np.nan), x]
    wanted = interpret(function, arrays)
    for found, each in zip(Executable(function, False, False)(arrays), wanted, strict=True):
        np.testing.assert_array_equal(np.asarray(found), each)


def test_few_values_are_watched() -> None:
    # a root halves the exponent, so that only one operand of the quotient must be moderate
    steps = steps_of(formula("sqrt %1; div %0 %2 -> %3", 2)).steps
    assert watched(steps, 2, DType.F64) == ((0,), ())
    # a sum of moderate numbers neither overflows nor loses a bit by underflow
    steps = steps_of(formula("add %0 %1; mul %2 2.0 -> %3", 2)).steps
    assert watched(steps, 2, DType.F64) == ((0, 1), ())


def test_an_object_has_a_function_for_formulas_of_its_own() -> None:
    text = lower(function_of(FORMULAS[1], DType.F64, (9,)), "f")
    assert machine_code(text, exported=["f"]).called == ()


def test_a_whole_power_is_made_of_products() -> None:
    function = function_of("power %0 5.0; div %2 %1 -> %3", DType.F64, ())
    arrays = [np.float64(1e100), np.float64(1e300)]
    for found in (*interpret(function, arrays), *Executable(function, False, False)(arrays)):
        np.testing.assert_allclose(found, 1e200, rtol=1e-14)


@pytest.mark.parametrize(
    ("body", "result", "message"),
    [
        (formula("mul %0 %1 -> %2", 2), 0, "1 operands for 2 of the formula"),
        (formula("exp %0 -> %1", 1), 0, "no step of these formulas: exp"),
        (formula("mul %0 %0 -> %1", 1, DType.F32), 0, r"a formula of f64 has no f32"),
        (formula("mul %0 %0 -> %1", 1), 1, "a result that is not there"),
        (formula("mul %0 %0 -> %1", 1), -1, "a result that is not there"),
    ],
)
def test_what_is_no_formula_is_refused(body: Function, result: int, message: str) -> None:
    with Builder() as builder:
        x = builder.param(0, Type(DType.F64, (3,)))
        with pytest.raises(DTypeError, match=message):
            build.apply("unbounded", x, body=body, result=result)


def test_a_condition_is_no_result_of_a_formula() -> None:
    with Builder() as inner:
        x = inner.param(0, Type(DType.F64))
        body = inner.function("formula", [x], [build.lt(x, 1.0)])
    with Builder() as builder:
        x = builder.param(0, Type(DType.F64, (3,)))
        with pytest.raises(DTypeError, match="a result that is no number"):
            build.apply("recover", x, x, body=body, result=0, guards=0)


def test_formulas_are_printed_as_functions_and_read_back() -> None:
    function = function_of(FORMULAS[1], DType.F64, (9,))
    text = str(function)
    assert text.count("func ") == 2, "one body for all results"
    assert parse_function(text) == function


# A condition of what is no number is none; these are what a formula decides by.
NO_CONDITION = {"lt", "le"}
# Where formulas are not what NumPy computes but what is meant: nothing leaves the range on the way,
# and no number has a power of infinity.
BY_MEANING = {"direction_cosine", "power"}


@pytest.mark.parametrize("word", sorted(FUNCTIONS.keys() - CONDITIONS.keys() - BY_MEANING))
@pytest.mark.parametrize("dtype", [DType.F64, DType.F32])
def test_functions_at_special_values(word: str, dtype: DType) -> None:
    limits, count = np.finfo(dtype.numpy), TABLE[word].operands
    sizes = [0.0, limits.smallest_subnormal, limits.tiny, 1e-3, 0.5, 1 - limits.epsneg, 1.0,
             1 + limits.eps, 1.5, 2.0, 3.0, 100.0, limits.max, np.inf]  # fmt: skip
    points = np.array([np.copysign(x, s) for x in sizes for s in (1, -1)] + [np.nan], dtype.numpy)
    arrays = [points] if count == 1 else [x.ravel() for x in np.meshgrid(points, points)]
    names = " ".join(f"%{i}" for i in range(count))
    body = formula(f"{word} {names} -> %{count}", count, dtype)
    with Builder() as builder:
        params = [builder.param(i, Type(dtype, arrays[0].shape)) for i in range(count)]
        plain = build.cast(build.apply(word, *params), dtype)
        function = builder.function("f", params, [plain])
    with np.errstate(all="ignore"):
        (wanted,) = interpret(function, arrays)
    found = compute(*arrays, body=body, result=0)
    if word in NO_CONDITION:
        wanted = np.where(np.isnan(arrays[0]) | np.isnan(arrays[1]), np.nan, wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-9 if dtype is DType.F64 else 3e-3)
    known = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found)[known], np.signbit(wanted)[known])


@pytest.mark.parametrize(
    ("x", "y", "wanted"),
    [(-0.0, 0.5, 0.0), (0.0, 0.3, 0.0), (-0.0, 3.0, -0.0), (-0.0, -1.0, -np.inf),
     (0.0, -0.5, np.inf), (-2.0, 3.0, -8.0), (-2.0, 0.5, np.nan), (np.nan, 0.0, 1.0)],
)  # fmt: skip
def test_powers_of_zeros(x: float, y: float, wanted: float) -> None:
    for body, given in ((formula("power %0 %1 -> %2", 2), [x, y]),
                        (formula(f"power %0 {y} -> %1", 1), [x])):  # fmt: skip
        found = compute(*map(np.float64, given), body=body, result=0)
        np.testing.assert_allclose(found, wanted, rtol=1e-13)
        if not np.isnan(wanted):
            assert np.signbit(found) == np.signbit(wanted)


def test_a_root_of_what_underflows_to_minus_zero_is_that() -> None:
    function = function_of("mul %0 %1; sqrt %2 -> %3", DType.F64, ())
    for found in (
        interpret(function, [np.float64(-5e-324), np.float64(0.5)]),
        Executable(function, False, False)([np.float64(-5e-324), np.float64(0.5)]),
    ):
        assert str(float(np.asarray(found[0]))) == "-0.0"


def test_no_pole_replaces_what_is_no_number() -> None:
    # exp(710) * 0 is nan, and no -inf although the product without bound is 0
    body = formula("exp %0; mul %2 %1; log %3 -> %4", 2)
    with Builder() as builder:
        params = [builder.param(i, Type(DType.F64, ())) for i in range(3)]
        made = build.apply("recover", *params, body=body, result=0, guards=0)
        function = builder.function("f", params, [made])
    arguments = [np.float64(np.nan), np.float64(710.0), np.float64(0.0)]
    assert np.isnan(interpret(function, arguments)[0])
    assert np.isnan(np.asarray(Executable(function, False, False)(arguments)[0]))


@pytest.mark.parametrize("dtype", [DType.F64, DType.F32])
@pytest.mark.parametrize("shape", [(), (9,)], ids=str)
@pytest.mark.parametrize(
    "text",
    [
        "mul %0 LARGE; div LARGE %2 -> %3",
        "mul %0 SMALL; div %2 SMALL; mul %3 %1 -> %4",
        "power %0 12.0; mul %2 %1; div %3 %2 -> %4",
        "power %0 7.0; power %0 6.0; div %2 %3 -> %4",
        "add %0 LARGE; add %2 LARGE; div %3 LARGE -> %4",
    ],
)
def test_what_a_constant_takes_out_of_the_range(
    text: str, shape: tuple[int, ...], dtype: DType
) -> None:
    """However moderate the operands are, which are all that is asked of mostly."""
    info = np.finfo(dtype.numpy)
    large, small = repr(float(info.max) / 2), repr(float(info.tiny) * 4)
    function = function_of(text.replace("LARGE", large).replace("SMALL", small), dtype, shape)
    for size in (2.0, -3.0, 0.5, 1e-5, 1e9, -1e-9, 0.0, -0.0, np.inf, np.nan, 1e30, 1e-30, 1e120):
        with np.errstate(over="ignore"):
            arrays = [np.full(shape, size).astype(dtype.numpy)] * 2
        (wanted,) = interpret(function, arrays)
        found = np.asarray(Executable(function, False, False)(arrays)[0])
        np.testing.assert_array_equal(found, wanted)
