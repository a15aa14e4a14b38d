"""Functions of C inside kernels: called, differentiated, batched, exported and linked."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import weakref
from pathlib import Path

import numpy as np
import pytest

import gradc
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.text.parser import parse_function
from gradc_ir.text.printer import print_function
from tests.comparing import assert_same_bits

SOURCE = """
#include <math.h>
#include <stdint.h>
double gt_wave(double x, double k) { return sin(k * x); }
float gt_cube(float x) { return x * x * x; }
int32_t gt_twice(int32_t x) { return 2 * x; }
void gt_smooth(int64_t n, const double *x, double h, double *y, double *total) {
  *total = 0;
  for (int64_t i = 0; i < n; i++) {
    y[i] = h * x[i] + (i ? x[i - 1] : 0);
    *total += x[i];
  }
}
void gt_outer(int64_t n, int64_t m, const double *x, const float *y, double *z) {
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < m; j++) z[i * m + j] = x[i] * y[j];
}
"""
X = np.linspace(-1, 2, 7)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("external")
    (folder / "functions.c").write_text(SOURCE)
    subprocess.run(
        ["cc", "-O1", "-shared", "-fPIC", "-o", "functions.so", "functions.c", "-lm"],
        cwd=folder,
        check=True,
    )
    return folder


@pytest.fixture(scope="module")
def library(place: Path) -> ctypes.CDLL:
    return ctypes.CDLL(str(place / "functions.so"))


@pytest.fixture
def wave(library: ctypes.CDLL):
    made = gradc.external(library.gt_wave, "x: f64, k: f64 -> f64")

    @made.def_partials
    def partials(x, k):
        return k * np.cos(k * x), x * np.cos(k * x)

    return made


def smooth_of(library: ctypes.CDLL):
    smooth = gradc.external(library.gt_smooth, "x: f64[n], h: f64 -> (f64[n], f64)")

    @smooth.def_vjp
    def smooth_vjp(upstream, x, h):
        by_y, by_total = upstream
        by_x = h * by_y + by_total
        by_x[:-1] += by_y[1:]
        return by_x, np.sum(by_y * x)

    return smooth


def smooth_in_numpy(x, h):
    return h * x + np.concatenate([np.zeros(1), x[:-1]]), np.sum(x)


def test_a_function_of_numbers_broadcasts(wave) -> None:
    assert wave(0.5, 2.0) == pytest.approx(np.sin(1.0))
    assert wave(k=2.0, x=1) == pytest.approx(np.sin(2.0))
    f = gradc.compile(lambda x, k: wave(x, k))
    np.testing.assert_allclose(f(X, 2.0), np.sin(2 * X), rtol=1e-15)
    assert f(X[:, None], np.ones(2)).shape == (7, 2)
    assert f(0.5, 2.0) == pytest.approx(np.sin(1.0))
    assert f(np.zeros((0, 3)), 2.0).shape == (0, 3)


def test_its_derivatives_are_those_it_is_given(wave) -> None:
    f = gradc.compile(lambda x, k: np.sum(wave(x, k) * x))
    np.testing.assert_allclose(f.grad(X, 2.0), np.sin(2 * X) + 2 * X * np.cos(2 * X), rtol=1e-14)
    np.testing.assert_allclose(f.hessian(X, 2.0, wrt=1), -np.sum(X**3 * np.sin(2 * X)), rtol=1e-14)
    tangent = f.jvp((X, 2.0), (None, 1.0))[1]
    np.testing.assert_allclose(tangent, np.sum(X**2 * np.cos(2 * X)), rtol=1e-14)


def test_in_loops_branches_and_over_points(wave) -> None:
    def f(x):
        last = gradc.scan(lambda c, row: (wave(c, row), c), x, np.arange(1.0, 4.0))[0]
        return gradc.cond(x > 0, lambda: last, lambda: x)

    def g(x):
        return np.sin(3 * np.sin(2 * np.sin(x)))

    assert gradc.grad(f)(0.3) == pytest.approx(gradc.grad(g)(0.3), rel=1e-13)
    found = gradc.vmap(gradc.grad(f))(np.array([0.3, 0.4, -1.0]))
    assert found == pytest.approx([gradc.grad(g)(0.3), gradc.grad(g)(0.4), 1.0], rel=1e-13)


def test_a_function_of_arrays(library: ctypes.CDLL) -> None:
    smooth = smooth_of(library)
    for x in (X, np.arange(3.0)):
        for given, wanted in zip(smooth(x, 2.0), smooth_in_numpy(x, 2.0), strict=True):
            assert_same_bits(np.asarray(given), np.asarray(wanted))

    def loss(function, x, h):
        y, total = function(x, h)
        return np.sum(y * y) + total * h

    compiled = gradc.compile(lambda x, h: loss(smooth, x, h))
    for x in (X, np.arange(3.0), np.ones(1)):
        wanted = gradc.grad(lambda x, h: loss(smooth_in_numpy, x, h), wrt=(0, 1))(x, 2.0)
        found = compiled.grad(x, 2.0, wrt=(0, 1))
        np.testing.assert_allclose(found[0], wanted[0], rtol=1e-14)
        np.testing.assert_allclose(found[1], wanted[1], rtol=1e-14)
    rows = np.arange(6.0).reshape(2, 3)
    stacked = gradc.vmap(lambda x: smooth(x, 2.0)[0])(rows)
    assert stacked.tolist() == [smooth(row, 2.0)[0].tolist() for row in rows]


def test_dtypes_and_several_sizes(library: ctypes.CDLL) -> None:
    outer = gradc.external(library.gt_outer, "x: f64[n], y: f32[m] -> f64[n,m]")
    y = np.ones(2, np.float32)
    assert gradc.compile(lambda x, y: outer(x, y))(X, y).tolist() == np.outer(X, y).tolist()
    cube = gradc.external(library.gt_cube, "x: f32 -> f32")
    assert_same_bits(gradc.compile(cube)(np.float32(3)), np.float32(27))
    assert_same_bits(gradc.compile(lambda x: cube(2.0) * x)(np.float32(3)), np.float32(24))
    twice = gradc.external(library.gt_twice, "x: i32 -> i32")
    assert_same_bits(gradc.compile(twice)(np.arange(3, dtype=np.int32)), np.int32([0, 2, 4]))


def test_the_graph_prints_parses_and_is_interpreted(wave, library: ctypes.CDLL) -> None:
    smooth = smooth_of(library)
    f = gradc.compile(lambda x, h: np.sum(smooth(wave(x, h), h)[0]), spec="x: f64[n], h: f64")
    graph = f.ir()
    assert parse_function(print_function(graph)) == graph
    (found,) = interpret(graph, [X, np.float64(2.0)])
    assert found == pytest.approx(f(X, 2.0), rel=1e-14)


def test_without_rules_there_is_no_gradient(library: ctypes.CDLL) -> None:
    bare = gradc.external(library.gt_wave, "x: f64, k: f64 -> f64")
    with pytest.raises(LookupError, match="gt_wave has no derivative rule") as error:
        gradc.grad(lambda x: bare(x, 2.0))(1.0)
    assert "bare(x, 2.0)" in str(error.value)
    assert gradc.grad(lambda x: x * gradc.stop_gradient(bare(x, 2.0)))(1.0) == np.sin(2.0)


def test_an_exported_kernel_is_linked_with_it(wave, place: Path) -> None:
    f = gradc.compile(lambda x, k: np.sum(wave(x, k) ** 2), spec="x: f64[n], k: f64")
    f.export("waves", out=place)
    header = (place / "waves.h").read_text()
    assert "It calls functions of yours: link with what defines" in header
    assert "double gt_wave(double, double);" in header
    (place / "main.c").write_text("""
