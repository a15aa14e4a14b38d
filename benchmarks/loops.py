"""Derivatives through loops: time beside the primal's, scratch, growth, and compile time.

    taskset -c 0 env OMP_NUM_THREADS=1 python benchmarks/loops.py [words of names …]

Times are medians of calls, taken by turns in one process; a figure with a limit prints it. Where
JAX is installed, its compiled gradient of the same scan stands beside, in float64.
"""

from __future__ import annotations

import ctypes
import importlib.util
import math
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import gradc
from gradc.pipeline import derive
from gradc.requests.request import Request
from gradc.runtime.collector import collector_paused
from gradc.runtime.executable import Executable
from gradc.tracing import trace
from gradc_ir.core.graph import Function
from gradc_ir.text.type_text import parse_type

STEPS = 1_000_000
TURNS = 7
STATE_BYTES = 4 * 8  # of the four floats that the long scans carry


# -- the programs ----------------------------------------------------------------------------------


def pendulums(state: Any, sin: Callable[[Any], Any]) -> Any:
    """Return two coupled, damped pendulums a thousandth of a second later."""
    a, b, u, v = state
    pull = 0.5 * (b - a)
    u = u + 1e-3 * (pull - 9.81 * sin(a) - 0.1 * u)
    v = v + 1e-3 * (-pull - 9.81 * sin(b) - 0.1 * v)
    return a + 1e-3 * u, b + 1e-3 * v, u, v


def ring(state: Any, _: Callable[[Any], Any]) -> Any:
    """Return Lorenz's model of 1996 on a ring of four, a ten-thousandth later: no function."""
    a, b, c, d = state
    h = 1e-4
    return (
        a + h * ((b - c) * d - a + 2.0),
        b + h * ((c - d) * a - b + 2.0),
        c + h * ((d - a) * b - c + 2.0),
        d + h * ((a - b) * c - d + 2.0),
    )


def long_scan(step: Callable[..., Any], steps: int, checkpoint: Any = None) -> Callable[[Any], Any]:
    """Return a function of the first state: a reading of the last one."""

    def run(x: Any) -> Any:
        state = (x[0], x[1], x[2], x[3])
        last, _ = gradc.scan(
            lambda carry, _: (step(carry, np.sin), None), state, length=steps, checkpoint=checkpoint
        )
        return last[0] + 2.0 * last[1] + last[2] * last[3]

    return run


def chain(x: Any) -> Any:
    """Return the last element of x after x[i] += sin(x[i - 1]) from the second on."""

    def body(i: Any, x: Any) -> Any:
        x[i] += np.sin(x[i - 1])
        return x

    return gradc.fori_loop(1, x.shape[0], body, x)[-1]


def lstm(w: Any, b: Any, x: Any) -> Any:
    """Return a loss of a long short-term memory that reads x, one row a step."""
    size = b.shape[0] // 4

    def step(carry: Any, row: Any) -> Any:
        h, c = carry
        z = w @ np.concatenate([row, h]) + b
        gates = 1 / (1 + np.exp(-z[: 3 * size]))
        c = gates[:size] * np.tanh(z[3 * size :]) + gates[size : 2 * size] * c
        h = gates[2 * size :] * np.tanh(c)
        return (h, c), np.sum(h**2)

    _, parts = gradc.scan(step, (np.zeros(size), np.zeros(size)), x)
    return np.sum(parts)


# -- measuring -------------------------------------------------------------------------------------


def graph(function: Callable[..., Any], *types: str) -> Function:
    """Return a function's graph."""
    return trace(function, tuple(parse_type(text) for text in types)).function


def executable(function: Function, of: str) -> Executable:
    """Return the compiled value, or value and gradient by the first parameter."""
    made = Executable(derive(function, Request(of, () if of == "value" else (0,))))
    if made.kernel is None:
        print(f"  ({of}: {made.reason})")
    return made


def seconds(calls: Sequence[Callable[[], Any]]) -> list[float]:
    """Return the median time of each call, taken by turns."""
    for call in calls:
        call()
    taken: list[list[float]] = [[] for _ in calls]
    for _ in range(TURNS):
        for call, times in zip(calls, taken):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
    return [statistics.median(times) for times in taken]


