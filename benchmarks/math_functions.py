"""Nanoseconds an element of the emitted math functions, beside glibc's vector functions and NumPy.

    python benchmarks/math_functions.py [--cpu x86-64-v4] [names …]

Arrays stay in the first cache; the contestants take turns, each figure is the least of many. The
ratio is glibc's time by ours, at the same width of vectors, which the CPU gives: above 1 ours is
faster. glibc's functions are called by a loop made in the same way, where the C library has them;
ours are inlined, on vectors of 8 or 16 lanes.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

from gradc_codegen.machine.jit import LoadedModule, compile_module
from gradc_codegen.math.emitted.table import DEFINITIONS, operands_of
from gradc_ir.core.types import DType
from gradc_ir.errors import GradcError
from tools.math_loops import ELEMENT, NUMPY, emitted_text, loop_text

ELEMENTS = 2048
REPETITIONS = 20
TURNS = 80
LANES = {DType.F64: 8, DType.F32: 16}
# CPU -> the letter of its vectors in the names of glibc's functions, and their bytes
VECTORS = {"x86-64-v3": ("d", 32), "x86-64-v4": ("e", 64)}


def repeated(text: str, operands: int, cpu: str) -> LoadedModule:
    """Return the loop of a module, run over and over: ``void run(times, operands, results)``."""
    pointers = [f"ptr %x{k}" for k in range(operands)] + ["ptr %y"]
    return compile_module(
        f"""{text}
define void @run(i64 %times, {", ".join(pointers)}) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %following, %loop ]
  call void @loop(i64 {ELEMENTS}, {", ".join(pointers)})
  %following = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %following, %times
  br i1 %more, label %loop, label %done
done:
  ret void
}}
""",
        cpu,
    )


def ours(word: str, dtype: DType, cpu: str) -> LoadedModule:
    """Return a loop over a word's function, inlined."""
    return repeated(emitted_text(word, dtype, LANES[dtype], cpu), operands_of(word), cpu)


def glibc(name: str, dtype: DType, cpu: str) -> LoadedModule | None:
    """Return a loop over a vector function of glibc's; None where it has none."""
    letter, size = VECTORS[cpu]
    lanes, end = size // dtype.bytes, "f" if dtype is DType.F32 else ""
    operands = operands_of(f"math.{name}")
    symbol = f"_ZGV{letter}N{lanes}{'v' * operands}_{name}{end}"
    try:
        getattr(ctypes.CDLL("libmvec.so.1", mode=ctypes.RTLD_GLOBAL), symbol)
    except (OSError, AttributeError):
        return None
    vector = f"<{lanes} x {ELEMENT[dtype]}>"
    declaration = f"declare {vector} @{symbol}({', '.join([vector] * operands)})\n"
    return repeated(declaration + loop_text(f"@{symbol}", dtype, lanes, operands), operands, cpu)


def contestants(
    name: str, dtype: DType, cpu: str, operands: list[Any], y: Any
) -> Iterator[tuple[str, Any, int]]:
    """Yield who takes part: a name, a function, and how often a call of it goes over the array."""
    places = [ctypes.c_void_p(array.ctypes.data) for array in (*operands, y)]
    kind = ctypes.CFUNCTYPE(None, ctypes.c_int64, *map(type, places))
    word = f"math.{name}"
    for who, code in (("ours", ours(word, dtype, cpu)), ("glibc", glibc(name, dtype, cpu))):
        if code is not None:
            run, keep = kind(code.address("run")), code
            yield who, lambda run=run, keep=keep: run(REPETITIONS, *places), REPETITIONS
    ufunc = getattr(np, NUMPY.get(name, name), None)
    if ufunc is not None:
        yield "numpy", lambda: ufunc(*operands, out=y), 1


def seconds(function: Callable[[], object]) -> float:
    """Return how long one call takes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def main(names: list[str], cpu: str) -> None:
    """Print a line for each function and dtype, and the geometric mean of the ratios to glibc."""
    print(f"{'':34}{'ours':>8}{'glibc':>8}{'NumPy':>8}  ratio to glibc, ns an element, {cpu}")
    ratios = []
    random = np.random.default_rng(0)
    for name in names or [word.removeprefix("math.") for word in DEFINITIONS]:
        for dtype in (DType.F64, DType.F32):
            operands = [
                (random.uniform(0.01, 0.99, ELEMENTS) + (name == "acosh")).astype(dtype.numpy)
                for _ in range(operands_of(f"math.{name}"))
            ]
            results = np.empty_like(operands[0])
            taking_part = list(contestants(name, dtype, cpu, operands, results))
            best = {who: math.inf for who, _, _ in taking_part}
            for _ in range(TURNS):
                for who, function, times in taking_part:
                    best[who] = min(best[who], seconds(function) / times / ELEMENTS * 1e9)
            columns = (best.get(who) for who in ("ours", "glibc", "numpy"))
            shown = "".join(f"{time:8.2f}" if time else " " * 8 for time in columns)
            ratio = best["glibc"] / best["ours"] if "glibc" in best else None
            ratios += [ratio] if ratio else []
            shown += f"  {ratio:.2f}" if ratio else ""
            print(f"{name:30}{dtype.name.lower():4}{shown}", flush=True)
    if ratios:
        print(f"geometric mean of the ratios {math.exp(np.mean(np.log(ratios))):.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Time the emitted math functions.")
    parser.add_argument("names", nargs="*", help="of functions; without one, all")
    parser.add_argument("--cpu", choices=VECTORS, default="x86-64-v3")
    given = parser.parse_args()
    try:
        main(given.names, given.cpu)
    except GradcError as error:
        print(f"not on this machine: {error}")
