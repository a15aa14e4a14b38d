"""Proves the errors of all math functions over very many numbers; fails when one is too large.

    python tools/math_slow.py [--points 1_000_000] [names …]

In f64 against ball arithmetic, in f32 over every number there is, beside the same function in f64;
functions of two numbers in f32 against ball arithmetic too. Two processes take about forty minutes.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

from gradc_ir.core.types import DType
from tools.math_errors import (
    MEASURED,
    Largest,
    largest_error,
    largest_error_in_f32,
    limit,
    operand_count,
)

# of the numbers of f32, that one task goes through
_SHARE = 1 << 28


def tasks(name: str, count: int) -> list[tuple[str, DType, int]]:
    """Return the parts of a function's proof: dtype, and the random points or the first number."""
    found = [(name, DType.F64, 2 * count)]  # half of them have any bits
    if operand_count(name) > 1:
        return [*found, (name, DType.F32, 2 * count)]
    return [*found, *((name, DType.F32, start) for start in range(0, 1 << 32, _SHARE))]


def run(task: tuple[str, DType, int]) -> Largest:
    """Return the largest error in a part of a proof."""
    name, dtype, number = task
    if dtype is DType.F64 or operand_count(name) > 1:
        return largest_error(name, dtype, number)
    return largest_error_in_f32(name, number, number + _SHARE)


def main(names: list[str], count: int) -> int:
    """Print the largest error of each function and dtype; returns how many are too large."""
    started, failed = time.monotonic(), 0
    parts = {(name, dtype): 0 for name in names for dtype in (DType.F64, DType.F32)}
    found: dict[tuple[str, DType], list[Largest]] = defaultdict(list)
    spawn = multiprocessing.get_context("spawn")  # compilers do not like to be copied
    with ProcessPoolExecutor(os.cpu_count(), mp_context=spawn) as pool:
        futures = {}
        for name in names:
            for task in tasks(name, count):
                futures[pool.submit(run, task)] = task[:2]
                parts[task[:2]] += 1
        for future in as_completed(futures):
            key = name, dtype = futures[future]
            found[key].append(future.result())
            if len(found[key]) < parts[key]:
                continue
            worst = max(found[key], key=lambda largest: largest.error)
            worst = worst._replace(points=sum(largest.points for largest in found[key]))
            is_good = worst.error <= limit(name)
            failed += not is_good
            verdict = "" if is_good else f"  FAILED: more than {limit(name):g}"
            clock = time.monotonic() - started
            print(f"{clock:6.0f} s  {name:9} {dtype.name.lower()}  {worst}{verdict}", flush=True)
    print(f"{len(parts) - failed} passed, {failed} failed")
    return failed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", default=list(MEASURED), metavar="name")
    parser.add_argument("--points", type=int, default=1_000_000, help="of any bits, in f64")
    given = parser.parse_args()
    if unknown := set(given.names) - set(MEASURED):
        parser.error(f"no such function: {', '.join(sorted(unknown))}")
    sys.exit(1 if main(given.names, given.points) else 0)
