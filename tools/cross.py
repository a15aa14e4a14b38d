"""Compares the bits of exported kernels between machines: x86-64 and, under qemu-user, others.

    python tools/cross.py [names of ops …]

A kernel for each elementwise op of floats, alone and in a loop, and for sums is exported for every
machine, linked with a C program that reads arguments and writes results, and run. All NaNs count as
equal; everything else has to be the same. ``tools/install_cross`` installs what it takes.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

from gradc.runtime.export import export
from gradc_codegen.math.scipy_words import scipy_name
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.sizes import symbol
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import DTypeError
from gradc_ir.ops import TABLE
from tools.math_errors import MEASURED, points

Array = NDArray[Any]

POINTS = 2_000
_C_TYPES = {DType.F64: "double", DType.F32: "float"}
_REDUCTIONS = {"sum": 1, "dot": 2}


@dataclass(frozen=True)
class Machine:
    """A machine to export for, and how its programs are made and run here.

    Parameters
    ----------
    triple, cpu, fma: what :func:`gradc.runtime.export.export` is asked for.
    compiler: the C compiler for it.
    emulator: what runs its programs; none for those that run as they are.
    needs: the flag in ``/proc/cpuinfo`` without which it is left out.
    """

    name: str
    triple: str
    cpu: str | None = None
    fma: str | None = None
    compiler: str = "cc"
    emulator: tuple[str, ...] = ()
    needs: str = ""


_LINUX = "x86_64-unknown-linux-gnu"
MACHINES = (
    Machine("x86-64-v3", _LINUX, "x86-64-v3", needs="fma"),
    Machine("x86-64-v4", _LINUX, "x86-64-v4", needs="avx512vl"),
    Machine("x86-64, fma emulated", _LINUX, "x86-64", fma="emulate"),
    Machine(
        "aarch64",
        "aarch64-unknown-linux-gnu",
        compiler="aarch64-linux-gnu-gcc",
        emulator=("qemu-aarch64",),
    ),
    Machine(
        "riscv64",
        "riscv64-unknown-linux-gnu",
        compiler="riscv64-linux-gnu-gcc",
        emulator=("qemu-riscv64",),
    ),
)


def op_names() -> list[str]:
    """Return the ops that kernels are made of: elementwise from floats to floats, and sums."""
    float_ = Type(DType.F64)
    found = []
    for op in TABLE.values():
        if op.name in ("cast", "select") or op.scalar == "identity" or scipy_name(op.scalar):
            continue
        if not op.is_elementwise or op.operands is None:
            continue
        try:
            (result,) = op.infer(*[float_] * op.operands)
        except DTypeError:  # an op of truth values
            continue
        if result.dtype is DType.F64:
            found.append(op.name)
    return [*found, *_REDUCTIONS]


def operand_count(name: str) -> int:
    """Return how many operands a kernel has."""
    return _REDUCTIONS.get(name) or TABLE[name].operands or 0


def functions(name: str) -> dict[str, Function]:
    """Return what is exported of an op: for each dtype a loop, and the op of one number."""
    made = {}
    for dtype in _C_TYPES:
        short = dtype.name.lower()
        made[short] = _function(name, Type(dtype, (symbol("n"),)))
        if name not in _REDUCTIONS:
            made[f"{short}_one"] = _function(name, Type(dtype))
    return made


def _function(name: str, type_: Type) -> Function:
    with Builder() as builder:
        x = [builder.param(i, type_) for i in range(operand_count(name))]
        result: Value
        if name == "sum":
            result = build.reduce_sum(x[0], (0,))
        elif name == "dot":
            result = build.contract(x[0], x[1], "a,a->")
        else:
            result = build.elementwise(name, *x)
        return builder.function(name, x, [result], [f"x{i}" for i in range(len(x))])


def arguments(name: str, dtype: DType) -> list[Array]:
    """Return operands: hard ones of the function where they are known, or any bits and borders."""
    random = np.random.default_rng(0)
    operands = range(operand_count(name))
    if name in _REDUCTIONS:  # a sum with an infinite number in it shows nothing
        return [random.normal(size=9_999).astype(dtype.numpy) for _ in operands]
    if name == "zeta":  # takes a step for each integer between a negative number and 9
        return [random.uniform(-9, 30, POINTS).astype(dtype.numpy) for _ in operands]
    word = (TABLE[name].scalar or "").removeprefix("math.")
    if word not in MEASURED:
        word = "hypot" if len(operands) > 1 else "tanh"
    found = list(points(word, dtype, POINTS))
    while len(found) < len(operands):
        found.append(random.permutation(found[-1]))
    order = random.permutation(len(found[0]))[: 4 * POINTS]
    return [np.ascontiguousarray(x[order]) for x in found]


def driver(names: Sequence[str]) -> str:
    """Return a C program: reads arguments of all kernels in turn, and writes what they return."""
    lines = ["#include <stdio.h>", "#include <stdlib.h>"]
    lines += [f'#include "k_{name}.h"' for name in names]
    lines += [
        "static FILE *in, *out;",
        "static void *array(size_t bytes) {",
        "    void *x = malloc(bytes + 64);",
        "    if (!x || fread(x, 1, bytes, in) != bytes) exit(1);",
        "    return x;",
        "}",
        "int main(int count, char **given) {",
        '    if (count != 3 || !(in = fopen(given[1], "rb")) || !(out = fopen(given[2], "wb")))',
        "        return 1;",
        "    int64_t n;",
        "    void *work = malloc(1 << 22);",
    ]
    for name in names:
        operands = range(operand_count(name))
        for dtype, type_ in _C_TYPES.items():
            full = f"k_{name}_{dtype.name.lower()}"
            given = "".join(f"x{i}, " for i in operands)
            lines += ["    if (fread(&n, 8, 1, in) != 1) return 1;", "    {"]
            lines += [f"        {type_} *x{i} = array(n * sizeof(*x{i}));" for i in operands]
            lines += [
                f"        {type_} *y = calloc(n, sizeof(*y));",
                f"        if ({full}_worksize(n) > 1 << 22) return 2;",
                f"        if ({full}(n, {given}y, work)) return 3;",
                "        fwrite(y, sizeof(*y), n, out);",
            ]
            if name not in _REDUCTIONS:
                each = "".join(f"x{i}[k], " for i in operands)
                lines += [
                    "        for (int64_t k = 0; k < n; k++)",
                    f"            if ({full}_one({each}y + k, work)) return 4;",
                    "        fwrite(y, sizeof(*y), n, out);",
                ]
            lines.append("    }")
    return "\n".join([*lines, "    return fclose(out) ? 5 : 0;", "}", ""])


def write_arguments(names: Sequence[str], path: Path) -> list[tuple[str, DType, list[Array]]]:
    """Write the arguments of all kernels; returns them in the order of the results."""
    written = []
    with path.open("wb") as file:
        for name in names:
            for dtype in _C_TYPES:
                operands = arguments(name, dtype)
                file.write(np.int64(len(operands[0])).tobytes())
                for operand in operands:
                    file.write(operand.tobytes())
                written.append((name, dtype, operands))
    return written


def export_op(name: str, machine: Machine, folder: Path) -> None:
    """Write the object and the header of an op's kernels for a machine."""
    export(
        functions(name),
        f"k_{name}",
        folder,
        cpu=machine.cpu,
        triple=machine.triple,
        fma=machine.fma,
    )


