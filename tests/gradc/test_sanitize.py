"""The harness that runs exported kernels between forbidden pages: a sample, and what it finds."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from gradc_ir.core.types import DType, Type
from tools.sanitize import Kernel, build_and_run, cases, check

KERNEL = """
#include <stddef.h>
#include <stdint.h>
#include <string.h>
size_t bad_worksize(void) {{ return {worksize}; }}
int bad(const double *x, double *y, void *work) {{
    double *w = work;
    {body}
    return 0;
}}
"""
HEADER = """
#include <stddef.h>
size_t bad_worksize(void);
int bad(const double *x, double *y, void *work);
"""
FINE = "for (int i = 0; i < 3; i++) { w[i] = x[i]; if (y) y[i] = 2 * w[i]; }"


def run(folder: Path, body: str, worksize: int = 64 + 24) -> subprocess.CompletedProcess[str]:
    """Return how the harness ends with a kernel that is written in C."""
    (folder / "bad.h").write_text(HEADER)
    (folder / "bad.c").write_text(KERNEL.format(body=body, worksize=worksize))
    command = ["cc", "-O0", "-fno-builtin", "-c", "bad.c"]
    subprocess.run(command, cwd=folder, check=True)
    three = Type(DType.F64, (3,))
    parameters = ["const double *x", "double *y", "void *work"]
    kernel = Kernel("bad", parameters, {}, [np.array([1.0, 2.0, 3.0])], [three])
    return build_and_run([kernel], folder)


def test_a_kernel_that_keeps_to_its_buffers_passes(tmp_path: Path) -> None:
    done = run(tmp_path, FINE)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "1 kernels, 6 calls, 0 of them with a status, 0 failed\n"


@pytest.mark.parametrize(
    "fault",
    [
        "w[0] = x[3];",
        pytest.param("w[0] = x[-1];", marks=pytest.mark.slow),
        pytest.param("w[0] = ((const char *)x)[24];", marks=pytest.mark.slow),
        "((double *)x)[0] = 1;",
        "if (y) y[3] = 1;",
        pytest.param("if (y) y[-1] = 1;", marks=pytest.mark.slow),
        pytest.param("y[0] = 1;", marks=pytest.mark.slow),
        "w[3] = 1;",
        pytest.param("w[-1] = 1;", marks=pytest.mark.slow),
        "static int calls; if (y) y[1] = calls++;",
        "static int calls; if (calls++) return 3;",
    ],
)
def test_faults_are_found(fault: str, tmp_path: Path) -> None:
    assert run(tmp_path, f"{FINE} {fault}").returncode != 0


def test_a_result_of_scratch_that_nobody_wrote_is_found(tmp_path: Path) -> None:
    done = run(tmp_path, f"double found = w[1]; {FINE} if (y) y[0] = found;")
    assert done.returncode == 1
    assert "bad: result 0 differs" in done.stdout


@pytest.mark.slow
def test_a_sample_of_kernels_is_clean(tmp_path: Path) -> None:
    chosen = [
        case
        for case in cases()
        if case.name
        in ("nested_loss", "nested_results", "kalman_loglik", "logistic_f32", "rnn_f64")
    ]
    told: list[str] = []
    done = check(chosen, tmp_path, 3, told.append)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-3000:]}"
    assert len(chosen) >= 4
