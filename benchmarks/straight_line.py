"""How long the first call of value_and_grad takes on straight-line programs, and on which phases.

    python benchmarks/straight_line.py [operations …]

The program is one scalar expression after another (add, mul, sin, tanh of two of the last twenty
values), made so that nothing folds, merges or dies: every operation has distinct operands, and the
result is the sum of the last twenty values.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import gradc
from gradc.pipeline import after, differentiate, stabilise
from gradc.requests.options import Options
from gradc.requests.request import Request
from gradc.runtime.collector import collector_paused
from gradc.tracing import trace
from gradc_codegen.compile_function import Compilation
from gradc_codegen.machine.optimize import effort, optimize, parse
from gradc_codegen.target.target import target
from gradc_ir.core.types import DType, Type

WINDOW = 20


def program(operations: int, seed: int = 0) -> Callable[[Any], Any]:
    """Return a function of one number that does so many scalar operations."""
    choose = random.Random(seed)
    steps: list[tuple[str, int, int]] = []
    seen: set[tuple[str, int, int]] = set()
    unread = {0}
    while len(steps) < operations:
        last = len(steps)  # values are numbered from 0, the argument
        first = max(0, last - WINDOW + 1)
        # what is about to leave the window is read now, so that nothing is dead
        oldest = min(unread)
        i = oldest if oldest <= first + 1 else choose.randint(first, last)
        j = choose.randint(first, last)
        step = (choose.choice(["add", "mul", "sin", "tanh"]), min(i, j), max(i, j))
        if step[0] in ("sin", "tanh"):
            step = (step[0], i, i)
        if step in seen:
            # two functions of one value merge; a sum or product of other values does not
            step = (choose.choice(["add", "mul"]), min(i, j), max(i, j))
            if step in seen:
                continue
        seen.add(step)
        steps.append(step)
        unread -= {step[1], step[2]}
        unread.add(last + 1)

    def run(x: Any) -> Any:
        values = [x]
        for name, i, j in steps:
            a, b = values[i], values[j]
            if name == "add":
                values.append(a + b)
            elif name == "mul":
                values.append(a * b)
            elif name == "sin":
                values.append(np.sin(a))
            else:
                values.append(np.tanh(a))
        return sum(values[-WINDOW:])

    return run


@contextmanager
def phase(name: str, into: dict[str, float]) -> Iterator[None]:
    """Add the time of a block to a phase."""
    start = time.perf_counter()
    yield
    into[name] = into.get(name, 0.0) + time.perf_counter() - start


def phases(function: Callable[[Any], Any]) -> tuple[dict[str, float], int, int]:
    """Return the seconds of each phase, and the nodes before and after differentiation."""
    seconds: dict[str, float] = {}
    options = Options()
    with phase("trace", seconds):
        traced = trace(function, (Type(DType.F64),)).function
    with phase("before", seconds):
        ready = stabilise(traced, options)
    with phase("differentiate", seconds):
        derivative = differentiate(ready, Request("value_and_grad", (0,), options=options))
    with phase("after", seconds):
        final = after(options)(derivative)
    with phase("schedule, lower", seconds):
        text = Compilation(final).llvm
    _machine_code(text, seconds)
    return seconds, len(ready.nodes), len(final.nodes)


def _machine_code(text: str, seconds: dict[str, float]) -> None:
    """Make machine code of LLVM text; a trace holds the frame of its caller, which holds none."""
    machine_of = target("native")
    with phase("LLVM parse", seconds):
        how = effort([text])
        module = parse([text], machine_of, how)
    with phase("LLVM optimise", seconds):
        optimized = optimize(module, machine_of, how)
    with phase("LLVM emit", seconds):
        optimized.object()


def first_call(function: Callable[[Any], Any]) -> float:
    """Return the seconds from the first call to its result."""
    start = time.perf_counter()
    value, gradient = gradc.value_and_grad(function)(0.5)
    seconds = time.perf_counter() - start
    assert np.isfinite(value)
    assert np.isfinite(gradient)
    return seconds


def main(counts: list[int]) -> None:
    """Print the first call's time for each count, the ratio to the one before, and the phases."""
    gradc.value_and_grad(program(10))(0.5)  # imports and warm-up
    before = None
    for count in counts:
        seconds = first_call(program(count))
        ratio = f"  ({seconds / before[1]:.1f} times that of {before[0]:,})" if before else ""
        print(f"{count:,} operations: first call {seconds:.2f} s{ratio}")
        with collector_paused():
            parts, ready, final = phases(program(count))
        print(f"  {ready:,} nodes before differentiation, {final:,} at the end")
        for name, took in parts.items():
            print(f"  {name:18} {took * 1e3:8.0f} ms")
        before = (count, seconds)


if __name__ == "__main__":
    main([int(text.replace(",", "")) for text in sys.argv[1:]] or [1_000, 10_000])
