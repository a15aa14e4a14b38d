"""Doubles by integers: every function against the processor, over bits of all kinds."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from gradc_codegen.machine.jit import LoadedModule, compile_module
from gradc_codegen.math.emitted.function_text import text_of
from gradc_codegen.math.soft_double import NAMES, soft_double_text, soft_square_root
from gradc_codegen.text.module import vector_type
from gradc_ir.core.types import DType

_COUNT = 4000
_EDGES = np.array(
    [0x0, 0x1, 0x2, 0xFFFFFFFFFFFFF, 0x10000000000000, 0x10000000000001, 0x3FEFFFFFFFFFFFFF,
     0x3FF0000000000000, 0x3FF0000000000001, 0x4330000000000000, 0x43DFFFFFFFFFFFFF,
     0x43E0000000000000, 0x43EFFFFFFFFFFFFF, 0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000,
     0x7FF8000000000000, 0x3690000000000000, 0x36A0000000000000, 0x380FFFFFFFFFFFFF,
     0x47EFFFFFF0000000, 0x47EFFFFFEFFFFFFF], np.uint64,
)  # fmt: skip


@pytest.fixture(scope="module")
def module() -> LoadedModule:
    text = soft_double_text(NAMES, "ccc").replace("weak hidden ", "")
    return compile_module(text)


def bits(seed: int) -> Any:
    """Return bits of numbers: any, near each other in size, and of the edges."""
    random = np.random.default_rng(seed)
    every = random.integers(0, 2**64, _COUNT, np.uint64, endpoint=False)
    close = (random.normal(size=_COUNT) * 2.0 ** random.integers(-60, 60, _COUNT)).view(np.uint64)
    tiny = random.integers(0, 2**54, _COUNT // 4, np.uint64)
    whole = random.integers(-(2**40), 2**40, _COUNT // 4).astype(np.float64).view(np.uint64)
    edges = np.concatenate([_EDGES, _EDGES | np.uint64(1 << 63)])
    return np.concatenate([every, close, tiny, whole, np.repeat(edges, len(edges))])


def other(seed: int) -> Any:
    edges = np.concatenate([_EDGES, _EDGES | np.uint64(1 << 63)])
    found = np.random.default_rng(seed).permutation(bits(seed))
    found[-(len(edges) ** 2) :] = np.tile(edges, len(edges))
    return found


def called(module: LoadedModule, name: str, result: Any, *columns: Any) -> Any:
    kinds = {8: ctypes.c_uint64, 4: ctypes.c_uint32}
    types = [kinds[column.itemsize] for column in columns]
    call = ctypes.CFUNCTYPE(kinds[np.dtype(result).itemsize], *types)(module.address(name))
    rows = zip(*(column.tolist() for column in columns))
    return np.array([call(*row) for row in rows], f"u{np.dtype(result).itemsize}").view(result)


def same(found: Any, wanted: Any) -> None:
    kind = f"u{found.itemsize}"
    equal = (found.view(kind) == wanted.view(kind)) | (np.isnan(found) & np.isnan(wanted))
    assert equal.all(), np.flatnonzero(~equal)[:5]


OPS = {"dadd": np.add, "dsub": np.subtract, "dmul": np.multiply, "ddiv": np.divide}
RELATIONS = {
    "dcmpeq": np.equal,
    "dcmplt": np.less,
    "dcmple": np.less_equal,
    "dcmpge": np.greater_equal,
    "dcmpgt": np.greater,
    "dcmpun": lambda x, y: np.isnan(x) | np.isnan(y),
}


@pytest.mark.parametrize("name", OPS)
def test_arithmetic(name: str, module: LoadedModule) -> None:
    x, y = bits(1), other(1)
    with np.errstate(all="ignore"):
        wanted = OPS[name](x.view(np.float64), y.view(np.float64))
    same(called(module, f"__aeabi_{name}", np.float64, x, y), wanted)


@pytest.mark.parametrize("name", RELATIONS)
def test_comparisons(name: str, module: LoadedModule) -> None:
    x, y = bits(2), other(2)
    y[::3] = x[::3]
    wanted = RELATIONS[name](x.view(np.float64), y.view(np.float64))
    found = called(module, f"__aeabi_{name}", np.int32, x, y)
    assert np.array_equal(found, wanted.astype(np.int32))


def test_floats(module: LoadedModule) -> None:
    x = bits(3)
    middle = np.random.default_rng(3).integers(0, 2**32, _COUNT).astype(np.uint32)
    between = middle.view(np.float32).astype(np.float64).view(np.uint64)
    x = np.concatenate([x, between, between | np.uint64(1 << 28), between + np.uint64(1 << 28) - 1])
    with np.errstate(all="ignore"):
        wanted = x.view(np.float64).astype(np.float32)
    same(called(module, "__aeabi_d2f", np.float32, x), wanted)
    same(
        called(module, "__aeabi_f2d", np.float64, middle),
        middle.view(np.float32).astype(np.float64),
    )


def test_integers(module: LoadedModule) -> None:
    random = np.random.default_rng(4)
    n = random.integers(-(2**63), 2**63 - 1, _COUNT) >> random.integers(0, 64, _COUNT)
    n = np.concatenate([n, [0, 1, -1, 2**63 - 1, -(2**63), 2**53 + 1, -(2**53) - 1]])
    same(called(module, "__aeabi_l2d", np.float64, n.view(np.uint64)), n.astype(np.float64))
    u = n.view(np.uint64)
    same(called(module, "__aeabi_ul2d", np.float64, u), u.astype(np.float64))
    short = n.astype(np.int32)
    same(called(module, "__aeabi_i2d", np.float64, short.view(np.uint32)), short.astype(np.float64))
    same(called(module, "__aeabi_ui2d", np.float64, short.view(np.uint32)),
         short.view(np.uint32).astype(np.float64))  # fmt: skip
    x = bits(5)
    numbers = x.view(np.float64)
    for name, kind, least, most in (
        ("d2lz", np.int64, -(2.0**63), 2.0**63),
        ("d2ulz", np.uint64, -1.0, 2.0**64),
        ("d2iz", np.int32, -(2.0**31) - 1, 2.0**31),
        ("d2uiz", np.uint32, -1.0, 2.0**32),
    ):
        inside = (numbers < most) & (numbers >= least if name == "d2lz" else numbers > least)
        wanted = numbers[inside].astype(kind)
        assert np.array_equal(called(module, f"__aeabi_{name}", kind, x[inside]), wanted), name


@pytest.mark.parametrize("lanes", [1, 4])
def test_square_roots(lanes: int) -> None:
    text, declarations = text_of("@root", soft_square_root, DType.F64, 1, lanes)
    kind = vector_type("double", lanes)
    call = f"""
define void @roots(ptr %x) {{
  %given = load {kind}, ptr %x, align 8
  %found = call {kind} @root({kind} %given)
  store {kind} %found, ptr %x, align 8
  ret void
}}"""
    module = compile_module("\n".join([text, call, *declarations]))
    found = bits(6)
    with np.errstate(all="ignore"):
        wanted = np.sqrt(found.view(np.float64))
    roots = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(module.address("roots"))
    for at in range(0, len(found) // lanes * lanes, lanes):
        roots(found.ctypes.data + 8 * at)
    end = len(found) // lanes * lanes
    same(found[:end].view(np.float64), wanted[:end])


def test_only_what_is_asked_for_is_there() -> None:
    text = soft_double_text(["__aeabi_dsub"])
    assert text.count("define weak hidden arm_aapcscc") == 2
    assert "@__aeabi_dmul" not in text
