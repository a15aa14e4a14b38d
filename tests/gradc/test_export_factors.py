"""Exported kernels that factor matrices: small ones need libm alone, large ones a LAPACK."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np

from gradc.runtime.export import export
from gradc_codegen.interface.python_kernel import Kernel
from gradc_codegen.lower.lower import lower
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import Size, symbol
from gradc_ir.core.types import DType, Type
from tests.gradc.test_export import C_FLAGS


def whitened(n: Size) -> Function:
    """Return the solution of L x = b, L being the lower factor of a."""
    with Builder() as builder:
        a = builder.param(0, Type(DType.F64, (n, n)))
        b = builder.param(1, Type(DType.F64, (n,)))
        column = build.reshape(b, (n, 1))
        x = build.triangular_solve(build.cholesky(a), column, lower=True)
        return builder.function("model", [a, b], [build.reshape(x, (n,))], ("a", "b"))


MAIN = r"""
#include <stdio.h>
#include <stdlib.h>
#include "model.h"
#define N %d
int main(void) {
    static double a[N * N], b[N], y[N];
    void *work = malloc(%s + 1);
    for (int i = 0; i < N * N; i++)
        a[i] = i / N == i %% N ? 4 + i : 0.5;
    for (int i = 0; i < N; i++)
        b[i] = i - 1;
    if (model(%s a, b, y, work) != MODEL_OK)
        return 1;
    for (int i = 0; i < N; i++)
        printf("%%a\n", y[i]);
    free(work);
    return 0;
}
"""

# What a LAPACK does, as the manual says; the lengths of the letters are the last arguments.
LIBRARY = r"""
#include <math.h>
#include <stddef.h>
#include "library.h"
void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info, size_t length) {
    *info = *uplo != 'U' || length != 1 ? -1 : 0;
    for (int j = 0; j < *n; j++)
        for (int i = 0; i <= j; i++) {
            double s = a[i + j * *lda];
            for (int k = 0; k < i; k++)
                s -= a[k + i * *lda] * a[k + j * *lda];
            a[i + j * *lda] = i == j ? sqrt(s) : s / a[i + i * *lda];
        }
}
void dtrsm_(const char *side, const char *uplo, const char *transa, const char *diag, const int *m,
            const int *n, const double *alpha, const double *a, const int *lda, double *b,
            const int *ldb, size_t l1, size_t l2, size_t l3, size_t l4) {
    /* x times the upper triangle a is b */
    if (*side != 'R' || *uplo != 'U' || *transa != 'N' || *diag != 'N' || *alpha != 1.0 ||
        l1 + l2 + l3 + l4 != 4)
        return;
    for (int j = 0; j < *n; j++)
        for (int i = 0; i < *m; i++) {
            double s = b[i + j * *ldb];
            for (int k = 0; k < j; k++)
                s -= b[i + k * *ldb] * a[k + j * *lda];
            b[i + j * *ldb] = s / a[j + j * *lda];
        }
}
"""
PROTOTYPES = """
void dpotrf_(const char *, const int *, double *, const int *, int *, size_t);
void dtrsm_(const char *, const char *, const char *, const char *, const int *, const int *,
            const double *, const double *, const int *, double *, const int *, size_t, size_t,
            size_t, size_t);
"""


def run(folder: Path, count: int, worksize: str, first: str, *files: str) -> np.ndarray:
    """Compile and run the C program; return the numbers it prints."""
    (folder / "main.c").write_text(MAIN % (count, worksize, first))
    command = ["cc", *C_FLAGS, "main.c", "model.o", *files, "-lm", "-o", "main"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([folder / "main"], capture_output=True, text=True)
    assert done.returncode == 0
    return np.array([float.fromhex(word) for word in done.stdout.split()])


def arguments(count: int) -> list[np.ndarray]:
    a = np.full((count, count), 0.5)
    np.fill_diagonal(a, 4 + np.arange(0, count * count, count + 1))
    return [a, np.arange(count) - 1.0]


def test_small_systems_need_only_libm(tmp_path: Path) -> None:
    function = whitened(4)
    _, header = export({"": function}, "model", tmp_path)
    assert "LAPACK" not in header.read_text()
    found = run(tmp_path, 4, "model_worksize()", "")
    (want,) = Kernel(function, lower(function, "model"), "model")(arguments(4))
    assert found.tobytes() == want.tobytes()


def test_large_systems_are_linked_with_any_lapack(tmp_path: Path) -> None:
    function = whitened(symbol("n"))
    code, header = export({"": function}, "model", tmp_path)
    assert (
        " * It calls BLAS and LAPACK, with 32-bit integers: link with -llapack -lblas, for\n"
        " * dpotrf_, dtrsm_\n"
    ) in header.read_text()
    listing = subprocess.run(["nm", "--undefined-only", code], capture_output=True, text=True)
    assert {line.split()[-1] for line in listing.stdout.splitlines()} == {"dpotrf_", "dtrsm_"}
    (tmp_path / "library.c").write_text(LIBRARY)
    (tmp_path / "library.h").write_text(PROTOTYPES)
    found = run(tmp_path, 40, "model_worksize(N)", "N,", "library.c")
    a, b = arguments(40)
    np.testing.assert_allclose(found, np.linalg.solve(np.linalg.cholesky(a), b), rtol=1e-12)
