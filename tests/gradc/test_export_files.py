"""What exports write: derivatives, batches, constants, libraries, tables, and what comes beside."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradc
from gradc_codegen.files.archive import Member, archive
from gradc_codegen.files.stack_use import worst_stack
from gradc_ir.errors import ExportError, ParseError
from tests.abi.signatures import OFFSETS, arm, layer, rosen, shifted

FLAGS = ["cc", "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]
KINDS = ("value", "vg", "grad", "jvp", "vjp", "hvp", "jac", "hess")


def run(command: list[Any], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shared library with all there is of two functions."""
    folder = tmp_path_factory.mktemp("library")
    path, *_ = gradc.export(
        "many",
        [rosen, shifted],
        spec={"rosen": "x: f64[n], a: f64", "shifted": "x: f64[3]"},
        outputs={"rosen": [*KINDS, "vg_batch"], "shifted": "vg"},
        wrt={"rosen": ("x", "a")},
        bake={"shifted": "OFFSETS"},
        shared={"rosen": "a"},
        structs=True,
        docs=True,
        link="shared",
        package=True,
        out=folder,
    )
    return path


def test_all_kinds_of_several_functions_in_one_file(library: Path) -> None:
    command = [*FLAGS, "example_main.c", library.name, "-Wl,-rpath,.", "-o", "main"]
    run(command, library.parent)
    printed = run(["./main"], library.parent)
    assert printed.count("as in Python\n") == 10
    assert "rosen_vg_batch: as in Python" in printed
    listing = run(["nm", "-D", "--undefined-only", library.name], library.parent)
    assert not [line for line in listing.split() if line not in "Uw" and not line.startswith("_")
                and "@" not in line]  # fmt: skip


class Argument(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_char_p) for name in ("name", "identifier", "dtype", "shape")),
        ("role", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("offset", ctypes.c_int64),
    ]


class Info(ctypes.Structure):
    _fields_ = [
        ("abi", ctypes.c_uint32),
        ("argument_bytes", ctypes.c_uint32),
        *(
            (name, ctypes.c_char_p)
            for name in ("name", "spec", "gradc", "hash", "target", "cpu", "arithmetic")
        ),
        *((name, ctypes.c_int32) for name in ("sizes", "inputs", "outputs", "steps")),
        *((name, ctypes.c_int64) for name in ("in_bytes", "out_bytes", "info_bytes")),
        ("arguments", ctypes.POINTER(Argument)),
    ]


