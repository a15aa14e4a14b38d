"""Exported kernels for any number of elements, of functions that want some at least."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import gradc
from gradc_codegen.abi import Status

WINDOW = 5


def smoothed(x, w):
    return np.sum((sliding_window_view(x, WINDOW) @ w) ** 2)


def convolved(x):
    return np.sum(np.convolve(x, np.array([0.25, 0.5, 0.25]), "same") ** 2)


def largest(x):
    return np.max(x) * 2.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("least")
    gradc.compile(smoothed).export(
        "smoothed",
        spec=f"x: f64[n], w: f64[{WINDOW}]",
        out=found,
        outputs=["value", "vg"],
        link="shared",
        parallel=True,
        package=True,
    )
    return found


def _address(array: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def test_fewer_elements_than_a_window_are_refused(folder: Path) -> None:
    library = ctypes.CDLL(str(folder / "libsmoothed.so"))
    w = np.linspace(1, 2, WINDOW)
    for worksize in (library.smoothed_vg_worksize, library.smoothed_vg_parallel_worksize):
        worksize.restype = ctypes.c_size_t
    for n in (0, WINDOW - 1, WINDOW, 23):
        x, value = np.sin(np.arange(n)), np.full(1, 7.0)
        g_x = np.empty(n)
        size = ctypes.c_int64(n)
        shapes = np.zeros(8, np.int64)
        sizes = np.array([n])
        work = np.empty(library.smoothed_vg_worksize(size) + 1, np.uint8)
        more = np.empty(
            library.smoothed_vg_parallel_worksize(size, ctypes.c_int64(2)) + 1, np.uint8
        )
        given = (size, *map(_address, (x, w, value, g_x)))
        statuses = {
            library.smoothed_vg(*given, _address(work)),
            library.smoothed_vg_parallel(*given, _address(more), ctypes.c_int64(2), None, None),
            library.smoothed_vg_call_shapes(_address(sizes), _address(shapes)),
        }
        if n < WINDOW:
            assert statuses == {Status.SIZE}
            assert value[0] == 7.0
            assert len(work) == len(more) == 1
        else:
            assert statuses == {Status.OK}
            expected = gradc.value_and_grad(smoothed)(x, w)
            assert value[0] == expected[0]
            np.testing.assert_array_equal(g_x, expected[1])


def test_the_header_says_how_many_and_the_example_has_so_many(folder: Path) -> None:
    assert f" *   n is at least {WINDOW}\n" in (folder / "smoothed.h").read_text()
    assert f"smoothed({WINDOW}, " in (folder / "example_main.c").read_text().replace("n = ", "")


@pytest.mark.parametrize(("function", "least"), [(convolved, 3), (largest, 1)])
def test_a_function_in_this_process_has_the_same_bound(function: Any, least: int) -> None:
    native = gradc.compile(function, spec="x: f64[n]").native()
    for n in (least - 1, least, 11):
        x, value = np.cos(np.arange(n)), np.empty(1)
        work = np.empty(native.worksize(n) + 1, np.uint8)
        status = native.ctypes(n, x.ctypes.data, value.ctypes.data, work.ctypes.data)
        assert status == (Status.OK if n >= least else Status.SIZE)
        if n >= least:
            np.testing.assert_allclose(value[0], function(x), rtol=1e-15)
