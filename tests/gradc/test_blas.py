"""Matrix products by BLAS, as users meet them: the option, gradients, exported kernels."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import gradc
from gradc.cli.export import export
from gradc.runtime.executable import Executable
from gradc_ir.interpreter.interpret import interpret
from tests.comparing import assert_same_bits
from tests.gradc.test_export import C_FLAGS


def network(w: Any, v: Any, x: Any, y: Any) -> Any:
    return np.sum((np.tanh(x @ w) @ v - y) ** 2)


def attention(q: Any, k: Any, v: Any) -> Any:
    scores = np.einsum("bihd,bjhd->bhij", q, k) / q.shape[-1] ** 0.5
    shares = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    shares = shares / np.sum(shares, axis=-1, keepdims=True)
    return np.sum(np.einsum("bhij,bjhd->bihd", shares, v) ** 2)


def arguments(*shapes: tuple[int, ...], dtype: type = np.float64) -> list[Any]:
    random = np.random.default_rng(len(shapes))
    return [(random.normal(size=shape) * 0.2).astype(dtype) for shape in shapes]


PROGRAMS = {
    "network": (network, ((50, 30), (30, 20), (60, 50), (60, 20)), (0, 1)),
    "attention": (attention, ((2, 48, 3, 96), (2, 64, 3, 96), (2, 64, 3, 96)), (0, 1, 2)),
}


def assert_near(found: Any, want: Any) -> None:
    epsilon = np.finfo(want.dtype).eps
    np.testing.assert_allclose(found, want, rtol=1e4 * epsilon, atol=1e3 * epsilon)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_gradients_agree_with_the_loops(name: str, dtype: type) -> None:
    function, shapes, wrt = PROGRAMS[name]
    given = arguments(*shapes, dtype=dtype)
    by_blas, by_loops = gradc.compile(function), gradc.compile(function, blas=False)
    value, gradients = by_blas.value_and_grad(*given, wrt=wrt)
    wanted_value, wanted = by_loops.value_and_grad(*given, wrt=wrt)
    assert_near(value, np.asarray(wanted_value))
    for found, want in zip(gradients, wanted, strict=True):
        assert_near(found, want)
    for options, used in (({}, True), ({"blas": False}, False)):
        text = gradc.compile(function, **options).dump(*given, of="value_and_grad", stage="loops")
        assert ("matrix_product" in text) == used


def test_the_second_size_has_it_too() -> None:
    function = gradc.compile(network)
    for samples in (40, 3, 200):
        given = arguments((50, 30), (30, 20), (samples, 50), (samples, 20))
        plain = gradc.compile(network, blas=False)
        for found, want in zip(
            function.grad(*given, wrt=(0, 1)), plain.grad(*given, wrt=(0, 1)), strict=True
        ):
            assert_near(found, want)
    text = function.dump("w: f64[50,30], v: f64[30,20], x: f64[n,50], y: f64[n,20]", stage="loops")
    assert "kernel @by_blas" in text


def test_without_it_results_are_the_interpreter_s_to_the_bit() -> None:
    def product(x: Any, y: Any) -> Any:
        return x @ y

    given = arguments((40, 50), (50, 60))
    function = gradc.compile(product, blas=False)
    (want,) = interpret(function.ir(*given), given)
    assert_same_bits(function(*given), want)
    (found,) = Executable(function.ir(*given))(given)
    assert_same_bits(found, want)
    assert_near(gradc.compile(product)(*given), want)


MAIN = r"""
#include <stdio.h>
#include <stdlib.h>
#include "product.h"
int main(void) {
    static double x[40 * 50], y[50 * 60], z[40 * 60];
    void *work = malloc(product_worksize() + 1);
    for (int i = 0; i < 40 * 50; i++)
        x[i] = i % 7;
    for (int i = 0; i < 50 * 60; i++)
        y[i] = i % 5;
    if (product(x, y, z, work) != PRODUCT_OK)
        return 1;
    for (int i = 0; i < 40 * 60; i++)
        printf("%.0f\n", z[i]);
    free(work);
    return 0;
}
"""
# What a BLAS does, as the manual says; the lengths of the letters are the last arguments.
LIBRARY = r"""
#include <stddef.h>
#include "library.h"
void dgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k,
            const double *alpha, const double *a, const int *lda, const double *b, const int *ldb,
            const double *beta, double *c, const int *ldc, size_t la, size_t lb) {
    if (*alpha != 1.0 || *beta != 0.0 || la + lb != 2)
        return;
    for (int j = 0; j < *n; j++)
        for (int i = 0; i < *m; i++) {
            double s = 0.0;
            for (int l = 0; l < *k; l++)
                s += (*transa == 'N' ? a[i + l * *lda] : a[l + i * *lda]) *
                     (*transb == 'N' ? b[l + j * *ldb] : b[j + l * *ldb]);
            c[i + j * *ldc] = s;
        }
}
"""
PROTOTYPE = """
void dgemm_(const char *, const char *, const int *, const int *, const int *, const double *,
            const double *, const int *, const double *, const int *, const double *, double *,
            const int *, size_t, size_t);
"""


@pytest.mark.parametrize("blas", [False, True])
def test_exported_kernels_call_it_when_asked(tmp_path: Path, blas: bool) -> None:
    function = gradc.compile(lambda x, y: x @ y, spec="x: f64[40,50], y: f64[50,60]")
    code, header = function.export("product", out=tmp_path, blas=blas)
    linked = " * It calls BLAS, with 32-bit integers: link with -lblas, for\n * dgemm_\n"
    assert (linked in header.read_text()) == blas
    listing = subprocess.run(["nm", "--undefined-only", code], capture_output=True, text=True)
    assert ("dgemm_" in listing.stdout) == blas
    (tmp_path / "main.c").write_text(MAIN)
    (tmp_path / "library.c").write_text(LIBRARY)
    (tmp_path / "library.h").write_text(PROTOTYPE)
    files = ["library.c"] if blas else []
    command = ["cc", *C_FLAGS, "main.c", "product.o", *files, "-lm", "-o", "main"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([tmp_path / "main"], capture_output=True, text=True)
    x = np.arange(40 * 50).reshape(40, 50) % 7
    y = np.arange(50 * 60).reshape(50, 60) % 5
    assert [int(word) for word in done.stdout.split()] == (x @ y).reshape(-1).tolist()


def test_the_command_line_asks_for_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    Path("multiplied.py").write_text("def product(x, y):\n    return x @ y\n")
    spec = ("--spec", "x: f64[40,50], y: f64[50,60]")
    for options, calls in (((), False), (("--no-blas",), False), (("--blas",), True)):
        done = CliRunner().invoke(export, ["multiplied.py:product", *spec, *options])
        assert done.exit_code == 0, done.output
        assert ("dgemm_" in Path("product.h").read_text()) == calls
