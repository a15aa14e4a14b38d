"""Python's own loops beside the same by hand: numba's for the value, scans for the gradient.

    taskset -c 0 env OMP_NUM_THREADS=1 python -m benchmarks.written_loops [words of names …]

A row is a program as a person writes it, compiled as it is. Its value stands beside that of loops
written by hand for numba, its value and gradient beside those of the same program written with
``gradc.scan``, and with ``jax.lax.scan`` in float64. Times are the least CPU time of calls that
take turns; a peer that is not installed is left out.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import gradc
from benchmarks.loop_programs import ROWS, Row

TURNS = 15
LEAST = 0.01  # seconds that a turn takes


def least(calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Return the least CPU time of each call, taken by turns."""
    repeats, found = {}, dict.fromkeys(calls, math.inf)
    for name, call in calls.items():
        call()
        start = time.process_time()
        call()
        repeats[name] = max(1, int(LEAST / max(time.process_time() - start, 1e-7)))
    for _ in range(TURNS):
        for name, call in calls.items():
            start = time.process_time()
            for _ in range(repeats[name]):
                call()
            found[name] = min(found[name], (time.process_time() - start) / repeats[name])
    return found


def is_there(module: str) -> bool:
    """Whether a peer is installed."""
    return importlib.util.find_spec(module) is not None


def measured(row: Row) -> dict[str, float]:
    """Return the times of a row by what is timed."""
    arguments = row.arguments
    written = gradc.compile(row.written)
    scanned = gradc.compile(lambda *given: row.scanned(np, gradc.scan, *given))
    expected, gradient = written.value_and_grad(*arguments)
    same = scanned.grad(*arguments)
    np.testing.assert_allclose(same, gradient, rtol=1e-6, atol=1e-9 * np.abs(gradient).max())
    calls: dict[str, Callable[[], Any]] = {
        "value": lambda: written(*arguments),
        "gradient": lambda: written.value_and_grad(*arguments),
        "scan": lambda: scanned.value_and_grad(*arguments),
    }
    if is_there("numba"):
        numba = importlib.import_module("numba")
        by_hand = numba.njit(row.by_hand, error_model="numpy")
        np.testing.assert_allclose(by_hand(*arguments), expected, rtol=1e-8)
        calls["numba"] = lambda: by_hand(*arguments)
    if is_there("jax"):
        jax = importlib.import_module("jax")
        jax.config.update("jax_enable_x64", True)
        run = jax.jit(
            jax.value_and_grad(lambda *given: row.scanned(jax.numpy, jax.lax.scan, *given))
        )
        given = tuple(map(jax.numpy.asarray, arguments))
        np.testing.assert_allclose(run(*given)[0], expected, rtol=1e-8)
        calls["jax"] = lambda: jax.block_until_ready(run(*given))
    return least(calls)


RATIOS = (("value", "numba", 1.0), ("gradient", "scan", 1.1), ("gradient", "jax", 0.5))


def main(words: list[str]) -> None:
    """Print the table, and geometric means beside their limits."""
    ratios: dict[tuple[str, str], list[float]] = {pair[:2]: [] for pair in RATIOS}
    print("| program | value, µs | numba | ratio | gradient, µs | scan | ratio | JAX | ratio |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, row in ROWS.items():
        if words and not any(word in name for word in words):
            continue
        times = measured(row)
        cells = [name]
        shown = ""
        for own, other, _ in RATIOS:
            if own != shown:
                cells.append(f"{times[own] * 1e6:.1f}")
            shown = own
            if other not in times:
                cells += ["", ""]
                continue
            ratios[own, other].append(times[own] / times[other])
            cells += [f"{times[other] * 1e6:.1f}", f"{times[own] / times[other]:.2f}"]
        print(f"| {' | '.join(cells)} |", flush=True)
    for own, other, limit in RATIOS:
        found = ratios[own, other]
        if found:
            mean = math.exp(sum(map(math.log, found)) / len(found))
            print(f"geometric mean of {own} by {other}: {mean:.2f}, limit {limit}")


if __name__ == "__main__":
    main(sys.argv[1:])