def repeated(call: Executable, arrays: Sequence[Any], times: int) -> None:
    """Call so many times, for what takes too little time to be measured once."""
    for _ in range(times):
        call(arrays)


def worksize(made: Executable, *sizes: int) -> int:
    """Return the bytes of scratch that the kernel's own ``_worksize`` tells."""
    kernel = made.kernel
    if kernel is None:
        return 0
    address = kernel.compiled.address(f"{kernel.name}_worksize")
    ask = ctypes.CFUNCTYPE(ctypes.c_int64, *(ctypes.c_int64 for _ in sizes))(address)
    return int(ask(*sizes))


def verdict(found: float, limit: float) -> str:
    """Return a figure beside its limit."""
    return f"{found:8.2f}   limit {limit:.1f}{'' if found <= limit else '   OVER'}"


# -- the sections ----------------------------------------------------------------------------------


def long_scans() -> None:
    """Print how long reverse mode takes beside the primal, and its scratch."""
    x = np.array([0.3, -0.2, 0.1, 0.4])
    for name, step in (("pendulums", pendulums), ("ring", ring)):
        value = executable(graph(long_scan(step, STEPS), "f64[4]"), "value")
        plain = executable(graph(long_scan(step, STEPS), "f64[4]"), "value_and_grad")
        pieces = executable(graph(long_scan(step, STEPS, "sqrt"), "f64[4]"), "value_and_grad")
        primal, stored, recomputed = seconds([partial(f, [x]) for f in (value, plain, pieces)])
        wanted, gradient = plain([x])
        again, same = pieces([x])
        assert wanted == value([x])[0] == again
        assert np.allclose(gradient, same, rtol=1e-12, atol=0)
        states = worksize(pieces) / STATE_BYTES / math.sqrt(STEPS)
        print(f"{name}: a scan of {STEPS:,} steps, four floats")
        print(f"  primal                             {primal * 1e3:8.2f} ms")
        print(f"  value and gradient                 {stored * 1e3:8.2f} ms")
        print(f"    times the primal                 {verdict(stored / primal, 4)}")
        print(f"    scratch, floats a step           {worksize(plain) / 8 / STEPS:8.2f}")
        print(f'  with checkpoint="sqrt"             {recomputed * 1e3:8.2f} ms')
        print(f"    times the primal                 {verdict(recomputed / primal, 5)}")
        print(f"    scratch, states a square root    {verdict(states, 2)}")
        beside_jax(step, x)


def beside_jax(step: Callable[..., Any], x: Any) -> None:
    """Print JAX's times of the same scan."""
    if importlib.util.find_spec("jax") is None:
        return
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)

    def run(x: Any) -> Any:
        state = (x[0], x[1], x[2], x[3])
        last, _ = jax.lax.scan(
            lambda carry, _: (step(carry, jax.numpy.sin), None), state, None, length=STEPS
        )
        return last[0] + 2.0 * last[1] + last[2] * last[3]

    value, both = jax.jit(run), jax.jit(jax.value_and_grad(run))
    primal, stored = seconds(
        [partial(lambda f: jax.block_until_ready(f(x)), f) for f in (value, both)]
    )
    print(f"  JAX: primal                        {primal * 1e3:8.2f} ms")
    print(f"  JAX: value and gradient            {stored * 1e3:8.2f} ms {stored / primal:8.2f}")


def growth() -> None:
    """Print the time of a loop that assigns one element a step, for growing arrays."""
    function = graph(chain, "f64[n]")
    value, both = executable(function, "value"), executable(function, "value_and_grad")
    print("x[i] += sin(x[i - 1]): nanoseconds a step")
    print(f"  {'n':>10}{'primal':>10}{'gradient':>10}{'ratio':>8}{'to the n before':>18}")
    before = None
    for n in (1_000, 10_000, 100_000, 1_000_000):
        x = np.random.default_rng(n).uniform(-1, 1, n)
        repeat = STEPS // n
        calls = [partial(repeated, f, [x], repeat) for f in (value, both)]
        primal, reverse = (taken / STEPS for taken in seconds(calls))
        growing = f"{reverse / before:17.2f}x" if before else ""
        print(f"  {n:10,}{primal * 1e9:10.2f}{reverse * 1e9:10.2f}{reverse / primal:8.2f}{growing}")
        before = reverse


