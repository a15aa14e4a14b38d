"""The emitted math functions on vectors: each lane has the bits of the function of one number."""

from __future__ import annotations

import ctypes
import platform
import re

import numpy as np
import pytest

from gradc_codegen.math.emitted.function_text import text_of
from gradc_codegen.math.emitted.table import DEFINITIONS, operands_of
from gradc_codegen.math.functions import reference
from gradc_codegen.target.target import target
from gradc_codegen.text.module import Machine, Module
from gradc_ir.core.types import DType
from tests.comparing import assert_same_bits
from tools.math_loops import apply, emitted_loop, run

each_word = pytest.mark.parametrize("word", DEFINITIONS)
each_dtype = pytest.mark.parametrize(
    "dtype", [DType.F64, pytest.param(DType.F32, marks=pytest.mark.slow)]
)


def arguments(word: str, dtype: DType, count: int = 997) -> list[np.ndarray]:
    """Return operands: of any bits, of ordinary size, whole numbers, special ones in all pairs."""
    random = np.random.default_rng(0)
    bits = np.dtype(f"u{dtype.numpy.itemsize}")
    limits = np.finfo(dtype.numpy)
    special = [0.0, 1.0, 2.0, 0.5, 3.0, np.inf, np.nan, limits.max, limits.smallest_subnormal]
    special += [-x for x in special]
    operands = operands_of(word)
    found = []
    for k in range(operands):
        any_bits = random.integers(0, np.iinfo(bits).max, count, bits, True).view(dtype.numpy)
        ordinary = random.uniform(-9, 9, count).astype(dtype.numpy)
        tuples = np.meshgrid(*[special] * operands)[k].reshape(-1).astype(dtype.numpy)
        beside_whole = random.uniform(-9, 9, count).astype(dtype.numpy)
        beside_whole = np.rint(beside_whole) if k else beside_whole
        found.append(np.concatenate([any_bits, ordinary, beside_whole, tuples]))
    return found


@each_word
@each_dtype
def test_lanes_have_the_bits_of_one_number(word: str, dtype: DType) -> None:
    operands = arguments(word, dtype)
    alone = apply(word, *operands, lanes=1)
    for lanes in (8, 16):
        assert_same_bits(apply(word, *operands, lanes=lanes), alone)


FE_UNDERFLOW = {"x86_64": 0x10, "aarch64": 0x08}


@pytest.mark.skipif(platform.machine() not in FE_UNDERFLOW, reason="names its flags otherwise")
@pytest.mark.parametrize("cpu", ["native", None], ids=["native", "baseline"])
@each_dtype
@pytest.mark.parametrize(
    "name",
    ["exp", "exp2", "expm1", "pow", "exp_product", "sigmoid", "sigmoid_derivative", "tanh",
     "softplus", "logaddexp", "log1mexp", "erfc", "ndtr", "log_ndtr"],
)  # fmt: skip
def test_what_vanishes_does_not_underflow(name: str, dtype: DType, cpu: str | None) -> None:
    # arithmetic that underflows takes a hundred cycles
    x = np.repeat([-np.inf, -1e30, -3000.0, -60.0, 0.0, 60.0, 3000.0, 1e30, np.inf], 16).astype(
        dtype.numpy
    )
    operands = {"pow": [abs(x), np.ones_like(x)], "logaddexp": [x, np.ones_like(x)],
                "exp_product": [x, np.ones_like(x)], "log1mexp": [-abs(x)]}  # fmt: skip
    code = emitted_loop(f"math.{name}", dtype, 16, cpu or str(target().cpu))
    library = ctypes.CDLL(None)
    library.feclearexcept(FE_UNDERFLOW[platform.machine()])
    run(code, *operands.get(name, [x]), lanes=16)
    assert library.fetestexcept(FE_UNDERFLOW[platform.machine()]) == 0


@pytest.mark.parametrize("name", ["sin", "cos"])
@each_dtype
@pytest.mark.parametrize("lanes", [1, 8, 16])
def test_a_sine_beside_a_cosine_has_the_bits_of_one_alone(
    name: str, dtype: DType, lanes: int
) -> None:
    (x,) = arguments(f"math.{name}", dtype)
    multiples = np.arange(-400, 400) * (np.pi / 4)
    x = np.concatenate([x, multiples.astype(dtype.numpy), (x * 1e4).astype(dtype.numpy)])
    beside = {"sin": "math.sin_beside_cos", "cos": "math.cos_beside_sin"}[name]
    assert_same_bits(apply(beside, x, lanes=lanes), apply(f"math.{name}", x, lanes=lanes))


@each_dtype
@pytest.mark.parametrize(("wide", "permutes"), [(False, False), (False, True), (True, True)])
def test_constants_of_a_quadrant_are_permuted_where_a_machine_does(
    dtype: DType, wide: bool, permutes: bool
) -> None:
    machine = Machine(is_wide=wide, permutes=permutes)
    for lanes in (1, 16):
        text, _ = text_of("@f", DEFINITIONS["math.sin"], dtype, 1, lanes, machine)
        own = text.rpartition("define ")[2]
        assert ("vpermilvar" in own or "permvar" in own) == (permutes and lanes > 1)
        assert ("x86.avx512" in own) == (wide and lanes > 1)


@each_word
def test_branches_depend_on_settled_numbers_only(word: str) -> None:
    text, _ = text_of("@f", DEFINITIONS[word], DType.F64, operands_of(word), lanes=8)
    own = text.rpartition("define ")[2]
    if "br i1" in own:
        unsettled = re.findall(r"^(?!.*freeze).*%x\d", own.partition("\n")[2], re.MULTILINE)
        assert unsettled == []


@pytest.mark.parametrize("word", ["math.exp", "math.exp2", "math.expm1"])
@each_dtype
def test_wide_machines_scale_vectors_in_one_instruction(word: str, dtype: DType) -> None:
    for wide in (False, True):
        module = Module("m", Machine(is_wide=wide))
        reference(module, word, dtype, 64 // dtype.bytes)
        assert ("avx512.mask.scalef" in str(module)) == wide
        assert ("br i1" in str(module)) != wide
    # one number, and vectors that fill no register, do as everywhere
    for lanes in (1, 2):
        text, _ = text_of("@f", DEFINITIONS[word], dtype, 1, lanes, Machine(is_wide=True))
        assert "avx512" not in text


def test_text_of_lanes_has_vectors_and_literals_in_every_lane() -> None:
    text, declarations = text_of("@f", lambda x: (x + 1.0).at_least(0.0), DType.F64, lanes=8)
    assert text == (
        "define internal <8 x double> @f(<8 x double> %x0) {\n"
        "  %v0 = fadd <8 x double> %x0, splat (double 0x3FF0000000000000)\n"
        "  %v1 = fcmp olt <8 x double> %v0, splat (double 0x0000000000000000)\n"
        "  %v2 = select <8 x i1> %v1, <8 x double> splat (double 0x0000000000000000), "
        "<8 x double> %v0\n"
        "  ret <8 x double> %v2\n"
        "}"
    )
    assert declarations == []
    _, declarations = text_of("@f", lambda x: abs(x), DType.F32, lanes=16)
    assert declarations == ["declare <16 x float> @llvm.fabs.v16f32(<16 x float>)"]
