"""Kernels for other machines, run by emulators; ``tools/install_cross`` installs what it takes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.exports.kinds import kinds_of
from gradc.exports.plan import Asked, plan
from gradc.exports.sample import sample
from gradc.runtime.export import Choices
from gradc_codegen.abi import Signature
from gradc_ir.errors import ExportError
from tests.abi.signatures import CASES, Case, rosen

pytestmark = pytest.mark.slow
TOOLS = Path(__file__).parent.parent.parent / "tools" / "targets"
_KINDS = ("value", "vg", "grad", "jvp", "vjp", "hvp", "jac", "hess")
ALL = (*_KINDS, *(f"{kind}_batch" for kind in _KINDS))


@dataclass(frozen=True)
class Machine:
    """A machine that programs are compiled for, and what runs them."""

    triple: str
    compiler: str
    emulator: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    undefined: tuple[str, ...] = ()
    needs: str = ""  # a flag of the CPU, where nothing emulates it


MACHINES = {
    "x86-64-v2": Machine("x86_64-linux-gnu", "cc", (), {"cpu": "x86-64-v2", "fma": "emulate"}),
    "x86-64-v3": Machine("x86_64-linux-gnu", "cc", (), {"cpu": "x86-64-v3"}, needs="fma"),
    "x86-64-v4": Machine("x86_64-linux-gnu", "cc", (), {"cpu": "x86-64-v4"}, needs="avx512vl"),
    "aarch64": Machine("aarch64-linux-gnu", "aarch64-linux-gnu-gcc", ("qemu-aarch64",)),
    "riscv64": Machine("riscv64-linux-gnu", "riscv64-linux-gnu-gcc", ("qemu-riscv64",)),
    "armv7": Machine("armv7-linux-gnueabihf", "arm-linux-gnueabihf-gcc", ("qemu-arm",)),
    "windows": Machine(
        "x86_64-w64-mingw32", "x86_64-w64-mingw32-gcc", ("wine",), undefined=("_fltused",)
    ),
}


def needed(*commands: str) -> None:
    for command in commands:
        if shutil.which(command) is None:
            pytest.skip(f"no {command}: tools/install_cross installs it")


def undefined(path: Path) -> list[str]:
    done = subprocess.run(["nm", "-u", path], capture_output=True, text=True, check=True)
    return [word for word in done.stdout.split() if word != "U" and not word.endswith(":")]


def export(case: Case, out: Path, **options: Any) -> list[Path]:
    compiled = gradc.compile(case.function)
    if case.function is rosen:  # one with all there is
        return compiled.export(
            case.name, spec=case.spec, outputs=ALL, wrt=case.wrt, out=out, **options
        )
    return case.export(out, **options)


def needed_for(machine: Machine) -> None:
    needed(machine.compiler, *machine.emulator)
    if machine.needs and machine.needs not in Path("/proc/cpuinfo").read_text():
        pytest.skip(f"this CPU has no {machine.needs}")


def printed(machine: Machine, code: Path) -> str:
    """Build the example beside an object and return what it prints on a machine."""
    command = [machine.compiler, "-static", "-O1", "example_main.c", code.name, "-o", "m.exe"]
    done = subprocess.run(command, cwd=code.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    environment = {**os.environ, "WINEDEBUG": "-all"}
    command = [*machine.emulator, "./m.exe"]

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=code.parent, capture_output=True, text=True, env=environment
        )

    done = run()
    if machine.emulator == ("wine",) and done.returncode == 1 and not done.stdout:
        # Wine itself ends so, before the program's first line, where the server of another
        # program was just leaving.
        subprocess.run(["wineserver", "-w"], check=True, timeout=120)
        done = run()
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", MACHINES)
def test_programs_get_the_bits_of_python(name: str, tmp_path: Path) -> None:
    machine = MACHINES[name]
    needed_for(machine)
    for case in CASES:
        folder = tmp_path / case.name
        code, *_ = export(case, folder, target=machine.triple, package=True, **machine.options)
        assert set(undefined(code)) <= set(machine.undefined)
        assert f"{case.name}: as in Python" in printed(machine, code)
        assert "Stack: at most" in (folder / f"{case.name}.h").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["x86-64-v2", "aarch64", "riscv64", "armv7", "windows"])
def test_short_code_gets_the_bits_of_python(name: str, tmp_path: Path) -> None:
    machine = MACHINES[name]
    needed_for(machine)
    for case in CASES[:4]:
        options = {"target": machine.triple, "optimize": "size", **machine.options}
        code, *_ = export(case, tmp_path / case.name, package=True, **options)
        assert set(undefined(code)) <= set(machine.undefined)
        assert f"{case.name}: as in Python" in printed(machine, code)


@pytest.mark.parametrize("name", MACHINES)
def test_subnormal_numbers_stay(name: str, tmp_path: Path) -> None:
    """Vectors of 32-bit ARM would take them for 0."""
    machine = MACHINES[name]
    needed_for(machine)
    x = (np.arange(40) * 1e-41).astype(np.float32)
    compiled = gradc.compile(lambda x: x * np.float32(0.5) + x)
    options = {"target": machine.triple, **machine.options}
    code, *_ = compiled.export("sum", x, package=True, out=tmp_path, **options)
    assert "sum: as in Python" in printed(machine, code)


BY_NAME = """
#include <stdio.h>
#include "sum.h"
int main(void) {
    double x[3] = {1, 2, 3}, y[2] = {10, 20}, a = 2, out = -1;
    const void *in[3] = {x, y, &a};
    void *made[1] = {&out};
    int64_t sizes[2] = {3, 2}, shapes[2];
    char work[4096];
    if (sum_call_worksize(sizes) > sizeof work || sum_call(in, made, sizes, work)) return 1;
    if (sum_call_shapes(sizes, shapes)) return 2;
    printf("%g of %d and %d\\n", out, (int)shapes[0], (int)shapes[1]);
    return 0;
}
"""


@pytest.mark.parametrize("name", MACHINES)
def test_callers_by_name_hand_over_tables(name: str, tmp_path: Path) -> None:
    """Pointers in tables are as far apart as the machine's are long."""
    machine = MACHINES[name]
    needed_for(machine)
    compiled = gradc.compile(lambda x, y, a: np.sum(x * a) + 2 * np.sum(y))
    options = {"target": machine.triple, **machine.options}
    spec = "x: f64[n], y: f64[m], a: f64"
    code, *_ = compiled.export("sum", spec=spec, out=tmp_path, **options)
    (tmp_path / "example_main.c").write_text(BY_NAME)
    assert printed(machine, code) == "72 of 3 and 2\n"


