"""What a call through another library costs: beside the kernel alone, and that library's identity.

    python -m benchmarks.interop        (make bench-interop)

For a small and a large argument, and for a small one of which the kernel takes long, each row has
the time of a call through the library, that of the kernel called from Python on the same memory (of
a kernel for any size that of its function of C), and of the library's own call of a function that
does nothing. A long call should be the kernel within a fifth; a short one no more than the
library's identity and the kernel. Beside a kernel that has filled the caches, PyTorch's own code
takes six times as long as its identity does by itself.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np

import gradc

warnings.simplefilter("ignore")
REPEATS = 7


def rosen(x: Any, a: Any) -> Any:
    """Return Rosenbrock's function."""
    return np.sum(a * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def pendulums(x: Any, a: Any) -> Any:
    """Return a sum of angles after many steps."""
    speed = 0 * x
    for _ in range(40_000):
        speed = speed - 0.001 * a * np.sin(x)
        x = x + 0.001 * speed
    return np.sum(x)


ANY_SIZE = "numba f64[n]"
CASES = ((rosen, 5), (rosen, 2_000_000), (pendulums, 5))


def timed(calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Return the least time of each call, measured by turns."""
    best = dict.fromkeys(calls, float("inf"))
    counts = {}
    for name, call in calls.items():
        for _ in range(3):  # a second call makes the next ones quick
            call()
        start = time.process_time()
        call()
        counts[name] = max(1, min(2000, int(0.02 / max(time.process_time() - start, 1e-9))))
    for _ in range(REPEATS):
        for name, call in calls.items():
            start = time.process_time()
            for _ in range(counts[name]):
                call()
            best[name] = min(best[name], (time.process_time() - start) / counts[name])
    return best


def function_of_c(function: Callable[..., Any], x: Any) -> Callable[[], Any]:
    """Return a call of the function of C of a kernel for any size, with arrays that are kept."""
    native = gradc.compile(function, spec="x: f64[n], a: f64").native(of="vg", wrt="x")
    kept = (np.empty(1), np.empty(len(x)), np.empty(native.worksize(len(x)) + 1, np.uint8))
    places = [array.ctypes.data for array in kept]
    return lambda kept=kept: native.ctypes(len(x), x.ctypes.data, 2.0, *places)  # type: ignore[misc]


def kernel_alone(function: Callable[..., Any], x: Any) -> Callable[[], Any]:
    """Return a call of value and gradient from Python, which makes new arrays as hosts do."""
    compiled = gradc.compile(function)
    return lambda: compiled.value_and_grad(x, 2.0)


def hosts(
    function: Callable[..., Any], x: Any
) -> Iterator[tuple[str, Callable[[], Any], Callable[[], Any], Any]]:
    """Yield each library with a call of value and gradient, one of its identity, and its array.

    NumPy's large arrays lie on large pages, which are read faster; those of others may not.
    """
    if find_spec("numba"):
        import numba

        @numba.njit
        def nothing(x: Any) -> Any:
            return x[0]

        def inside(f: Any) -> Any:
            return numba.njit(lambda x: f(x, 2.0)[0])

        for called, size in (("numba", len(x)), (ANY_SIZE, "n")):
            compiled = gradc.compile(function, spec=f"x: f64[{size}], a: f64")
            made = inside(compiled.numba(of="vg", wrt="x"))
            yield called, lambda made=made: made(x), lambda: nothing(x), x
    if find_spec("cffi"):
        import cffi

        ffi = cffi.FFI()
        native = gradc.compile(function, spec=f"x: f64[{len(x)}], a: f64").native(of="vg")
        call, outputs = native.cffi(), [np.empty(1), np.empty(len(x))]
        work = np.empty(native.worksize() + 1, np.uint8)
        given = [ffi.cast("double *", array.ctypes.data) for array in (x, *outputs)]
        place = ffi.cast("void *", work.ctypes.data)
        same = gradc.compile(lambda x: x, spec="x: f64").native().cffi()
        kept = (*outputs, work)
        yield (
            "cffi",
            lambda kept=kept: call(given[0], 2.0, *given[1:], place),
            lambda: same(2.0, given[1], place),
            x,
        )
    if find_spec("jax"):
        import jax

        jax.config.update("jax_enable_x64", True)
        in_jax = jax.jit(jax.value_and_grad(gradc.jax_function(function)))
        same_in_jax = jax.jit(gradc.jax_function(lambda x, a: (a, x)))
        there = jax.numpy.asarray(x)
        one = there[:1]
        yield (
            "jax",
            lambda: jax.block_until_ready(in_jax(there, 2.0)),
            lambda: jax.block_until_ready(same_in_jax(one, 2.0)),
            np.asarray(there),
        )
    if find_spec("torch"):
        import torch

        class Same(torch.autograd.Function):
            @staticmethod
            def forward(x: Any, a: Any) -> Any:
                return x.sum()

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                ctx.save_for_backward(*inputs)

            @staticmethod
            def backward(ctx: Any, cotangent: Any) -> Any:
                return ctx.saved_tensors[0], None

        tensor = torch.tensor(x, requires_grad=True)
        small = torch.tensor(x[:5], requires_grad=True)
        number = torch.tensor(2.0, dtype=torch.float64)
        in_torch = gradc.torch_function(function)
        yield (
            "torch",
            lambda: torch.autograd.grad(in_torch(tensor, number), tensor),
            lambda: torch.autograd.grad(Same.apply(small, number), small),
            tensor.detach().numpy(),
        )
    if find_spec("casadi") and len(x) <= 100_000:  # matrices of CasADi are copied by Python
        import casadi

        in_casadi = gradc.casadi_external(function, x, 2.0)
        symbol = casadi.MX.sym("x", len(x))
        both = casadi.Function("b", [symbol], [casadi.gradient(in_casadi(symbol, 2.0), symbol)])
        identity = casadi.Function("i", [symbol], [symbol])
        dense = casadi.DM(x)
        yield "casadi", lambda: both(dense), lambda: identity(dense), x
    if find_spec("pytensor"):
        import pytensor
        import pytensor.tensor as pt

        vector = pt.vector("x", shape=(len(x),), dtype="float64")
        value = gradc.pytensor_op(function)(vector, 2.0)
        both = [value, pytensor.grad(value, vector)]
        for mode in (None, "NUMBA") if find_spec("numba") else (None,):
            options = {"trust_input": True, "mode": mode}
            in_pytensor = pytensor.function([vector], both, **options)
            same = pytensor.function([vector], vector[:1] * 1.0, **options)
            yield (
                "pytensor" if mode is None else "in its Numba",
                lambda f=in_pytensor: f(x),
                lambda f=same: f(x),
                x,
            )


def quad() -> None:
    """Print what SciPy's quad takes with a kernel, and with one of Numba's."""
    from scipy import LowLevelCallable, integrate

    f = gradc.compile(lambda x: np.exp(-x * x) * np.cos(3 * x))
    calls = {"gradc": f.low_level_callable("double (double)")}
    if find_spec("numba"):
        import math

        import numba

        by_numba = numba.cfunc("f8(f8)")(lambda x: math.exp(-x * x) * math.cos(3 * x))
        calls["numba"] = LowLevelCallable(by_numba.ctypes)
    found = timed(
        {
            **{name: lambda c=c: integrate.quad(c, -3, 3) for name, c in calls.items()},
            "Python": lambda: integrate.quad(lambda x: float(f(x)), -3, 3),
        }
    )
    print("quad: " + ", ".join(f"{name} {t * 1e6:.1f} us" for name, t in found.items()))


def main() -> None:
    """Print a row for each library and size."""
    quad()
    print(f"{'':24}{'n':>9}{'through it':>13}{'kernel':>11}{'identity':>11}{'ratio':>8}  (us)")
    for function, n in CASES:
        x = np.linspace(0, 1, n)
        for name, call, identity, given in hosts(function, x):
            alone = (function_of_c if name == ANY_SIZE else kernel_alone)(function, given)
            found = timed({"host": call, "kernel": alone, "identity": identity})
            host, kernel, same = (found[key] * 1e6 for key in ("host", "kernel", "identity"))
            ratio = host / (kernel if kernel > 1000 else kernel + same)
            print(
                f"{function.__name__:11}{name:13}{n:9}{host:13.1f}{kernel:11.1f}{same:11.1f}{ratio:8.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