def test_a_caller_by_name_needs_the_library_alone(library: Path) -> None:
    """It finds what there is, allocates by the shapes it is told, and calls in both ways."""
    loaded = ctypes.CDLL(str(library))
    info = Info.in_dll(loaded, "rosen_vg_batch_info")
    assert (info.abi, info.argument_bytes) == (1 << 16 | 1, ctypes.sizeof(Argument))
    assert info.info_bytes == ctypes.sizeof(Info)
    assert info.name == b"rosen_vg_batch"
    assert info.spec == (
        b"rosen_vg_batch(x: f64[m,n], a: f64) -> (y: f64[m], g_x: f64[m,n], g_a: f64[m])"
    )
    assert (info.sizes, info.inputs, info.outputs, info.steps) == (2, 2, 3, -1)
    arguments = [info.arguments[i] for i in range(7)]
    assert [(a.name, a.dtype, a.shape, a.role, a.rank, a.offset) for a in arguments] == [
        (b"m", b"i64", b"", 0, 0, 0),
        (b"n", b"i64", b"", 0, 0, 8),
        (b"x", b"f64", b"m,n", 1, 2, 16),
        (b"a", b"f64", b"", 1, 0, 24),
        (b"y", b"f64", b"m", 2, 1, 0),
        (b"g_x", b"f64", b"m,n", 2, 2, 8),
        (b"g_a", b"f64", b"m", 2, 1, 16),
    ]
    sizes = np.array([3, 4])
    shapes = np.zeros(6, np.int64)
    assert loaded.rosen_vg_batch_call_shapes(
        ctypes.c_void_p(sizes.ctypes.data), ctypes.c_void_p(shapes.ctypes.data)
    ) == 0  # fmt: skip
    assert shapes.tolist() == [3, 4, 3, 3, 4, 3]
    negative = np.array([-1, 4])
    assert loaded.rosen_vg_batch_call_shapes(
        ctypes.c_void_p(negative.ctypes.data), ctypes.c_void_p(shapes.ctypes.data)
    ) == 1  # fmt: skip
    x, a = np.random.default_rng(0).normal(size=(3, 4)), np.array(2.0)
    outputs = [np.zeros(3), np.zeros((3, 4)), np.zeros(3)]
    loaded.rosen_vg_batch_call_worksize.restype = ctypes.c_size_t
    scratch = loaded.rosen_vg_batch_call_worksize(ctypes.c_void_p(sizes.ctypes.data))
    work = np.zeros(scratch + 1, np.uint8)
    tables = [np.array([each.ctypes.data for each in side]) for side in ([x, a], outputs)]
    given = [*tables, sizes, work]
    assert loaded.rosen_vg_batch_call(*(ctypes.c_void_p(g.ctypes.data) for g in given)) == 0
    values, (slopes, by_a) = gradc.vmap(
        gradc.value_and_grad(rosen, wrt=(0, 1)), in_axes=(0, None)
    )(x, a)  # fmt: skip
    for found, wanted in zip(outputs, (values, slopes, by_a)):
        assert found.tobytes() == wanted.tobytes()
    block = np.zeros(info.in_bytes // 8, np.int64)
    block[:3] = [3, 4, x.ctypes.data]
    block[3:].view(np.float64)[0] = 2.0
    again = [np.zeros_like(each) for each in outputs]
    made = np.array([each.ctypes.data for each in again])
    given = [block, made, work]
    assert loaded.rosen_vg_batch_struct(*(ctypes.c_void_p(g.ctypes.data) for g in given)) == 0
    assert [each.tobytes() for each in again] == [each.tobytes() for each in outputs]


def test_what_is_baked_is_no_argument(tmp_path: Path) -> None:
    compiled = gradc.compile(shifted)
    _, header = compiled.export("k", spec="x: f64[n,3]", bake="OFFSETS", out=tmp_path)
    assert "int k(int64_t n, const double *x, double *y, void *work);" in header.read_text()
    with pytest.raises(ExportError, match="captures no array called W") as error:
        compiled.export("k", spec="x: f64[n,3]", bake="W", out=tmp_path)
    assert "captured: OFFSETS" in str(error.value)
    kernel = compiled.native("x: f64[2,3]", bake="all")
    y, x = np.empty(1), np.ones((2, 3))
    work = np.empty(kernel.worksize() + 1, np.uint8)
    assert kernel.ctypes(x.ctypes, y.ctypes, work.ctypes) == 0
    assert y[0] == shifted(x)
    before = OFFSETS.copy()
    OFFSETS[:] = 0
    try:
        other = compiled.native("x: f64[2,3]", bake="all")
        assert other is not kernel
    finally:
        OFFSETS[:] = before


def test_formulas_stand_in_the_header(library: Path) -> None:
    text = (library.parent / "many.h").read_text(encoding="utf-8")
    assert "OFFSETS" not in text
    assert " *   y = " in text


LINKED = {"object": "k.o", "static": "libk.a", "shared": "libk.so", "ir": "k.ll", "asm": "k.s"}


@pytest.mark.parametrize("link", LINKED)
def test_what_is_linked(link: str, tmp_path: Path) -> None:
    compiled = gradc.compile(layer)
    spec = "p: {w: f64[3], b: f64}, x: f64[n,3]"
    path, _, *beside = compiled.export("k", spec=spec, link=link, package=True, out=tmp_path)
    assert path.name == LINKED[link]
    text = path.read_bytes()
    if link == "ir":
        assert b"define" in text
        return
    if link == "asm":
        assert b"k_vg_call:" in text
        return
    assert [each.name for each in beside] == ["example_main.c", "k.pc", "kConfig.cmake"]
    run([*FLAGS, "example_main.c", path.name, "-Wl,-rpath,.", "-o", "main"], tmp_path)
    assert run(["./main"], tmp_path).count("as in Python") == 2
    if link == "static":
        assert run(["ar", "t", path.name], tmp_path) == "k.o\n"
        assert "k_vg in k.o" in run(["nm", "--print-armap", path.name], tmp_path)


def test_an_example_has_the_users_numbers(tmp_path: Path) -> None:
    x = np.array([1.5, -2.25, 0.125])
    gradc.compile(rosen).export("k", x, 3.0, package=True, out=tmp_path)
    text = (tmp_path / "example_main.c").read_text()
    assert "-0x1.2000000000000p+1" in text
    run([*FLAGS, "example_main.c", "k.o", "-o", "main"], tmp_path)
    assert run(["./main"], tmp_path).count("as in Python") == 2
    text = text.replace("-0x1.2000000000000p+1", "-0x1.2000000000001p+1", 1)
    (tmp_path / "example_main.c").write_text(text)
    run([*FLAGS, "example_main.c", "k.o", "-o", "main"], tmp_path)
    done = subprocess.run(["./main"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, "k: 1 numbers differ" in done.stdout) == (1, True)


@pytest.mark.parametrize("link", ["object", "static", "shared"])
def test_build_tools(link: str, tmp_path: Path) -> None:
    gradc.compile(arm).export(
        "arm", spec="q: f64[3], u: f64[3]", of="jac", link=link, package=True, out=tmp_path
    )
    if shutil.which("pkg-config"):
        command = "PKG_CONFIG_PATH=. pkg-config --cflags --libs arm"
        flags = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True)
        words = [*flags.stdout.split(), f"-Wl,-rpath,{tmp_path}"]
        run(["cc", "example_main.c", *words, "-o", "main"], tmp_path)
        assert run(["./main"], tmp_path).count("as in Python") == 2
    if not shutil.which("cmake"):
        pytest.skip("no cmake")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.15)\nproject(p C)\nfind_package(arm REQUIRED)\n"
        "add_executable(program example_main.c)\ntarget_link_libraries(program arm::arm m)\n"
    )
    run(["cmake", "-S", ".", "-B", "build", f"-Darm_DIR={tmp_path}"], tmp_path)
    run(["cmake", "--build", "build"], tmp_path)
    assert run(["build/program"], tmp_path).count("as in Python") == 2