def results(machine: Machine, names: Sequence[str], folder: Path, given: Path) -> bytes:
    """Return what the program of a machine writes."""
    (folder / "main.c").write_text(driver(names))
    objects = [f"k_{name}.o" for name in names]
    # nothing of a mathematics library: without -lm
    command = [machine.compiler, "-std=c99", "-O1", "-static", "main.c", *objects, "-o", "main"]
    subprocess.run(command, cwd=folder, check=True)
    subprocess.run([*machine.emulator, "./main", given, "out"], cwd=folder, check=True)
    return (folder / "out").read_bytes()


def bits(written: bytes, dtype: DType, start: int, count: int) -> Array:
    """Return the bits of so many results from a place on, of one kind for all NaNs."""
    found = np.frombuffer(written, dtype.numpy, count, start)
    return np.where(np.isnan(found), dtype.numpy.type(np.nan), found).view(f"u{found.itemsize}")


def differences(
    wanted: bytes, found: bytes, order: Sequence[tuple[str, DType, list[Array]]]
) -> list[str]:
    """Return a line for each kernel whose results are not the same, with the first argument."""
    lines, start = [], 0
    for name, dtype, operands in order:
        count = len(operands[0])
        for kind in ("loop",) if name in _REDUCTIONS else ("loop", "one"):
            one, other = (bits(x, dtype, start, count) for x in (wanted, found))
            start += count * dtype.bytes
            apart = np.flatnonzero(one != other)
            if apart.size:
                place = ", ".join(float(x[apart[0]]).hex() for x in operands)
                lines.append(
                    f"{name} {dtype.name.lower()} {kind}: {apart.size} of {count} differ, "
                    f"first at {place}: {int(other[apart[0]]):#x} for {int(one[apart[0]]):#x}"
                )
    return lines


def main(names: list[str]) -> int:
    """Print for each machine whether its bits are those of the first; returns how many are not."""
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    machines = [machine for machine in MACHINES if not machine.needs or machine.needs in flags]
    if os.uname().machine != "x86_64" or MACHINES[0] not in machines:
        sys.exit("the bits are compared with those of this machine, which has to be an x86-64-v3")
    for machine in machines:
        for tool in (machine.compiler, *machine.emulator):
            if shutil.which(tool) is None:
                sys.exit(f"{tool} is not there: tools/install_cross installs it")
    started, failed, wanted = time.monotonic(), 0, b""
    spawn = multiprocessing.get_context("spawn")  # compilers do not like to be copied
    with (
        tempfile.TemporaryDirectory() as scratch,
        ProcessPoolExecutor(os.cpu_count(), mp_context=spawn) as pool,
    ):
        given = Path(scratch, "arguments")
        folders = {machine: Path(scratch, str(i)) for i, machine in enumerate(machines)}
        exported = {
            machine: [pool.submit(export_op, name, machine, folder) for name in names]
            for machine, folder in folders.items()
        }
        order = write_arguments(names, given)
        for machine, folder in folders.items():
            for future in exported[machine]:
                future.result()
            found = results(machine, names, folder, given)
            wanted = wanted or found
            lines = differences(wanted, found, order)
            failed += bool(lines)
            clock = time.monotonic() - started
            verdict = f"{len(lines)} kernels differ" if lines else "the same bits"
            print(f"{clock:4.0f} s  {machine.name:20}  {verdict}", flush=True)
            for line in lines:
                print(f"        {line}")
    print(f"{len(machines) - failed} passed, {failed} failed")
    return failed


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:] or op_names()) else 0)
