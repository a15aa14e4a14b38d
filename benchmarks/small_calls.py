"""What one call of a small function costs, whatever is handed in, beside those of other tools.

Run it pinned: ``make bench-calls``, or ``taskset -c 0 env OMP_NUM_THREADS=1 python -m
benchmarks.small_calls``. All rows run by turns in one process; a figure is the least time of many
turns, less that of an empty loop, in ns. A turn is so short that the system mostly lets it finish;
long loops are summed up from the least times of their parts. Of numba, CasADi, JAX and autograd
those are shown that are installed; the extension is C with the derivative by hand, built by the C
compiler.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import gradc

TURNS = 400
REPEATS = 500
# Calls of a chain, and how often all of it is gone through
STEPS = 100_000
PASSES = 30
Row = tuple[str, str, dict[str, Any]]

X = np.array([0.3, -0.7, 1.1])
W = np.array([1.0, 2.0, 3.0])
V = np.array([1.0, 0.5, 0.25])
O = (np.empty(()), np.empty(3))  # noqa: E741


def few(x: Any) -> Any:
    """Return a function of three numbers."""
    return x[0] * x[1] + np.sin(x[2]) * np.exp(x[0]) + x[1] ** 2


def mixed(x: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """Return a function of an array and four numbers."""
    return x[0] * a + x[1] * b + x[2] * c - d


class Model:
    """A model with parameters of its own."""

    def __init__(self) -> None:
        self.w = W.copy()

    @gradc.compile
    def loss(self, x: Any) -> Any:
        """Return the loss."""
        return x[0] * self.w[0] + x[1] * self.w[1]


def ours() -> list[Row]:
    """Return gradc's rows: what is called, as text, and its names."""
    f, five = gradc.compile(few), gradc.compile(mixed)
    nest = gradc.compile(lambda p: p["a"] * p["b"] + p["c"])
    captured = gradc.compile(lambda x: x[0] * W[0] + x[1] * W[1])
    names: dict[str, Any] = {
        "f": f, "vg": f.value_and_grad, "g": gradc.grad(few), "five": five, "nest": nest,
        "captured": captured, "mapped": gradc.vmap(few), "rows": np.stack([X] * 4), "v": V, "o": O,
        "vjp": f.vjp, "jvp": f.jvp, "hvp": f.hvp, "pull": f.vjp(X)[1], "push": f.linearize(X)[1],
        "flagged": gradc.compile(lambda x, train: x[0] * x[1] if train else x[2]),
        "policed": gradc.grad(few, nonfinite="zero"), "bound": f.value_and_grad.bind(X),
        "written": f.value_and_grad.bind(X, out=O), "x": X,
        "s": np.float64(2.0), "z": np.array(2.0), "model": Model(),
        "p": {"a": 1.0, "b": 2.0, "c": 3.0},
    }  # fmt: skip
    calls = {
        "value": "f(x)",
        "value and gradient": "vg(x)",
        "value and gradient, as f.value_and_grad": "f.value_and_grad(x)",
        "gradc.grad(f)": "g(x)",
        "five arguments: array, float, np.float64, 0-d, int": "five(x, 1.0, s, z, 3)",
        "keywords": "five(x, 1.0, 2.0, c=3.0, d=4.0)",
        "np.float64 and floats": "five(x, 1.0, s, 2.0, 3.0)",
        "a dict of three numbers": "nest(p)",
        "a captured array": "captured(x)",
        "a method": "model.loss(x)",
        "a method's gradient": "model.loss.grad(x)",
        "a flag": "flagged(x, True)",
        "value and gradient into arrays": "vg(x, out=o)",
        "value and gradient, bound": "bound()",
        "value and gradient, bound, into arrays": "written()",
        "jvp": "jvp((x,), (v,))",
        "hvp": "hvp(x, v)",
        "vjp": "vjp(x)",
        "a pullback": "pull(1.0)",
        "vjp and its pullback": "vjp(x)[1](1.0)",
        "a linearised function": "push(v)",
        "gradc.grad with a policy": "policed(x)",
        "gradc.vmap(f), four rows": "mapped(rows)",
    }
    return [(name, text, names) for name, text in calls.items()]


C_EXTENSION = """
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <numpy/arrayobject.h>
#include <math.h>
static PyObject *value_and_grad(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    if (n != 1 || !PyArray_CheckExact(args[0])) { PyErr_BadArgument(); return NULL; }
    PyArrayObject *a = (PyArrayObject *)args[0];
    if (PyArray_TYPE(a) != NPY_DOUBLE || PyArray_NDIM(a) != 1 || PyArray_DIM(a, 0) != 3
        || !PyArray_IS_C_CONTIGUOUS(a)) { PyErr_BadArgument(); return NULL; }
    const double *x = PyArray_DATA(a);
    npy_intp size = 3;
    PyArrayObject *g = (PyArrayObject *)PyArray_SimpleNew(1, &size, NPY_DOUBLE);
    double *y = PyArray_DATA(g), e = exp(x[0]), s = sin(x[2]);
    y[0] = x[1] + s * e; y[1] = x[0] + 2 * x[1]; y[2] = cos(x[2]) * e;
    PyObject *pair = PyTuple_New(2);
    PyTuple_SET_ITEM(pair, 0, PyFloat_FromDouble(x[0] * x[1] + s * e + x[1] * x[1]));
    PyTuple_SET_ITEM(pair, 1, (PyObject *)g);
    return pair;
}
static PyMethodDef methods[] = {
    {"value_and_grad", (PyCFunction)(void *)value_and_grad, METH_FASTCALL, NULL}, {0}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "by_hand", NULL, -1, methods};
PyMODINIT_FUNC PyInit_by_hand(void) { import_array(); return PyModule_Create(&module); }
"""


