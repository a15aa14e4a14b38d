"""Rules of functions of C that read ``output`` are differentiated again, to the order asked for."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest

import gradc
from gradc.testing import check_grads

SOURCE = """
#include <math.h>
#include <stdint.h>
double go_grow(double x) { return exp(x); }
void go_tanh(int64_t n, const double *x, double k, double *y) {
  for (int64_t i = 0; i < n; i++) y[i] = tanh(k * x[i]);
}
"""
X = np.array([0.3, -0.7, 1.1])


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder: Path = tmp_path_factory.mktemp("output")
    (folder / "functions.c").write_text(SOURCE)
    command = ["cc", "-O1", "-shared", "-fPIC", "-o", "functions.so", "functions.c", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "functions.so"))


@pytest.mark.parametrize("kind", ["vjp", "jvp", "partials"])
def test_the_third_derivative_of_a_function_of_numbers(library: ctypes.CDLL, kind: str) -> None:
    grow = gradc.external(library.go_grow, "x: f64 -> f64")
    if kind == "vjp":
        grow.def_vjp(lambda upstream, x, output: upstream * output)
    elif kind == "jvp":
        grow.def_jvp(lambda tangents, x, output: tangents[0] * output)
    else:
        grow.def_partials(lambda x, output: output)

    def step(f):
        if kind == "jvp":
            return lambda x: gradc.jvp(f, (x,), (1.0,))[1]
        return gradc.grad(f)

    third = step(step(step(lambda x: grow(2 * x))))
    assert third(0.5) == pytest.approx(8 * np.e, rel=1e-12)


def test_second_derivatives_of_a_function_of_arrays(library: ctypes.CDLL) -> None:
    bent = gradc.external(library.go_tanh, "x: f64[n], k: f64 -> f64[n]")

    @bent.def_vjp
    def bent_vjp(upstream, x, k, output):
        slope = upstream * (1 - output * output)
        return k * slope, np.sum(slope * x)

    @bent.def_jvp
    def bent_jvp(tangents, x, k, output):
        dx, dk = tangents
        return (1 - output * output) * (k * dx + dk * x)

    f = gradc.compile(lambda x, k: np.sum(bent(x, k) ** 2))
    plain = gradc.compile(lambda x, k: np.sum(np.tanh(k * x) ** 2))
    np.testing.assert_allclose(f.hessian(X, 0.8), plain.hessian(X, 0.8), rtol=1e-11)
    np.testing.assert_allclose(
        gradc.vmap(gradc.grad(gradc.grad(lambda k, x: f(x, k))), in_axes=(0, None))(
            np.array([0.5, 0.8]), X
        ),
        [plain.hessian(X, k, wrt=1) for k in (0.5, 0.8)],
        rtol=1e-11,
    )
    check_grads(f, (X, 0.8), order=2)
