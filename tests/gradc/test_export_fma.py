"""Kernels for CPUs without fused multiply-add: the same bits."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import gradc
from gradc.cli.main import group
from gradc_ir.errors import ExportError

LINUX = "x86_64-unknown-linux-gnu"
SPEC = "x: f64[n], w: f64[n]"

DRIVER = r"""
#include <stdio.h>
#include "kernel.h"

int main(void) {
    static double x[1000], w[1000], g[1000], work[8000];
    double y;
    for (int i = 0; i < 1000; i++) {
        x[i] = (i * 7919 % 1000) / 499.7 - 1;
        w[i] = 1.0 / (i + 3) - 0.006;
    }
    if (kernel_vg_worksize(1000) > sizeof work || kernel_vg(1000, x, w, &y, g, work))
        return 1;
    printf("%a\n", y);
    for (int i = 0; i < 1000; i++)
        printf("%a\n", g[i]);
    return 0;
}
"""


def score(x: np.ndarray, w: np.ndarray) -> np.float64:
    return (x @ w) * np.sum(np.sin(30 * x) ** 2 + np.tanh(w))


def run(folder: Path, cpu: str, fma: str | None) -> list[str]:
    """Return what a C program prints that is linked with the kernel."""
    gradc.compile(score).export(
        "kernel", spec=SPEC, out=folder, cpu=cpu, triple=LINUX, fma=fma, wrt="x"
    )
    listing = subprocess.run(
        ["nm", "--undefined-only", folder / "kernel.o"], capture_output=True, text=True, check=True
    )
    assert listing.stdout == ""
    (folder / "main.c").write_text(DRIVER)
    command = ["cc", "-std=c99", "main.c", "kernel.o", "-o", "main"]
    subprocess.run(command, cwd=folder, check=True)
    done = subprocess.run([folder / "main"], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="runs code for x86-64")
def test_emulated_kernels_have_the_bits_of_others_and_split_ones_do_not(tmp_path: Path) -> None:
    wanted = run(tmp_path, "x86-64-v3", None)
    assert run(tmp_path, "x86-64", "emulate") == wanted
    assert run(tmp_path, "x86-64-v3", "emulate") == wanted
    split = run(tmp_path, "x86-64", "split")
    assert split != wanted
    assert split == run(tmp_path, "x86-64-v3", "split")
    np.testing.assert_allclose(*([float.fromhex(x) for x in y] for y in (split, wanted)), 1e-12)


def test_the_header_says_that_products_are_rounded(tmp_path: Path) -> None:
    for fma, arithmetic in [
        ("emulate", "x86-64, strict IEEE, ir-hash"),
        ("split", "x86-64, strict IEEE, products rounded before they are added, ir-hash"),
    ]:
        options = ["--spec", SPEC, "--cpu", "x86-64", "--target", LINUX, "--fma", fma]
        module = tmp_path / "model.py"
        module.write_text("def dot(x, w):\n    return x @ w\n")
        command = ["export", f"{module}:dot", "--out", str(tmp_path), *options]
        done = CliRunner().invoke(group, command)
        assert done.exit_code == 0, done.output
        assert arithmetic in (tmp_path / "dot.h").read_text(encoding="utf-8")


def test_what_is_refused_and_what_helps(tmp_path: Path) -> None:
    compiled = gradc.compile(score)
    with pytest.raises(ExportError) as error:
        compiled.export("kernel", spec=SPEC, out=tmp_path, cpu="x86-64", triple=LINUX)
    assert str(error.value).startswith("x86-64 has no fused multiply-add")
    assert 'help: fma="emulate" computes the same bits, several times slower; fma="split"' in str(
        error.value
    )
    with pytest.raises(ExportError, match="fma is 'fast'"):
        compiled.export("kernel", spec=SPEC, out=tmp_path, fma="fast")
    assert not list(tmp_path.glob("*"))
