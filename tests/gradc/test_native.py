"""Kernels in this process as functions of C: ctypes, capsules, SciPy's low-level callables."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from scipy import integrate, ndimage

import gradc
from gradc.native.needs import needed
from gradc_codegen.libraries import pycapsule
from gradc_ir.errors import DTypeError, ExportError, MissingLibraryError
from tests.abi.signatures import rosen


def bell(x: Any, width: Any, shift: Any) -> Any:
    return np.exp(-(((x - shift) / width) ** 2))


def test_a_function_of_ctypes() -> None:
    compiled = gradc.compile(rosen, spec="x: f64[n], a: f64")
    kernel = compiled.native(of="vg", wrt=("x", "a"))
    assert kernel is compiled.native(of="vg", wrt=["x", "a"]) or kernel.address
    x, y, g_x, g_a = np.linspace(0, 1, 5), np.empty(1), np.empty(5), np.empty(1)
    work = np.empty(kernel.worksize(5), np.uint8)
    outputs = [y.ctypes, g_x.ctypes, g_a.ctypes]
    assert kernel.ctypes(5, x.ctypes, 2.0, *outputs, work.ctypes) == 0
    value, (slope, by_a) = compiled.value_and_grad(x, 2.0, wrt=("x", "a"))
    assert (y[0], g_a[0], g_x.tobytes()) == (value, by_a, slope.tobytes())
    assert kernel.ctypes(-1, x.ctypes, 2.0, *outputs, work.ctypes) == 1
    assert kernel.spec == "rosen_vg(x: f64[n], a: f64) -> (y: f64, g_x: f64[n], g_a: f64)"


def test_a_function_with_scratch_of_its_own() -> None:
    f = gradc.compile(lambda x: np.sort(x)[::-1], spec="x: f64[n]")
    for count in (5, 600_000, 7000):  # on the stack, and taken from what the process has
        x, y = np.sin(np.arange(float(count))), np.empty(count)
        assert f.native().with_scratch(count, x.ctypes, y.ctypes) == 0
        assert y.tobytes() == np.sort(x)[::-1].tobytes()


def test_capsules_and_addresses() -> None:
    compiled = gradc.compile(lambda x: x * x, spec="x: f64")
    assert compiled.address == compiled.address
    assert pycapsule.signature(compiled.capsule) == "int (double, double *, void *)"
    assert pycapsule.address(compiled.capsule) == compiled.address
    call = ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.c_double, ctypes.POINTER(ctypes.c_double), ctypes.c_void_p
    )(compiled.address)
    y = ctypes.c_double()
    assert (call(3.0, ctypes.byref(y), None), y.value) == (0, 9.0)
    assert compiled.ctypes(4.0, ctypes.byref(y), None) == 0
    assert y.value == 16.0


def test_the_kernel_of_the_last_call() -> None:
    compiled = gradc.compile(lambda x: np.sum(x) * scale)
    scale = 2.0
    compiled(np.ones(3))
    first = compiled.native()
    assert compiled.native() is first
    scale = 3.0  # traced anew: it is a number of the graph
    y, x = np.empty(1), np.ones(3)
    assert compiled.native() is not first
    assert compiled.ctypes(x.ctypes, y.ctypes, None) == 0
    assert y[0] == 9.0


def test_quad() -> None:
    f = gradc.compile(bell)
    call = f.low_level_callable("double (double, void *)", 0.5, 0.1)
    area, _ = integrate.quad(call, -1, 1)
    wanted, _ = integrate.quad(lambda x: float(f(x, 0.5, 0.1)), -1, 1)
    assert area == wanted
    slope, _ = integrate.quad(
        f.low_level_callable("double (double, void*)", 0.5, 0.1, of="grad"), -1, 1
    )
    assert slope == pytest.approx(bell(1, 0.5, 0.1) - bell(-1, 0.5, 0.1))
    alone = gradc.compile(lambda x: np.cos(x)).low_level_callable("double (double)")
    assert integrate.quad(alone, 0, 1)[0] == pytest.approx(np.sin(1))


def test_quad_with_captured_arrays_and_nests() -> None:
    weights = np.array([1.0, -2.0])
    f = gradc.compile(lambda x, p: p["k"] * (weights[0] + weights[1] * x) + p["c"][0] * x**2)
    data = {"k": 2.0, "c": np.array([3.0])}
    area, _ = integrate.quad(f.low_level_callable("double (double, void *)", data), 0, 1)
    assert area == pytest.approx(1.0)


@pytest.mark.parametrize("has_data", [False, True])
def test_nquad(has_data: bool) -> None:
    if has_data:
        f = gradc.compile(lambda x, y, w: np.sum(w * np.array([x, y, x * y])))
        call = f.low_level_callable("double (int, double *, void *)", np.array([1.0, 2.0, 3.0]))
    else:
        f = gradc.compile(lambda z: z[0] + 2 * z[1] + 3 * z[0] * z[1], spec="z: f64[n]")
        call = f.low_level_callable("double (int, double *)")
    assert integrate.nquad(call, [[0, 1], [0, 2]])[0] == pytest.approx(8.0)


@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning")
def test_too_few_numbers_are_nan() -> None:
    f = gradc.compile(lambda z: z[0] + z[2], spec="z: f64[3]")
    call = f.low_level_callable("double (int, double *)")
    assert np.isnan(integrate.nquad(call, [[0, 1], [0, 2]])[0])


def test_images() -> None:
    image = np.random.default_rng(0).normal(size=(12, 12))
    window = gradc.compile(lambda w: np.sum(np.sort(w)[2:-2]))
    call = window.low_level_callable("int (double *, npy_intp, double *, void *)")
    found = ndimage.generic_filter(image, call, size=3)
    wanted = ndimage.generic_filter(image, lambda w: float(window(w)), size=3)
    assert found.tobytes() == wanted.tobytes()
    line = gradc.compile(lambda x: np.cumsum(x)[2:] - x[1:-1])
    call = line.low_level_callable("int (double *, npy_intp, double *, npy_intp, void *)")

    def in_python(given: Any, made: Any) -> None:
        made[:] = line(given)

    found = ndimage.generic_filter1d(image, call, 3)
    assert found.tobytes() == ndimage.generic_filter1d(image, in_python, 3).tobytes()
    shift = gradc.compile(lambda at: at * 1.0 - np.array([0.5, 0.25]))
    call = shift.low_level_callable("int (npy_intp *, double *, int, int, void *)")
    found = ndimage.geometric_transform(image, call)
    wanted = ndimage.geometric_transform(image, lambda at: (at[0] - 0.5, at[1] - 0.25))
    assert found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize(
    ("signature", "data", "message"),
    [
        ("float (float)", (), "SciPy calls no function of the type 'float"),
        ("double (double)", (1.0, 2.0), "has no place for 2 further arguments"),
        ("double (double, void *)", (1.0, 2.0, 3.0), "bell has 3 parameters, and 3 further"),
        ("double (double, void *)", (1.0,), "bell is no function of the type"),
        ("double (int, double *, void *)", (np.ones(2), 1.0), "that returns one f64"),
    ],
)
def test_what_is_refused(signature: str, data: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ExportError, match=message):
        gradc.compile(bell).low_level_callable(signature, *data)


def test_a_library_that_is_missing() -> None:
    with pytest.raises(MissingLibraryError, match="this needs no_such_library") as error:
        needed("no_such_library", "this")
    assert "install it: pip install no_such_library" in str(error.value)
    assert isinstance(error.value, ImportError)


class Exchanged:
    """An array of another library, which knows DLPack alone."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()


class Elsewhere(Exchanged):
    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError("the array is on another device")


def test_arrays_of_other_libraries() -> None:
    f = gradc.compile(lambda x: np.sum(x * x))
    assert f(Exchanged(np.arange(4.0))) == 14
    assert f.grad(Exchanged(np.arange(4.0))).tolist() == [0, 2, 4, 6]
    with pytest.raises(DTypeError, match="of which NumPy makes no array"):
        f(Elsewhere(np.arange(4.0)))
