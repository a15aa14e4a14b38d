"""What a machine has no instructions for: functions of the module's own, to the same bits."""

from __future__ import annotations

import ctypes
import os
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gradc_codegen.lower.lower import lower
from gradc_codegen.machine.jit import compile_module
from gradc_codegen.machine.machine_code import machine_code
from gradc_codegen.math.emulation import PRODUCT_OF_WORDS, emulated, provided
from gradc_codegen.target.target import Target, has_instruction, host, target
from gradc_codegen.text.module import REGISTER, suffix
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.graph import Function
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import ExportError
from gradc_ir.meaning import functions
from tests.comparing import assert_same_bits
from tools.math_loops import apply, loop_text, run

Array = NDArray[Any]

LINUX = "x86_64-unknown-linux-gnu"
OPERANDS = {"fma": 3, "floor": 1, "maximum": 2, "minimum": 2}
each_dtype = pytest.mark.parametrize("dtype", [DType.F64, DType.F32])
on_x86 = pytest.mark.skipif(os.uname().machine != "x86_64", reason="names CPUs of x86-64")


def text_of(name: str, dtype: DType, lanes: int) -> str:
    """Return the module of a loop that calls an intrinsic."""
    type_ = REGISTER[dtype] if lanes == 1 else f"<{lanes} x {REGISTER[dtype]}>"
    full, operands = f"@llvm.{name}.{suffix(dtype, lanes)}", OPERANDS[name]
    declaration = f"declare {type_} {full}({', '.join([type_] * operands)})"
    return f"{declaration}\n{loop_text(full, dtype, lanes, operands)}"


def own(name: str, *operands: Array, lanes: int = 8) -> Array:
    """Return what the functions that take an intrinsic's place make of arrays."""
    dtype = DType.F64 if operands[0].dtype == np.float64 else DType.F32
    text = emulated(text_of(name, dtype, lanes), {(name, dtype)})
    assert "@llvm." + name not in text
    return run(compile_module(text), *operands, lanes=lanes)


def numbers(random: np.random.Generator, dtype: DType, count: int) -> Array:
    """Return any bits, few bits of any exponent, neighbours of 1, subnormals, special numbers."""
    kind, limits = dtype.numpy.type, np.finfo(dtype.numpy)
    bits = np.dtype(f"u{dtype.numpy.itemsize}")
    any_bits = random.integers(0, np.iinfo(bits).max, count, bits, True).view(kind)
    exponents = random.integers(limits.minexp - limits.nmant, limits.maxexp - 4, count)
    few = (random.integers(1, 16, count) * 2.0**exponents).astype(kind)
    near = (1 + random.integers(-4, 5, count) * limits.eps).astype(kind)
    low = random.integers(0, 1 << random.integers(1, limits.nmant, count)).astype(bits).view(kind)
    special = [0, 1, np.inf, np.nan, limits.smallest_subnormal, limits.tiny, limits.max, limits.eps]
    found = np.concatenate(
        [any_bits, few, near, low, random.choice(np.array(special, kind), count)]
    )
    random.shuffle(found)
    return np.copysign(found, random.choice(np.array([-1, 1], kind), len(found)))


def operands_of_fma(dtype: DType, count: int) -> tuple[Array, Array, Array]:
    """Return numbers whose products cancel, are ties, or end up next to the smallest numbers."""
    random, limits = np.random.default_rng(3), np.finfo(dtype.numpy)
    x, y, z = (numbers(random, dtype, count) for _ in range(3))
    kind, third = dtype.numpy.type, len(x) // 3
    with np.errstate(all="ignore"):
        product = x[:third] * y[:third]
        factors = [-1, -1, -1 - limits.eps, 2.0 ** (limits.nmant + 1), limits.eps / 2, -0.5]
        z[:third] = product * random.choice(np.array(factors, kind), third)
        # products that are a few times half of the smallest number, or a bit more or less than it
        exponent = random.integers(limits.minexp, 0, third)
        x[-third:] = np.ldexp(random.integers(1, 64, third), exponent).astype(kind)
        rest = np.ldexp(1.0, limits.minexp - limits.nmant - exponent + random.integers(-8, 2))
        y[-third:] = (rest * (1 + random.integers(-1, 2, third) * limits.eps)).astype(kind)
    return x, y, z


def exact_fma(x: float, y: float, z: float, dtype: DType) -> float:
    """Return x * y + z of finite numbers, rounded once, by integers."""
    limits = np.finfo(dtype.numpy)
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    if exact == 0:
        with np.errstate(under="ignore"):
            return float(dtype.numpy.type(x) * dtype.numpy.type(y) + dtype.numpy.type(z))
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    unit = Fraction(2) ** (max(exponent, int(limits.minexp)) - int(limits.nmant))
    rounded = round(size / unit) * unit  # ties to even
    result = float(rounded) if rounded <= Fraction(float(limits.max)) else np.inf
    return result if exact > 0 else -result


@each_dtype
def test_fma_is_rounded_once(dtype: DType) -> None:
    x, y, z = operands_of_fma(dtype, 1_000)
    finite = np.isfinite(x) & np.isfinite(y) & np.isfinite(z)
    given = (x[finite], y[finite], z[finite])
    want = [exact_fma(*map(float, one), dtype) for one in zip(*given)]
    assert_same_bits(own("fma", *given), np.array(want, dtype.numpy))


@each_dtype
@pytest.mark.skipif(
    not has_instruction(host(), "fma", 3, DType.F64), reason="this machine has no fma"
)
def test_fma_has_the_bits_of_the_machines_own(dtype: DType) -> None:
    operands = operands_of_fma(dtype, 40_000)
    want = run(compile_module(text_of("fma", dtype, 8)), *operands)
    for lanes in (1, 8, 16):
        assert_same_bits(own("fma", *operands, lanes=lanes), want)