def compiling() -> None:
    """Print what compiling the gradient of a short and a long scan takes."""
    print("compiling value and gradient, CPU seconds")
    for checkpoint in (None, "sqrt"):
        times: dict[int, list[float]] = {100: [], STEPS: []}
        for _ in range(TURNS):
            for steps, taken in times.items():
                with collector_paused():
                    start = time.process_time()
                    program = long_scan(pendulums, steps, checkpoint)
                    executable(graph(program, "f64[4]"), "value_and_grad")
                    taken.append(time.process_time() - start)
        short, long = map(statistics.median, times.values())
        print(
            f"  checkpoint={checkpoint!s:8}  100 steps {short:7.3f}"
            f"   {STEPS:,} steps {long:7.3f}   ratio {long / short:6.2f}"
        )


def memories() -> None:
    """Print the times of an LSTM of a thousand steps."""
    steps = 1_000
    for inputs, size in ((4, 4), (14, 32), (64, 64)):
        random = np.random.default_rng(size)
        arguments = [
            random.normal(size=(4 * size, inputs + size)) / np.sqrt(inputs + size),
            random.normal(size=4 * size),
            random.normal(size=(steps, inputs)),
        ]
        types = (f"f64[{4 * size},{inputs + size}]", f"f64[{4 * size}]", f"f64[n,{inputs}]")
        function = graph(lstm, *types)
        value = executable(function, "value")
        both = Executable(derive(function, Request("value_and_grad", (0, 1))))
        primal, reverse = seconds([partial(f, arguments) for f in (value, both)])
        print(
            f"LSTM of {inputs} inputs, {size} cells: microseconds a step "
            f"{primal * 1e6 / steps:8.2f} primal {reverse * 1e6 / steps:8.2f} gradient "
            f"{reverse / primal:6.2f} ratio"
        )


def heston(params: Any, first: Any, second: Any) -> Any:
    """Return the price of a call on paths whose variance moves too: a loop over time."""
    kappa, theta, xi, rho, v0 = params
    steps, count = first.shape
    dt = 1.0 / steps
    price, v = np.full(count, 100.0), np.full(count, v0)
    for t in range(steps):
        low = np.maximum(v, 0)
        noise = rho * first[t] + np.sqrt(1 - rho**2) * second[t]
        price = price * np.exp((0.02 - 0.5 * low) * dt + np.sqrt(low * dt) * first[t])
        v = v + kappa * (theta - low) * dt + xi * np.sqrt(low * dt) * noise
    return np.exp(-0.02) * np.mean(np.maximum(price - 100.0, 0))


def paths() -> None:
    """Print the times of Heston's model on many paths, beside plain NumPy's of its value."""
    steps, count = 50, 10_000
    random = np.random.default_rng(6)
    params = np.array([1.5, 0.04, 0.3, -0.6, 0.05])
    arguments = [params, *random.normal(size=(2, steps, count))]
    print(f"Heston, {steps} steps of {count:,} paths")
    for sizes in (f"f64[{steps},{count}]", "f64[t,n]"):
        function = graph(heston, "f64[5]", sizes, sizes)
        value, both = executable(function, "value"), executable(function, "value_and_grad")
        plain, primal, reverse = seconds(
            [partial(heston, *arguments), partial(value, arguments), partial(both, arguments)]
        )
        print(f"  {sizes}: plain NumPy, value {plain * 1e3:8.2f} ms")
        print(f"    value                          {primal * 1e3:8.2f} ms")
        print(f"    value and gradient             {reverse * 1e3:8.2f} ms")
        print(f"      times NumPy's value          {verdict(reverse / plain, 1 / 3.5)}")


SECTIONS = {
    "paths": paths,
    "scan": long_scans,
    "growth": growth,
    "compile": compiling,
    "lstm": memories,
}


def main(words: list[str]) -> None:
    """Run the sections whose names hold one of the words; all without words."""
    for name, section in SECTIONS.items():
        if not words or any(word in name for word in words):
            section()


if __name__ == "__main__":
    main(sys.argv[1:])
