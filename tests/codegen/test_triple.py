"""The names of targets: read as they are meant, or refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gradc
from gradc_codegen.machine.helpers import helpers_in
from gradc_codegen.machine.machine_code import machine_code
from gradc_codegen.target.target import target
from gradc_codegen.target.triple import normalised
from gradc_ir.errors import ExportError

ELF, COFF, MACHO, WASM = b"\x7fELF", b"\x64\x86", b"\xcf\xfa\xed\xfe", b"\0asm"


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("x86_64-unknown-linux-gnu", "x86_64-unknown-linux-gnu"),
        ("x86_64-linux-gnu", "x86_64-unknown-linux-gnu"),
        ("x86_64-linux", "x86_64-unknown-linux"),
        ("aarch64-poky-linux", "aarch64-poky-linux"),
        ("riscv64-linux", "riscv64-unknown-linux"),
        ("x86_64-windows-gnu", "x86_64-unknown-windows-gnu"),
        ("x86_64-w64-mingw32", "x86_64-w64-windows-gnu"),
        ("x86_64-pc-windows", "x86_64-pc-windows-msvc"),
        ("aarch64-pc-windows-msvc", "aarch64-pc-windows-msvc"),
        ("aarch64-apple-darwin", "aarch64-apple-darwin"),
        ("arm64-apple-ios14.0-simulator", "arm64-apple-ios14.0-simulator"),
        ("aarch64-linux-android21", "aarch64-unknown-linux-android21"),
        ("armv7-unknown-linux-gnueabihf", "armv7-unknown-linux-gnueabihf"),
        ("thumbv7em-none-eabihf", "thumbv7em-unknown-none-eabihf"),
        ("arm-none-eabi", "arm-unknown-none-eabi"),
        ("wasm32", "wasm32-unknown-unknown"),
        ("wasm32-wasi", "wasm32-unknown-wasi"),
        ("amd64-unknown-freebsd14", "x86_64-unknown-freebsd14"),
    ],
)
def test_parts_are_put_in_order(given: str, meant: str) -> None:
    assert normalised(given) == meant
    assert normalised(meant) == meant


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ("nvptx64-nvidia-cuda", "no kernels are written for 'nvptx64'"),
        ("amdgcn-amd-amdhsa", "no kernels are written for 'amdgcn'"),
        ("pdp11", "no kernels are written for 'pdp11'"),
        ("x86_64-widows-gnu", "no system is called 'widows'"),
        ("x86_64-pc-linux-gnu-gnuu", "no system is called 'gnuu'"),
        ("", "no kernels are written for ''"),
    ],
)
def test_what_is_refused(given: str, match: str) -> None:
    with pytest.raises(ExportError, match=match) as error:
        target(None, given)
    assert "help: " in str(error.value)


def loss(x: np.ndarray) -> np.float64:
    return np.sum(np.exp(x) * x)


@pytest.mark.parametrize(
    ("triple", "dtype", "options", "magic"),
    [
        ("x86_64-windows-gnu", "f64", {}, COFF),
        ("x86_64-w64-mingw32", "f64", {}, COFF),
        ("aarch64-apple-darwin", "f64", {}, MACHO),
        ("riscv64-linux", "f64", {}, ELF),
        ("armv7-unknown-linux-gnueabihf", "f64", {"helpers": True}, ELF),
        ("thumbv7em-none-eabihf", "f32", {"helpers": True}, ELF),
        ("wasm32", "f64", {"fma": "emulate"}, WASM),
        ("i686-linux-gnu", "f64", {}, ELF),
        ("powerpc64le-linux-gnu", "f64", {}, ELF),
    ],
)
def test_objects_of_other_machines(
    triple: str, dtype: str, options: dict[str, str], magic: bytes, tmp_path: Path
) -> None:
    spec = f"x: {dtype}[n]"
    code, header = gradc.compile(loss).export(
        "k", spec=spec, out=tmp_path, triple=triple, **options
    )
    assert code.read_bytes().startswith(magic)
    assert ("helpers" in options) == bool(helpers_in(code.read_bytes()))
    assert f"target {normalised(triple)} / " in header.read_text()


def test_floats_are_passed_in_registers_where_the_name_says_so() -> None:
    text = "define float @f(float %x) {\n  %y = fadd float %x, 1.0\n  ret float %y\n}\n"
    hard = machine_code(text, triple="thumbv7em-none-eabihf").assembly()
    soft = machine_code(text, triple="thumbv7em-none-eabi").assembly()
    assert "vadd.f32\ts0, s0," in hard
    assert "vmov" in soft.split("vadd")[0]  # the argument is in a register of integers


def test_a_cpu_with_floats_alone_needs_no_helpers_for_them(tmp_path: Path) -> None:
    code, _ = gradc.compile(lambda x, w: np.sum(np.maximum(x @ w, 0) ** 2)).export(
        "k", spec="x: f32[n], w: f32[n]", out=tmp_path, triple="thumbv7em-none-eabihf"
    )
    assert helpers_in(code.read_bytes()) == ()


def test_helpers_are_asked_for(tmp_path: Path) -> None:
    def export(**options: object) -> list[Path]:
        compiled = gradc.compile(loss)
        return compiled.export(
            "k", spec="x: f64[n]", out=tmp_path, triple="thumbv7em-none-eabihf", **options
        )

    with pytest.raises(ExportError, match="cortex-m4 has no instructions for some of k") as error:
        export(fma="emulate")
    assert "__aeabi_dadd" in str(error.value)
    assert "helpers=True" in str(error.value)
    _, header = export(fma="emulate", helpers=True)
    text = header.read_text()
    assert "link with -lgcc, for\n * __aeabi_d" in text
    assert "-lm" not in text


def test_helpers_among_symbols() -> None:
    code = (
        b"\0__adddf3\0f.kernel\0___multi3\0x__adddf3\0__aeabi_dmul\0memcpy\0my_memcpy\0__fixdfdi\0"
    )
    assert helpers_in(code) == ("__adddf3", "__aeabi_dmul", "__fixdfdi", "__multi3", "memcpy")
