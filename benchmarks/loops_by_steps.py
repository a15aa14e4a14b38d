"""What loops take to compile, by how many steps they have: each program at 100 and at 10,000.

    taskset -c 0 env OMP_NUM_THREADS=1 python -m benchmarks.loops_by_steps [words of names …]

The programs are those of ``tests/written_loops``, which people wrote. How many steps they have is a
default of theirs, or how long an argument is; both are replaced. A figure is the CPU time of the
first call for value and gradient, less that of the call after it.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import signal
import sys
import tempfile
import time
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

FEWEST = 20  # what is shorter is no number of steps
STEPS = (100, 10_000)
TURNS = 3
LIMIT = 60  # seconds that a program may take; those of tables of steps by steps take more


def programs() -> Iterator[Any]:
    """Yield the programs of the collection."""
    written_loops = importlib.import_module("tests.written_loops")
    for module in pkgutil.iter_modules(written_loops.__path__):
        found = importlib.import_module(f"tests.written_loops.{module.name}")
        yield from getattr(found, "PROGRAMS", [])


def of_steps(program: Any, steps: int) -> tuple[Callable[..., Any], tuple[Any, ...]] | None:
    """Return a program that has so many steps, and its arguments; None where that is not told."""
    function = program.function
    changed = False

    def other(value: Any) -> Any:
        nonlocal changed
        if type(value) is int and value >= FEWEST:
            changed = True
            return steps
        if isinstance(value, np.ndarray) and value.ndim and len(value) >= FEWEST:
            changed = True
            return np.resize(value, (steps, *value.shape[1:]))
        return value

    defaults = tuple(map(other, function.__defaults__ or ()))
    arguments = tuple(map(other, program.args))
    made = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, defaults, function.__closure__
    )
    return (made, arguments) if changed else None


def first_call(function: Callable[..., Any], arguments: tuple[Any, ...], wrt: int) -> float:
    """Return what the first call takes that the second does not."""
    gradc = importlib.import_module("gradc")
    best = float("inf")
    for _ in range(TURNS):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["GRADC_CACHE_DIR"] = folder
            compiled = gradc.compile(function)
            times = []
            for _ in range(2):
                start = time.process_time()
                compiled.value_and_grad(*arguments, wrt=wrt)
                times.append(time.process_time() - start)
            best = min(best, times[0] - times[1])
    return best


def ways(function: Callable[..., Any], arguments: tuple[Any, ...]) -> str:
    """Return whether the loops of a program are one operation each."""
    gradc = importlib.import_module("gradc")
    compiled = gradc.compile(function)
    compiled(*arguments)
    told = str(compiled.explain())
    return "unrolled" if ": unrolled" in told else "rolled" if ": rolled" in told else "none"


def main(words: list[str]) -> None:
    """Print the table."""

    def too_long(*_: Any) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, too_long)
    print("| program | loops | ms at 100 steps | at 10,000 | ratio |\n|---|---|---|---|---|")
    for program in programs():
        if not program.wrt or (words and not any(word in program.name for word in words)):
            continue
        try:
            signal.alarm(LIMIT)
            made = [of_steps(program, steps) for steps in STEPS]
            if made[0] is None or made[1] is None:
                continue
            kind = ways(*made[0])
            times = [first_call(*each, program.wrt[0]) for each in made if each is not None]
        except (TimeoutError, ValueError, IndexError, ArithmeticError) as error:
            print(f"| {program.name} | {type(error).__name__} | | | |", flush=True)
            continue
        finally:
            signal.alarm(0)
        ratio = times[1] / times[0]
        print(
            f"| {program.name} | {kind} | {times[0] * 1e3:.0f} | {times[1] * 1e3:.0f} "
            f"| {ratio:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
