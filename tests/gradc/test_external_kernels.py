"""Exported kernels as functions of C: their scratch, their status, their header."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradc
from gradc_codegen.interface.python_kernel import Kernel, KernelStatus
from gradc_ir.text.parser import parse_function
from gradc_ir.text.printer import print_function

X, W = np.linspace(2, 1, 9), np.linspace(-1, 1, 9)


def energy(x: Any, w: Any, a: Any) -> Any:
    """Return a number; takes scratch for a sorted copy and running sums."""
    return np.sum(np.cumsum(np.sort(x)) * w[::-1]) * a


def spread(x: Any, w: Any) -> Any:
    """Return two arrays."""
    return np.cumsum(np.sort(x)) * w, np.sum(x) * np.outer(x, w)


def chosen(x: Any, i: Any) -> Any:
    """Return elements, at indices that may lie outside."""
    return np.sort(x)[i]


def steps(x: Any) -> Any:
    """Return what a loop with a limit of its steps makes."""
    return gradc.while_loop(lambda v: v < 100.0, lambda v: v + 1, x, max_iter=20)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kernels")
    for name, function, spec in [
        ("gk_energy", energy, "x: f64[n], w: f64[n], a: f64"),
        ("gk_spread", spread, "x: f64[n], w: f64[m]"),
        ("gk_chosen", chosen, "x: f64[n], i: i64[m]"),
        ("gk_steps", steps, "x: f64"),
    ]:
        if name == "gk_spread":
            spec = "x: f64[n], w: f64[n]"
        gradc.compile(function).export(name, spec=spec, out=folder)
    command = ["cc", "-shared", "-o", "kernels.so", *(p.name for p in folder.glob("*.o"))]
    subprocess.run(command, cwd=folder, check=True)
    return folder


@pytest.fixture(scope="module")
def library(place: Path) -> ctypes.CDLL:
    return ctypes.CDLL(str(place / "kernels.so"))


@pytest.fixture(scope="module")
def bound(library: ctypes.CDLL, place: Path) -> Any:
    """The energy with a gradient: that of the kernel beside it."""
    made = gradc.external(library.gk_energy, header=place / "gk_energy.h")
    both = gradc.external(library.gk_energy_vg, header=place / "gk_energy.h")

    @made.def_vjp
    def reverse(upstream: Any, x: Any, w: Any, a: Any) -> Any:
        gradient = both(x, w, a)[1]
        return upstream * gradient, gradc.grad(energy, wrt=1)(x, w, a) * upstream, 0.0 * a

    return made


def caller(function: Any) -> Any:
    """Return a function that has scratch of its own in use while it calls."""

    def f(x: Any, w: Any) -> Any:
        before = np.cumsum(np.sort(w))
        return np.sum(np.cumsum(before * function(x, w, 2.0)) * before)

    return f


def near(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-13 * np.max(np.abs(wanted)))


def test_a_kernel_is_called_with_its_scratch(bound: Any) -> None:
    assert bound(X, W, 2.0) == energy(X, W, 2.0)
    assert bound(a=2.0, w=W, x=X) == energy(X, W, 2.0)
    f, plain = gradc.compile(caller(bound)), gradc.compile(caller(energy))
    for x, w in [(X, W), (X[:4], W[:4]), (X, W), (np.repeat(X, 500), np.repeat(W, 500))]:
        assert f(x, w) == plain(x, w)
        near(f.grad(x, w), plain.grad(x, w))
        value, pull = f.vjp(x, w, wrt=0)
        near(pull(1.0), plain.grad(x, w))
    rows = np.stack([X, X + 1, X[::-1]])
    assert gradc.vmap(lambda x: bound(x, W, 2.0))(rows).tolist() == [
        energy(row, W, 2.0) for row in rows
    ]
    total = gradc.compile(
        lambda rows: gradc.scan(lambda c, row: (c + bound(row, W, c), c), 1.0, rows)
    )
    value = 1.0
    for row in rows:
        value += energy(row, W, value)
    assert total(rows)[0] == value


def test_the_graph_prints_parses_and_is_interpreted(
    bound: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = gradc.compile(caller(bound), spec="x: f64[n], w: f64[n]").ir()
    assert parse_function(print_function(graph)) == graph
    monkeypatch.setenv("GRADC_DISABLE_JIT", "1")
    assert gradc.compile(caller(bound))(X, W) == gradc.compile(caller(energy))(X, W)


def test_without_a_header_the_spec_says_it(library: ctypes.CDLL) -> None:
    of_arrays = gradc.external(library.gk_spread, "x: f64[n], w: f64[n] -> (f64[n], f64[n,n])")
    for found, wanted in zip(of_arrays(X, W), spread(X, W), strict=True):
        np.testing.assert_array_equal(found, wanted)
    compiled = gradc.compile(lambda x, w: of_arrays(x, w)[1] @ of_arrays(w, x)[0])
    wanted = spread(X, W)[1] @ spread(W, X)[0]
    np.testing.assert_allclose(compiled(X, W), wanted, rtol=1e-13)
    address = ctypes.cast(library.gk_energy, ctypes.c_void_p).value
    by_address = gradc.external(
        address, "x: f64[n], w: f64[n], a: f64 -> f64", name="gk_energy_by_address"
    )
    assert by_address(X, W, 2.0) == energy(X, W, 2.0)


def test_its_status_is_an_error(library: ctypes.CDLL, place: Path) -> None:
    pick = gradc.external(library.gk_chosen, header=place / "gk_chosen.h")
    f = gradc.compile(lambda x, i: np.sum(pick(x, i)) * 2)
    assert f(X, np.array([0, 3])) == 2 * (np.sort(X)[0] + np.sort(X)[3])
    for call in (f, pick):
        with pytest.raises(gradc.IndexError, match="gk_chosen returned 3: an index lies outside"):
            call(X, np.array([0, 9]))
    with pytest.raises(gradc.IndexError, match="gk_chosen") as error:
        f(X, np.array([0, 9]))
    assert "np.sum(pick(x, i))" in str(error.value)
    loop = gradc.external(library.gk_steps, header=place / "gk_steps.h")
    g = gradc.compile(lambda x: gradc.while_loop(lambda v: v < 0.0, loop, x, max_iter=3))
    assert g(1.0) == 1.0
    with pytest.raises(gradc.LoopError, match=r"gk_steps returned 6: .* its limit"):
        g(-5.0)


MAIN = r"""
#include <stdio.h>
#include <stdlib.h>
#include "twice.h"
#include "gk_energy.h"
int main(void) {
    double x[9], w[9], y;
    for (int i = 0; i < 9; i++) { x[i] = 2 - i / 8.0; w[i] = -1 + i / 4.0; }
    size_t bytes = twice_worksize(9);
    if (bytes <= gk_energy_worksize(9)) return 9;
    char *work = malloc(bytes);
    if (twice(9, x, w, &y, NULL) != TWICE_E_WORK) return 8;
    int status = twice(9, x, w, &y, work);
    printf("%a\n", y);
    free(work);
    return status;
}
"""


def test_a_kernel_that_calls_a_kernel_is_exported(bound: Any, place: Path) -> None:
    twice = gradc.compile(caller(bound), spec="x: f64[n], w: f64[n]")
    twice.export("twice", out=place, of="value")
    header = (place / "twice.h").read_text()
    assert " *   int gk_energy(int64_t, const double *, const double *, double," in header
    assert " *   size_t gk_energy_worksize(int64_t);\n" in header
    (place / "main.c").write_text(MAIN)
    command = ["cc", "-o", "main", "main.c", "twice.o", "gk_energy.o"]
    subprocess.run(command, cwd=place, check=True)
    text = subprocess.run([place / "main"], capture_output=True, text=True, check=True).stdout
    assert float.fromhex(text) == gradc.compile(caller(energy))(X, W)


def test_a_status_of_a_kernel_is_that_of_its_caller(library: ctypes.CDLL, place: Path) -> None:
    pick = gradc.external(library.gk_chosen, header=place / "gk_chosen.h")
    f = gradc.compile(
        lambda x, i: gradc.scan(lambda c, row: (c + np.sum(pick(x, row)), c), 0.0, i)[0]
    )
    kernel: Kernel = gradc.runtime.executable.Executable(f.ir(X, np.zeros((2, 3), int))).kernel
    with pytest.raises(KernelStatus, match="INDEX"):
        kernel([X, np.array([[0, 1, 2], [3, 4, 9]])])


def test_what_is_refused(library: ctypes.CDLL, place: Path, tmp_path: Path) -> None:
    def refused(error: type[Exception], match: str, *args: Any, **kwargs: Any) -> None:
        with pytest.raises(error, match=match):
            gradc.external(*args, **kwargs)

    function, header = library.gk_energy, place / "gk_energy.h"
    spec = "x: f64[n], w: f64[n] -> f64"
    refused(gradc.ParseError, "tells another spec of gk_energy", function, spec, header=header)
    refused(gradc.ParseError, "has no kernel gk_spread", library.gk_spread, header=header)
    refused(gradc.ParseError, "cannot read", function, header=tmp_path / "none.h")
    (tmp_path / "other.h").write_text("int gk_energy(void);")
    refused(gradc.ParseError, "no header that gradc wrote", function, header=tmp_path / "other.h")
    refused(gradc.ParseError, "needs the arguments and results of gk_energy", function)
    alone = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 0)
    name = {"name": "gk_energy", "header": header}
    refused(gradc.TraceError, "no gk_energy_worksize beside", alone, **name)

    def unbounded(x: Any) -> Any:
        return gradc.while_loop(lambda v: v < 5.0, lambda v: v * v, x)

    gradc.compile(unbounded).export("gk_taped", spec="x: f64", out=tmp_path)
    taped = {"name": "gk_taped_vg", "header": tmp_path / "gk_taped.h"}
    refused(gradc.TraceError, "takes tape, how many steps", alone, **taped)
    whole = gradc.external(function, "x: f64[n], w: f64[n], a: f64 -> f64")
    with pytest.raises(gradc.ShapeError, match=r"w is f64\[3\], not f64\[n\]"):
        whole(X, np.ones(3), 2.0)
