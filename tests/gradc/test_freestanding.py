"""Exported kernels stand alone: they refer to nothing, and run where there is no C library."""

from __future__ import annotations

import os
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradc
from benchmarks.rows import ROWS
from benchmarks.rows.row import Row, make_case

MACHINES = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "riscv64-unknown-linux-gnu")


def undefined(path: Path) -> str:
    """Return what an object refers to and does not define."""
    command = ["nm", "--undefined-only", path]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def rows() -> list[Any]:
    """Return the rows of the benchmark by dtypes.

    Those that are others mapped over points are slow, and further dtypes.
    """
    found = []
    for row in ROWS:
        for dtype in row.dtypes:
            is_slow = row.name.endswith(("_batch", "_symbolic")) or dtype != row.dtypes[0]
            marks = [pytest.mark.slow] * is_slow
            found.append(pytest.param(row, dtype, id=f"{row.name}-{dtype}", marks=marks))
    return found


@pytest.mark.parametrize(("row", "dtype"), rows())
def test_kernels_of_the_benchmark_refer_to_nothing(row: Row, dtype: str, tmp_path: Path) -> None:
    code, _ = gradc.compile(row.function).export(
        "kernel",
        *make_case(row, row.tiny, dtype).arguments,
        of="value" if row.wrt is None else row.of,
        wrt=None if row.of == "value" else row.wrt,
        out=tmp_path,
    )
    assert undefined(code) == ""


def busy(x: np.ndarray, w: np.ndarray) -> np.float64:
    """Return zeros, copies, loops, a sort and rounding: compilers like to call functions there."""
    hidden = np.zeros((len(x), 3))
    hidden[:, 1] = np.tanh(x @ w)
    table = np.concatenate([hidden[::-1], hidden])
    scale = gradc.fori_loop(0, 5, lambda i, s: s + np.sum(np.sin(s * w)), 0.1)
    rounded = gradc.stop_gradient(np.floor(table))
    return np.sum(rounded + np.sqrt(np.abs(table))) * scale + np.sort(w)[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [*({"triple": triple} for triple in MACHINES),
     {"triple": MACHINES[0], "cpu": "x86-64", "fma": "split"}],
    ids=lambda options: "-".join(options.values()),
)  # fmt: skip
def test_kernels_with_symbolic_sizes_refer_to_nothing(
    options: dict[str, str], tmp_path: Path
) -> None:
    code, _ = gradc.compile(busy).export(
        "kernel", spec="x: f64[n,d], w: f64[d]", out=tmp_path, **options
    )
    assert undefined(code) == ""


# Without a C library nobody calls main, and nobody sets up its stack: the program's first
# instructions do, and it ends with a system call. It writes the value and the gradient.
DRIVER = r"""
#include "kernel.h"

static const double x[] = {%s};
static double results[1 + sizeof x / sizeof *x], work[1 << 12];

static long call(long number, long first, const void *second, long third) {
    long result;
    __asm__ volatile("syscall" : "=a"(result)
                     : "a"(number), "D"(first), "S"(second), "d"(third) : "rcx", "r11", "memory");
    return result;
}

void start(void) {
    int64_t n = sizeof x / sizeof *x;
    int status = 1;
    if (kernel_vg_worksize(n) <= sizeof work)
        status = kernel_vg(n, x, results, results + 1, work);
    if (call(1, 1, results, sizeof results) != sizeof results)
        status = 2;
    call(60, status, 0, 0);
}

__asm__(".globl _start\n_start: xor %%ebp, %%ebp\n and $-16, %%rsp\n call start\n");
"""


def energy(x: np.ndarray) -> np.float64:
    """Return a sum over all pairs of numbers, of functions that others take from a library."""
    apart = np.abs(x[:, None] - x) + 0.5
    return np.sum(np.exp(-apart) * np.sin(apart) / apart**1.5) + np.log1p(np.sum(np.tanh(x) ** 2))


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="system calls of x86-64")
def test_a_kernel_runs_without_a_c_library(tmp_path: Path) -> None:
    x = np.linspace(-2, 3, 23)
    compiled = gradc.compile(energy)
    compiled.export("kernel", spec="x: f64[n]", out=tmp_path)
    (tmp_path / "start.c").write_text(DRIVER % ", ".join(map(float.hex, x.tolist())))
    flags = ["-std=gnu99", "-O1", "-ffreestanding", "-fno-stack-protector", "-nostdlib", "-static"]
    command = ["cc", *flags, "start.c", "kernel.o", "-o", "program"]
    subprocess.run(command, cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "program"], capture_output=True, check=True)
    value, gradient = compiled.value_and_grad(x)
    assert done.stdout == struct.pack("d", value) + gradient.tobytes()