def extension() -> list[Row]:
    """Return the row of a C extension by hand; none without a compiler or Python's headers."""
    folder = Path(tempfile.mkdtemp())
    source, target = folder / "by_hand.c", folder / "by_hand.so"
    source.write_text(C_EXTENSION)
    includes = [f"-I{sysconfig.get_path('include')}", f"-I{np.get_include()}"]
    command = ["cc", "-O2", "-shared", "-fPIC", *includes, str(source), "-o", str(target), "-lm"]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        return []
    spec = importlib.util.spec_from_file_location("by_hand", target)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [("C extension by hand: both", "h(x)", {"h": module.value_and_grad, "x": X})]


def numba_row() -> list[Row]:
    """Return numba's row, its gradient by hand."""
    if importlib.util.find_spec("numba") is None:
        return []
    import numba  # type: ignore[import-not-found,unused-ignore]

    @numba.njit
    def both(x: Any) -> Any:
        e, s = np.exp(x[0]), np.sin(x[2])
        gradient = np.array([x[1] + s * e, x[0] + 2 * x[1], np.cos(x[2]) * e])
        return x[0] * x[1] + s * e + x[1] ** 2, gradient

    return [("numba, gradient by hand: both", "h(x)", {"h": both, "x": X})]


def casadi_row() -> list[Row]:
    """Return CasADi's row, through its buffers."""
    if importlib.util.find_spec("casadi") is None:
        return []
    import casadi  # type: ignore[import-not-found,unused-ignore]

    x = casadi.SX.sym("x", 3)
    y = x[0] * x[1] + casadi.sin(x[2]) * casadi.exp(x[0]) + x[1] ** 2
    function = casadi.Function("f", [x], [y, casadi.gradient(y, x)])
    buffer, run = function.buffer()
    value, gradient, given = np.zeros(1), np.zeros(3), X.copy()
    buffer.set_arg(0, memoryview(given))
    buffer.set_res(0, memoryview(value))
    buffer.set_res(1, memoryview(gradient))
    names = {"h": run, "keep": (buffer, value, gradient, given)}
    return [("CasADi, in buffers: both", "h()", names)]


def jax_row() -> list[Row]:
    """Return JAX's row."""
    if importlib.util.find_spec("jax") is None:
        return []
    import jax  # type: ignore[import-not-found,unused-ignore]

    jax.config.update("jax_enable_x64", True)
    numpy = jax.numpy

    def function(x: Any) -> Any:
        return x[0] * x[1] + numpy.sin(x[2]) * numpy.exp(x[0]) + x[1] ** 2

    both = jax.jit(jax.value_and_grad(function))
    names = {"h": both, "x": X, "wait": jax.block_until_ready}
    return [("JAX: both", "wait(h(x))", names)]


def autograd_row() -> list[Row]:
    """Return autograd's row."""
    if importlib.util.find_spec("autograd") is None:
        return []
    import autograd  # type: ignore[import-not-found,unused-ignore]
    import autograd.numpy as numpy  # type: ignore[import-not-found,unused-ignore]

    def function(x: Any) -> Any:
        return x[0] * x[1] + numpy.sin(x[2]) * numpy.exp(x[0]) + x[1] ** 2

    return [("autograd: both", "h(x)", {"h": autograd.value_and_grad(function), "x": X})]


def in_c() -> tuple[str, float]:
    """Return the time of the same kernel when C calls it in a loop, in ns."""
    f = gradc.compile(few, spec="x: f64[3]")
    return "the kernel, called from C", called_from_c(f, "few", "few_vg(x, &y, g, NULL)", X)