@each_dtype
def test_floor_of_all_kinds_of_numbers(dtype: DType) -> None:
    random = np.random.default_rng(0)
    halves = (random.integers(-99, 99, 1_000) / 2).astype(dtype.numpy)
    x = np.concatenate([numbers(random, dtype, 2_000), halves])
    for lanes in (1, 8):
        assert_same_bits(own("floor", x, lanes=lanes), np.floor(x))


@on_x86
@each_dtype
@pytest.mark.parametrize("word", ["math.exp", "math.pow", "math.sin"])
def test_math_functions_have_the_same_bits_without_fma(word: str, dtype: DType) -> None:
    random = np.random.default_rng(1)
    operands = [
        np.concatenate([numbers(random, dtype, 200), random.uniform(-9, 9, 500)])
        for _ in range(2 if word == "math.pow" else 1)
    ]
    operands = [x.astype(dtype.numpy) for x in operands]
    assert_same_bits(apply(word, *operands, cpu="x86-64"), apply(word, *operands))


def test_what_machines_have() -> None:
    def has(name: str, cpu: str | None, triple: str, dtype: DType = DType.F64) -> bool:
        return has_instruction(target(cpu, triple), name, OPERANDS[name], dtype)

    assert [has("fma", cpu, LINUX) for cpu in ("x86-64", "x86-64-v2", None)] == [False, False, True]
    assert [has("floor", cpu, LINUX) for cpu in ("x86-64", "x86-64-v2")] == [False, True]
    for triple in ("aarch64-unknown-linux-gnu", "riscv64-unknown-linux-gnu"):
        assert has("fma", None, triple)
        assert has("floor", None, triple)
    for dtype in (DType.F64, DType.F32):
        assert not has("fma", None, "wasm32-unknown-unknown", dtype)
        assert has("fma", "cortex-m4", "thumbv7em-none-eabihf", dtype) is (dtype is DType.F32)


@pytest.mark.parametrize(
    ("name", "operands", "feature"),
    [("fma", 3, "+fma"), ("floor", 1, "+sse4.1"), ("sqrt", 1, "+sse2")],
)
def test_named_features_of_x86_tell_what_trying_would(
    name: str, operands: int, feature: str
) -> None:
    for told in (feature, ""):
        for dtype in (DType.F64, DType.F32):
            assert has_instruction(Target(LINUX, "x86-64-v3", told), name, operands, dtype)


def test_fma_is_emulated_only_when_it_may_be() -> None:
    text = text_of("fma", DType.F64, 1)
    assert "vfmadd" in machine_code(text, "x86-64-v3", LINUX).assembly()
    assert provided(text, target("x86-64-v3", LINUX), emulate=False) == text
    with pytest.raises(ExportError, match=r'x86-64 has no fused.*\n.*\n  help: fma="emulate"'):
        machine_code(text, "x86-64", LINUX).object()
    assembly = machine_code(text, "x86-64", LINUX, emulate=True).assembly()
    assert "gradc.fma.f64" in assembly
    assert provided(text, Target(LINUX, "x86-64")).count("declare double @llvm.copysign.f64") == 1


def test_floor_is_emulated_without_asking() -> None:
    assembly = machine_code(text_of("floor", DType.F32, 8), "x86-64", LINUX).assembly()
    assert "floorf" not in assembly
    assert "roundps" in machine_code(text_of("floor", DType.F32, 8), "x86-64-v2", LINUX).assembly()


@each_dtype
@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_the_larger_and_the_smaller_of_two(name: str, dtype: DType) -> None:
    random = np.random.default_rng(5)
    x, y = (numbers(random, dtype, 2000) for _ in range(2))
    y[::7] = x[::7]
    x[:4], y[:4] = [0.0, -0.0, 0.0, -0.0], [-0.0, 0.0, 0.0, -0.0]
    reference = getattr(functions, name)
    for lanes in (1, 8):
        assert_same_bits(own(name, x, y, lanes=lanes), reference(x, y))


def test_a_product_of_128_bits_by_words() -> None:
    text = PRODUCT_OF_WORDS.replace("internal ", "").replace("@gradc.product", "@product")
    text += """
define void @wide(i64 %x, i64 %y, ptr %out) {
  %a = zext i64 %x to i128
  %b = zext i64 %y to i128
  %p = call i128 @product(i128 %a, i128 %b)
  store i128 %p, ptr %out
  ret void
}
"""
    code = compile_module(text)
    types = [ctypes.c_uint64, ctypes.c_uint64, ctypes.c_void_p]
    wide = ctypes.CFUNCTYPE(None, *types)(code.address("wide"))
    random = np.random.default_rng(7)
    top = 2**64 - 1
    pairs = [(0, 5), (top, top), (2**32, 2**32), (2**32 - 1, top), (1, top)]
    pairs += random.integers(0, top, (500, 2), np.uint64, endpoint=True).tolist()
    for x, y in pairs:
        out = (ctypes.c_uint64 * 2)()
        wide(x, y, ctypes.addressof(out))
        assert out[0] + (out[1] << 64) == x * y


def test_no_machine_asks_for_a_product_of_128_bits() -> None:
    text = lower(sine(), "f")
    assert " = mul i128 " in text
    for triple in ("wasm32-unknown-unknown", "armv7-unknown-linux-gnueabihf"):
        assert b"__multi3" not in machine_code(text, triple=triple, emulate=True).object()
    assert " = mul i128 " in provided(text, target(None, LINUX))


def sine() -> Function:
    with Builder() as builder:
        x = builder.param(0, Type(DType.F64, (8,)))
        return builder.function("f", [x], [build.elementwise("sin", x)], ["x"])