def single_logistic(w: Any, x: Any, y: Any) -> Any:
    return np.sum(np.log(1 + np.exp(-y * (x @ w))))


def single_square(x: Any) -> Any:
    """With a division, a root and an angle, for which doubles are computed by integers."""
    angles = np.cos(np.cumsum(x))
    return np.sum((x[1:] - x[:-1] * x[:-1]) * angles[1:]) / np.sqrt(1 + np.sum(x * x))


CORTEX = {"cortex-m4": ("mps2-an386", "fpv4-sp-d16"), "cortex-m7": ("mps2-an500", "fpv5-sp-d16")}


@pytest.mark.parametrize("optimize", [None, "size"])
@pytest.mark.parametrize("cpu", CORTEX)
@pytest.mark.parametrize(
    ("function", "spec", "outputs"),
    [
        (single_logistic, "w: f32[4], x: f32[n,4], y: f32[n]", ("value", "vg", "hvp")),
        (single_square, "x: f32[n]", ("value", "vg", "jvp", "vjp", "hvp", "hess", "vg_batch")),
    ],
)
def test_floats_on_microcontrollers(
    cpu: str, function: Any, spec: str, outputs: tuple[str, ...], optimize: Any, tmp_path: Path
) -> None:
    needed("arm-none-eabi-gcc", "qemu-system-arm")
    code, *_ = gradc.compile(function).export(
        "k",
        spec=spec,
        outputs=outputs,
        target="thumbv7em-none-eabihf",
        cpu=cpu,
        optimize=optimize,
        package=True,
        out=tmp_path,
    )
    assert not undefined(code)
    assert on_board(cpu, tmp_path).count("as in Python") == len(outputs)


def on_board(cpu: str, folder: Path) -> str:
    """Build the example in a folder for a microcontroller and return what it prints there."""
    board, unit = CORTEX[cpu]
    flags = [f"-mcpu={cpu}", "-mthumb", "-mfloat-abi=hard", f"-mfpu={unit}", "-O1"]
    start = ["--specs=rdimon.specs", "-nostartfiles", "-T", TOOLS / "cortex_m.ld"]
    sources = [TOOLS / "cortex_m.c", "example_main.c", "k.o", "-o", "m.elf"]
    command = ["arm-none-eabi-gcc", *flags, *start, *sources]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    emulated = ["qemu-system-arm", "-M", board, "-nographic", "-semihosting", "-monitor", "none"]
    done = subprocess.run(
        [*emulated, "-serial", "none", "-kernel", "m.elf"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_doubles_on_microcontrollers(tmp_path: Path) -> None:
    """They are refused, or computed by integers to the same bits, and nothing is linked."""
    options: dict[str, Any] = {
        "spec": "x: f64[n], a: f64",
        "target": "thumbv7em-none-eabihf",
        "cpu": "cortex-m4",
        "package": True,
        "out": tmp_path,
    }
    with pytest.raises(ExportError, match="has no instructions for some of k") as error:
        gradc.compile(rosen).export("k", **options)
    assert "soft_double=True (--soft-double)" in str(error.value)
    code, header, *_ = gradc.compile(rosen).export("k", soft_double=True, **options)
    assert not undefined(code)
    assert "Link it with nothing" in header.read_text(encoding="utf-8")
    needed("arm-none-eabi-gcc", "qemu-system-arm")
    assert on_board("cortex-m4", tmp_path).count("as in Python") == 2


# -- WebAssembly -----------------------------------------------------------------------------------


def calls_of(case: Case) -> list[dict[str, Any]]:
    """Return the calls of a case's functions, with the bits that Python gets."""
    kinds = kinds_of(ALL if case.function is rosen else ("value", *case.of))
    asked = Asked(case.name, (case.spec,), kinds, case.wrt)
    calls = []
    for entry in plan(gradc.compile(case.function), asked).entries:
        signature = Signature.of(entry.function, entry.outputs, order=entry.order)
        found = sample(entry, {}, Choices())
        assert found is not None
        sizes = [found.sizes.get(size.name, 64) for size in signature.sizes]
        inputs: list[dict[str, Any]] = []
        for argument, array in zip(signature.inputs, found.inputs):
            assert argument.type is not None
            if argument.by_value:
                is64 = argument.type.dtype.numpy == np.int64
                inputs.append({"number": array.item(), "is64": bool(is64)})
            else:
                inputs.append({"place": True, "hex": array.tobytes().hex()})
        outputs = [array.tobytes().hex() for array in found.outputs]
        calls.append(
            {
                "name": entry.name,
                "sizes": sizes,
                "inputs": inputs,
                "outputs": outputs,
                "status": found.status,
            }
        )
    return calls


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, Path]]:
    needed("wasm-ld")
    made = []
    for case in CASES:
        folder = tmp_path_factory.mktemp(case.name)
        options = {"target": "wasm32-unknown-unknown", "fma": "emulate"}
        module, _ = export(case, folder, link="shared", **options)
        code, _ = export(case, folder, **options)
        if shutil.which("llvm-nm"):
            done = subprocess.run(["llvm-nm", "-u", code], capture_output=True, text=True)
            assert set(done.stdout.split()) <= {"U", "__stack_pointer", "__linear_memory"}
        calls = folder / "calls.json"
        calls.write_text(json.dumps(calls_of(case)))
        made.append((module, calls))
    return made