def called_from_c(f: Any, name: str, call: str, points: Any) -> float:
    """Return the least time of a call by turns through points, the last axis one of them, in ns."""
    given = np.atleast_2d(points)
    count, size = given.shape
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder)
        f.export(name, out=made)
        (made / "points").write_bytes(np.ascontiguousarray(given).tobytes())
        main = f"""
#include "{name}.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int main(void) {{
    double *points = malloc(sizeof(double) * {count * size}), y, g[{size}], sum = 0, total = 0;
    static double least[{STEPS // REPEATS}];
    void *work = malloc(1 << 20);
    FILE *file = fopen("points", "rb");
    if (fread(points, sizeof(double), {count * size}, file) != {count * size}) return 1;
    for (int turn = 0; turn < {PASSES}; turn++)
        for (int part = 0; part < {STEPS // REPEATS}; part++) {{
            struct timespec a, b;
            clock_gettime(CLOCK_MONOTONIC, &a);
            for (int i = part * {REPEATS}; i < (part + 1) * {REPEATS}; i++) {{
                double *x = points + i % {count} * {size};
                {call};
                sum += y;
            }}
            clock_gettime(CLOCK_MONOTONIC, &b);
            double ns = (b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec);
            if (!turn || ns < least[part]) least[part] = ns;
        }}
    for (int part = 0; part < {STEPS // REPEATS}; part++) total += least[part];
    printf("%f\\n", total / {STEPS} + 0 * sum);
    return 0;
}}
"""
        (made / "main.c").write_text(main)
        command = ["cc", "-O2", "main.c", f"{name}.o", "-o", "main", "-lm"]
        subprocess.run(command, cwd=made, check=True, capture_output=True)
        done = subprocess.run([made / "main"], cwd=made, capture_output=True, text=True, check=True)
    return float(done.stdout)


def posterior(q: Any) -> Any:
    """Return the negative log posterior of a logistic growth of five parameters."""
    t = np.arange(40) / 4.0
    curve = np.exp(q[0]) / (1.0 + np.exp(-np.exp(q[1]) * (t - q[2]))) + q[3]
    seen = 3.0 / (1.0 + np.exp(-(t - 4.0))) + 0.1 * np.sin(7.0 * t)
    return np.sum((seen - curve) ** 2) * np.exp(-q[4]) / 2 + 20.0 * q[4] + 0.5 * np.sum(q**2)


def chain(h: Callable[[Any], Any], steps: int) -> Any:
    """Return the positions at which a Hamiltonian Monte Carlo chain asks for value and gradient."""
    random = np.random.default_rng(0)
    q, positions = np.array([1.0, 0.0, 4.0, 0.0, -1.0]), []
    value, gradient = h(q)
    while len(positions) < steps:
        p = random.normal(size=5)
        new, slope = q.copy(), gradient
        start = value + 0.5 * p @ p
        for _ in range(10):
            p = p - 0.01 * slope
            new = new + 0.02 * p
            found, slope = h(new)
            positions.append(new)
            p = p - 0.01 * slope
        if np.log(random.uniform()) < start - found - 0.5 * p @ p:
            q, value, gradient = new, found, slope
    return np.array(positions[:steps])


def in_a_chain() -> list[tuple[str, float]]:
    """Return the time of a call in a chain of 100,000, beyond a loop, and of the kernel from C."""
    f = gradc.compile(posterior, spec="q: f64[5]")
    h = f.value_and_grad
    positions = chain(h, STEPS)
    parts = [list(rows) for rows in np.split(positions, STEPS // REPEATS)]
    least = [least_times(h, rows) for rows in parts]
    found = sum(called - gone_through for called, gone_through in least) / STEPS * 1e9
    kernel = called_from_c(f, "post", "post_vg(x, &y, g, work)", positions)
    return [("a call in a chain of HMC, 5 parameters", found), ("its kernel from C", kernel)]


def least_times(h: Callable[[Any], Any], rows: list[Any]) -> tuple[float, float]:
    """Return the least times to call a function with rows and to go through them, in seconds."""
    called, gone_through = [], []
    for _ in range(PASSES):
        start = time.perf_counter()
        for _row in rows:
            pass
        between = time.perf_counter()
        for row in rows:
            h(row)
        called.append(time.perf_counter() - between)
        gone_through.append(between - start)
    return min(called), min(gone_through)


def timed(text: str, names: dict[str, Any]) -> Callable[[], float]:
    """Return what times a call once, in ns."""
    space = dict(names, clock=time.perf_counter)
    exec(
        f"def run():\n    start = clock()\n    for _ in range({REPEATS}): {text}\n"
        f"    return (clock() - start) / {REPEATS} * 1e9",
        space,
    )
    run: Callable[[], float] = space["run"]
    return run


def main() -> None:
    """Print a row for each call."""
    rows = [*ours(), *extension(), *numba_row(), *casadi_row(), *jax_row(), *autograd_row()]
    runs = [timed("pass", {}), *(timed(text, names) for _, text, names in rows)]
    for _, text, names in rows:
        for _ in range(4):
            exec(text, dict(names))
    least = [min(times) for times in zip(*([run() for run in runs] for _ in range(TURNS)))]
    print(f"{'an empty loop':56}{least[0]:10.1f} ns")
    for (name, _, _), found in zip(rows, least[1:]):
        print(f"{name:56}{found - least[0]:10.1f} ns")
    if sys.platform != "win32":
        for name, found in (in_c(), *in_a_chain()):
            print(f"{name:56}{found:10.1f} ns")


if __name__ == "__main__":
    main()