def test_no_linker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ExportError, match="there is none here") as error:
        gradc.compile(arm).export("arm", spec="q: f64[3], u: f64[3]", link="shared", out=tmp_path)
    assert "looked for cc, ld.lld" in str(error.value)
    assert "install a C compiler (cc) or LLVM's linker" in str(error.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"outputs": "slope"}, "outputs is 'slope'"),
        ({"outputs": "vg", "of": "vg"}, "of and outputs are both given"),
        ({"outputs": []}, "outputs names nothing"),
        ({"link": "zip"}, "link is 'zip'"),
        ({"optimize": 9}, "optimize is 9"),
        ({"target": "aarch64-linux", "triple": "wasm32"}, "target and triple are the same thing"),
        ({"outputs": "vg_batch", "shared": "q"}, "shared: rosen has no argument 'q'"),
        ({"outputs": "vg_batch", "shared": "x,a"}, "all arguments of rosen are shared"),
    ],
)
def test_what_is_refused(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=message):
        gradc.compile(rosen).export("k", spec="x: f64[n], a: f64", out=tmp_path, **options)


def test_names_of_several_functions(tmp_path: Path) -> None:
    spec = "x: f64[n], a: f64"
    with pytest.raises(ExportError, match="two functions are called rosen"):
        gradc.export("k", [rosen, rosen], spec=spec, out=tmp_path)
    with pytest.raises(ExportError, match="two functions would be called r_vg in C"):
        gradc.export("k", {"r_vg": rosen, "r": rosen}, spec=spec, outputs={"r_vg": "value"},
                     out=tmp_path)  # fmt: skip
    with pytest.raises(ExportError, match="wrt: there is no function 'other' to export"):
        gradc.export("k", [rosen], spec=spec, wrt={"other": 0}, out=tmp_path)