def test_node_runs_modules(modules: list[tuple[Path, Path]]) -> None:
    needed("node")
    for module, calls in modules:
        command = ["node", TOOLS / "run.mjs", module, calls]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "as in Python" in done.stdout


def test_wasmtime_runs_modules(modules: list[tuple[Path, Path]]) -> None:
    wasmtime = pytest.importorskip("wasmtime")
    for path, calls in modules:
        store = wasmtime.Store()
        module = wasmtime.Module.from_file(store.engine, str(path))
        exported = wasmtime.Instance(store, module, []).exports(store)
        memory = exported["memory"]
        for call in json.loads(calls.read_text()):
            end = (exported["__heap_base"].value(store) + 63) & ~63

            def place(data: bytes, memory: Any = memory, store: Any = store) -> int:
                nonlocal end
                at, end = end, (end + len(data) + 63) & ~63
                missing = end - memory.data_len(store)
                if missing > 0:
                    memory.grow(store, (missing + 65535) >> 16)
                memory.write(store, data, at)
                return at

            given = [
                place(bytes.fromhex(one["hex"])) if one.get("place") else one["number"]
                for one in call["inputs"]
            ]
            scratch = exported[f"{call['name']}_worksize"](store, *call["sizes"])
            outputs = [place(bytes(len(text) // 2)) for text in call["outputs"]]
            work = place(bytes(scratch))
            status = exported[call["name"]](store, *call["sizes"], *given, *outputs, work)
            assert status == call["status"]
            for at, text in zip(outputs, call["outputs"]):
                assert memory.read(store, at, at + len(text) // 2).hex() == text


# -- files that are read back ----------------------------------------------------------------------


@pytest.mark.parametrize("triple", ["arm64-apple-macosx11", "x86_64-apple-darwin20"])
def test_objects_of_macs(triple: str, tmp_path: Path) -> None:
    lief = pytest.importorskip("lief")
    code, _ = export(CASES[0], tmp_path, target=triple)
    binaries = lief.MachO.parse(str(code))  # which owns each of them
    (binary,) = binaries
    names = {str(symbol.name): symbol for symbol in binary.symbols}
    for name in ("_rosen", "_rosen_vg", "_rosen_vg_worksize", "_rosen_vg_call", "_rosen_info"):
        assert names[name].raw_type & 1  # others may link with it
        assert names[name].numberof_sections != 0  # it is defined
    missing = [name for name, symbol in names.items() if symbol.numberof_sections == 0]
    assert not [name for name in missing if not name.startswith(("l", "L"))]
    archive, _ = export(CASES[0], tmp_path, target=triple, link="static")
    assert archive.read_bytes().startswith(b"!<arch>\n#" + b"1/")


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("x86_64-w64-mingw32", "x86_64-w64-windows-gnu"),
        ("aarch64-linux-gnu", "aarch64-unknown-linux-gnu"),
        ("riscv64-linux-gnu", "riscv64-unknown-linux-gnu"),
    ],
)
def test_triples_in_any_spelling_give_one_object(given: str, meant: str, tmp_path: Path) -> None:
    first, _ = CASES[1].export(tmp_path / "a", target=given)
    again, _ = CASES[1].export(tmp_path / "b", target=meant)
    assert first.read_bytes() == again.read_bytes()