#include <stdio.h>
#include "waves.h"
int main(void) {
  double x[3] = {0.5, 1.0, 2.0}, y, g[3], work[4096];
  if (waves_vg_worksize(3) > sizeof work) return 2;
  int status = waves_vg(3, x, 2.0, &y, g, work);
  printf("%.17g %.17g\\n", y, g[1]);
  return status;
}
""")
    subprocess.run(
        ["cc", "-o", "main", "main.c", "waves.o", "functions.c", "-lm"], cwd=place, check=True
    )
    text = subprocess.run([place / "main"], capture_output=True, text=True, check=True).stdout
    x = np.array([0.5, 1.0, 2.0])
    value, gradient = f.value_and_grad(x, 2.0)
    assert [float(word) for word in text.split()] == [value, gradient[1]]


def test_numba_and_addresses(library: ctypes.CDLL) -> None:
    class CompiledByNumba:
        """What ``numba.cfunc`` makes, as far as it counts."""

        address = ctypes.cast(library.gt_wave, ctypes.c_void_p).value
        native_name = "cfunc._ZN7gt_wave"
        __name__ = "gt_wave"

    made = gradc.external(CompiledByNumba(), "x: f64, k: f64 -> f64")
    assert made(1.0, 2.0) == np.sin(2.0)
    renamed = gradc.external(CompiledByNumba.address, "x: f64, k: f64 -> f64", name="gt_other")
    assert gradc.compile(renamed)(1.0, 2.0) == np.sin(2.0)


def test_what_is_refused(library: ctypes.CDLL) -> None:
    def refused(error: type[Exception], match: str, *args, **kwargs) -> None:
        with pytest.raises(error, match=match):
            gradc.external(*args, **kwargs)

    refused(gradc.TraceError, "not a function", lambda x: x, "x: f64 -> f64")
    refused(gradc.ParseError, "does not say what", library.gt_wave, "x: f64")
    refused(gradc.ParseError, "no argument has the size m", library.gt_wave, "x: f64[n] -> f64[m]")
    refused(gradc.ParseError, "is a bool", library.gt_wave, "x: bool -> f64")
    refused(gradc.TraceError, "another function in this process", 4096, "x: f64 -> f64", name="exp")
    refused(gradc.TraceError, "another external", 4096, "x: f64 -> f64", name="gt_wave")
    refused(gradc.TraceError, "no name of a function in C", 4096, "x: f64 -> f64", name="a b")
    refused(gradc.TraceError, "needs the name", 4096, "x: f64 -> f64")
    cube = gradc.external(library.gt_cube, "x: f32 -> f32")
    with pytest.raises(gradc.DTypeError, match=r"x is f64\[7\], and f32 is wanted"):
        cube(X)
    outer = gradc.external(library.gt_outer, "x: f64[n], y: f32[n] -> f64[n,n]")
    with pytest.raises(gradc.ShapeError, match=r"y is f32\[2\], not f32\[n\]"):
        outer(X, np.ones(2, np.float32))


# -- how long it is kept ---------------------------------------------------------------------------


class Callback:
    """A function of C made of one of Python's, gone when nothing calls it any more."""

    def __init__(self, factor: float) -> None:
        self.made = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: factor * x)
        self.address = ctypes.cast(self.made, ctypes.c_void_p).value