def test_a_header_of_another_version_is_refused(tmp_path: Path) -> None:
    library, header, *_ = gradc.compile(arm).export(
        "arm", spec="q: f64[3], u: f64[3]", link="shared", out=tmp_path
    )
    function = ctypes.CDLL(str(library)).arm
    gradc.external(function, header=header)
    header.write_text(header.read_text().replace("ABI 1.1.", "ABI 2.0."))
    with pytest.raises(ParseError, match="is of another version of the ABI"):
        gradc.external(function, header=header)


PAINTED = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "k.h"
#define BYTES 200000
__attribute__((noinline)) static void paint(void) {
    volatile unsigned char space[BYTES];
    for (int i = 0; i < BYTES; i++) space[i] = 0xA5;
}
__attribute__((noinline)) static int used(void) {
    volatile unsigned char space[BYTES];
    int i = 0;
    while (i < BYTES && space[i] == 0xA5) i++;
    return BYTES - i;
}
int main(void) {
    double x[30], p[3] = {1, 2, 3}, y, g[3], h;
    for (int i = 0; i < 30; i++) x[i] = i * 0.1;
    void *work = malloc(k_vg_worksize(10) + 1);
    paint();
    int status = k_vg(10, p, 0.5, x, &y, g, &h, work);
    printf("%d %d\n", status, used());
    return 0;
}
"""


def test_the_stack_that_is_told_is_enough(tmp_path: Path) -> None:
    """A painted stack shows how much a call took; more than half of what is told, and no more."""
    spec = "p: {w: f64[3], b: f64}, x: f64[n,3]"
    _, header = gradc.compile(layer).export("k", spec=spec, wrt="p", out=tmp_path)
    told = int(header.read_text().split("Stack: at most ")[1].split()[0])
    (tmp_path / "main.c").write_text(PAINTED)
    run(["cc", "-O0", "-w", "main.c", "k.o", "-o", "main"], tmp_path)
    status, used = map(int, run(["./main"], tmp_path).split())
    assert status == 0
    # the frames of the program's own functions differ by some hundred bytes
    assert told / 4 < used < told + 512


ASSEMBLY = """
deep:
\tpushq %rbx
\tsubq $1000, %rsp
\tcallq leaf
\tretq
leaf:
\tsubq $40, %rsp
.LBB1_1:
\taddq $40, %rsp
\tretq
round:
\tjmp round_again
round_again:
\tcallq round
unbounded:
\tsubq %rax, %rsp
"""


def test_stack_over_calls() -> None:
    found = worst_stack(ASSEMBLY, "x86_64")
    assert found == {"deep": 8 + 1000 + 8 + 40 + 128, "leaf": 168}
    assert worst_stack(ASSEMBLY, "loongarch64") == {}


def test_an_archive_of_several_objects(tmp_path: Path) -> None:
    members = []
    for name in ("first", "a_member_with_a_long_name"):
        (tmp_path / f"{name}.c").write_text(f"int {name}(void) {{ return 1; }}\n")
        run(["cc", "-c", f"{name}.c"], tmp_path)
        members.append(Member(f"{name}.o", (tmp_path / f"{name}.o").read_bytes(), [name]))
    (tmp_path / "lib.a").write_bytes(archive(members))
    assert run(["ar", "t", "lib.a"], tmp_path) == "first.o\na_member_with_a_long_name.o\n"
    (tmp_path / "main.c").write_text(
        "int first(void), a_member_with_a_long_name(void);\n"
        "int main(void) { return first() + a_member_with_a_long_name() - 2; }\n"
    )
    run(["cc", "main.c", "lib.a", "-o", "main"], tmp_path)
    run(["./main"], tmp_path)
