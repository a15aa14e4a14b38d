"""Object files: what they define and refer to, determinism, other targets, guards."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest

from gradc_codegen.abi import LARGEST_SIZE, Status
from gradc_codegen.compile_function import compile_object
from gradc_codegen.interface.c_guard import guard_text, kernel_name
from gradc_codegen.machine.jit import compile_module
from gradc_codegen.machine.machine_code import machine_code
from gradc_ir.build import Builder
from gradc_ir.core import sizes
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import Size, symbol
from gradc_ir.core.types import DType, Type
from gradc_ir.text.parser import parse_function

n, m = symbol("n"), symbol("m")


def taking(*shape: Size) -> Function:
    with Builder() as builder:
        x = builder.param(0, Type(DType.F64, shape))
        return builder.function("f", [x], [x], ["x"])


# the count of bytes is what _worksize is asked for; the kernel itself only says that it ran
KERNEL = """
declare double @exp(double)
define i32 @f.kernel(i64 %n, ptr %x, ptr %y, ptr %work) {
entry:
  %none = icmp eq i64 %n, 0
  br i1 %none, label %done, label %some
some:
  %v = load double, ptr %x
  %e = call double @helper(double %v)
  store double %e, ptr %y
  br label %done
done:
  ret i32 0
}
define internal double @helper(double %v) {
  %e = call double @exp(double %v)
  ret double %e
}
define i64 @f.kernel_worksize(i64 %n) {
  %bytes = mul i64 %n, 8
  ret i64 %bytes
}
"""
TEXTS = (KERNEL, guard_text(taking(n), "f"))
VISIBLE = ("f", "f_worksize")


def symbols(code: bytes, folder: Path, *options: str) -> set[str]:
    path = folder / "code.o"
    path.write_bytes(code)
    done = subprocess.run(["nm", *options, path], capture_output=True, text=True, check=True)
    return {line.split()[-1] for line in done.stdout.splitlines()}


def test_an_object_refers_to_libm_alone_and_shows_what_is_exported(tmp_path: Path) -> None:
    code = machine_code(TEXTS, exported=VISIBLE).object()
    assert symbols(code, tmp_path, "--undefined-only") == {"exp"}
    assert symbols(code, tmp_path, "--extern-only", "--defined-only") == {"f", "f_worksize"}


def test_the_same_text_gives_the_same_bytes() -> None:
    first = machine_code(TEXTS, exported=VISIBLE).object()
    machine_code(TEXTS, cpu="x86-64-v4", exported=VISIBLE).object()
    assert machine_code(TEXTS, exported=VISIBLE).object() == first


def test_texts_may_share_the_names_of_internal_functions() -> None:
    other = KERNEL.replace("f.kernel", "g.kernel").replace("%e = call double @exp(double %v)",
                                                           "%e = fadd double %v, 1.0")  # fmt: skip
    texts = [*TEXTS, other, guard_text(taking(n), "g")]
    text = str(machine_code(texts, exported=[*VISIBLE, "g", "g_worksize"]).module)
    assert "@exp(" in text
    assert "fadd double" in text


def test_cpu_and_triple() -> None:
    assert "ymm" in machine_code(_wide(), "x86-64-v3", "x86_64-unknown-linux-gnu").assembly()
    assert "ymm" not in machine_code(_wide(), "x86-64", "x86_64-unknown-linux-gnu").assembly()
    for triple, magic in [
        ("aarch64-unknown-linux-gnu", b"\x7fELF"),
        ("riscv64-unknown-linux-gnu", b"\x7fELF"),
        ("arm64-apple-macosx11", b"\xcf\xfa\xed\xfe"),
        ("x86_64-pc-windows-msvc", b"\x64\x86"),
        ("wasm32-unknown-unknown", b"\0asm"),
    ]:
        assert machine_code(KERNEL, triple=triple).object().startswith(magic)


def _wide() -> str:
    return """
define void @f(ptr %x) {
  %v = load <4 x double>, ptr %x
  %w = fadd <4 x double> %v, %v
  store <4 x double> %w, ptr %x
  ret void
}
"""


def test_a_guard_checks_sizes_and_scratch() -> None:
    code = compile_module("\n".join([KERNEL, _without_declarations(TEXTS[1])]))
    pointer = ctypes.c_void_p
    kernel = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int64, pointer, pointer, pointer)(
        code.address("f")
    )
    worksize = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_int64)(code.address("f_worksize"))
    x, y, work = ctypes.c_double(0.0), ctypes.c_double(), ctypes.c_double()
    assert worksize(1) == 8
    assert kernel(1, ctypes.addressof(x), ctypes.addressof(y), ctypes.addressof(work)) == Status.OK
    assert y.value == 1.0
    assert kernel(1, ctypes.addressof(x), ctypes.addressof(y), None) == Status.WORK
    assert kernel(0, None, None, None) == Status.OK
    for size in (-1, -(2**63), LARGEST_SIZE + 1, 2**63 - 1):
        assert kernel(size, None, None, None) == Status.SIZE
        assert worksize(size) == 0


@pytest.mark.parametrize(
    "size",
    [n - 1, n - m, 2 * n + 3 * m - 4, sizes.minimum(n, m - 2), (n - 3) // 2 - m, n // (m - 2)],
)
def test_axes_that_would_be_negative_are_refused(size: Size) -> None:
    function = taking(n, m, size)
    text = f"""
define i32 @f.kernel(i64 %n, i64 %m, ptr %x, ptr %y, ptr %work) {{
  ret i32 0
}}
define i64 @f.kernel_worksize(i64 %n, i64 %m) {{
  ret i64 0
}}
{_without_declarations(guard_text(function, "f"))}
"""
    code = compile_module(text)
    pointers = [ctypes.c_void_p] * 3
    kernel = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int64, ctypes.c_int64, *pointers)(
        code.address("f")
    )
    for rows in range(6):
        for columns in range(6):
            try:
                fits = sizes.evaluate(size, {"n": rows, "m": columns}) >= 0 and (
                    size != n // (m - 2) or columns > 2
                )
            except ZeroDivisionError:
                fits = False
            wanted = Status.OK if fits else Status.SIZE
            assert kernel(rows, columns, None, None, None) == wanted, (rows, columns)


def test_a_size_t_is_as_wide_as_a_pointer() -> None:
    assert 'define i32 @"f_worksize"(i64 %size0)' in guard_text(taking(n), "f", 32)
    assert kernel_name("f") == "f.kernel"
    triple = "wasm32-unknown-unknown"
    assert machine_code([KERNEL, guard_text(taking(n), "f", 32)], triple=triple).object()


def _without_declarations(text: str) -> str:
    """Return a guard's text for the kernel's own module, where the kernel is defined."""
    return "\n".join(line for line in text.splitlines() if not line.startswith("declare"))


def test_how_one_module_is_emitted_is_no_matter_of_another() -> None:
    function = parse_function("func @f(%x: f64) -> f64 {\n  %0: f64 = sin %x\n  return %0\n}\n")

    def made() -> bytes:
        return compile_object({"f": function}).code

    before = made()
    compile_module("define void @long() {\n  ret void\n}\n", level="long")
    assert made() == before