def scaled_by(factor: float):
    """Return a function that calls one of C, and what tells whether that is still there."""
    callback = Callback(factor)
    scaled = gradc.external(callback, "x: f64 -> f64", name="gt_scaled")
    scaled.def_partials(lambda x: (factor,))
    return gradc.compile(lambda x: scaled(x) * x), weakref.ref(callback)


@pytest.mark.parametrize("interpreted", [False, True])
def test_what_calls_a_function_keeps_it(interpreted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADC_DISABLE_JIT", str(int(interpreted)))
    f, callback = scaled_by(3.0)
    graph = f.ir(2.0)
    _, push = f.linearize(2.0)
    del f
    gc.collect()
    assert push(1.0) == 12.0
    with pytest.raises(gradc.TraceError, match="another external"):
        scaled_by(5.0)
    del push
    gc.collect()
    assert interpret(graph, [np.array(2.0)])[0] == 12.0
    del graph
    gc.collect()
    assert callback() is None


def test_a_name_is_free_when_its_function_is_gone() -> None:
    for factor in (2.0, 7.0):
        f, callback = scaled_by(factor)
        assert f(3.0) == 9.0 * factor
        del f
        gc.collect()
        assert callback() is None


def test_a_function_made_in_traced_code_lives_with_its_graph() -> None:
    callback = Callback(4.0)
    f = gradc.compile(lambda x: gradc.external(callback, "x: f64 -> f64", name="gt_inner")(x))
    for x in (1.0, np.ones(2), np.ones((2, 3))):
        gc.collect()
        np.testing.assert_array_equal(f(x), 4.0 * x)
