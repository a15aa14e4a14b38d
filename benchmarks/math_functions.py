"""Nanoseconds an element of the emitted math functions, beside glibc's vector functions and NumPy.

    python benchmarks/math_functions.py [names …]

Arrays stay in the first cache; the contestants take turns, each figure is the least of many. The
ratio is glibc's time by ours, at the same width of vectors: above 1 ours is faster. glibc's
functions are called by a loop made in the same way, where the C library has them.
"""

from __future__ import annotations

import ctypes
import math
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gradc_codegen.emitter import Module
from gradc_codegen.jit import Compiled, compile_module
from gradc_codegen.math import functions
from gradc_codegen.math.emitted.table import DEFINITIONS
from gradc_ir.errors import GradcError
from gradc_ir.types import DType

ELEMENTS = 2048
REPETITIONS = 20
TURNS = 80
CPU = "x86-64-v3"

LOOP = """
define void @once(ptr noalias %x, ptr noalias %y) noinline {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %following, %loop ]
  %from = getelementptr {element}, ptr %x, i64 %i
  %to = getelementptr {element}, ptr %y, i64 %i
  %v = load {type}, ptr %from, align 4
  %w = call {type} {name}({type} %v) {where}
  store {type} %w, ptr %to, align 4
  %following = add nuw nsw i64 %i, {lanes}
  %more = icmp slt i64 %following, {elements}
  br i1 %more, label %loop, label %done
done:
  ret void
}}
define void @run(i64 %times, ptr %x, ptr %y) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %following, %loop ]
  call void @once(ptr %x, ptr %y)
  %following = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %following, %times
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""


def ours(word: str, dtype: DType) -> Compiled:
    """Return a loop over a word's function."""
    module = Module("benchmark")
    name = functions.reference(module, word, dtype)
    element = {DType.F64: "double", DType.F32: "float"}[dtype]
    text = LOOP.format(
        element=element, type=element, name=name, where="alwaysinline", lanes=1, elements=ELEMENTS
    )
    return compile_module(f"{module}\n{text}", CPU)


def glibc(name: str, dtype: DType) -> Compiled | None:
    """Return a loop over a vector function of glibc's; None where it has none."""
    element, lanes, end = {DType.F64: ("double", 4, ""), DType.F32: ("float", 8, "f")}[dtype]
    symbol = f"_ZGVdN{lanes}v_{name}{end}"
    try:
        getattr(ctypes.CDLL("libmvec.so.1", mode=ctypes.RTLD_GLOBAL), symbol)
    except (OSError, AttributeError):
        return None
    vector = f"<{lanes} x {element}>"
    text = f"declare {vector} @{symbol}({vector})\n" + LOOP.format(
        element=element, type=vector, name=f"@{symbol}", where="", lanes=lanes, elements=ELEMENTS
    )
    return compile_module(text, CPU)


def numpy_name(name: str) -> str:
    """Return NumPy's name of a function of the C library."""
    return f"arc{name[1:]}" if name[0] == "a" else name


def contestants(name: str, dtype: DType, x: Any, y: Any) -> Iterator[tuple[str, Any, int]]:
    """Yield who takes part: a name, a function, and how often a call of it goes over the array."""
    kind = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
    for who, code in (("ours", ours(f"math.{name}", dtype)), ("glibc", glibc(name, dtype))):
        if code is not None:
            run, keep = kind(code.address("run")), code
            places = x.ctypes.data, y.ctypes.data
            yield who, lambda run=run, keep=keep, at=places: run(REPETITIONS, *at), REPETITIONS
    ufunc = getattr(np, numpy_name(name), None)
    if ufunc is not None:
        yield "numpy", lambda: ufunc(x, out=y), 1


def seconds(function: Callable[[], object]) -> float:
    """Return how long one call takes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def main(names: list[str]) -> None:
    """Print a line for each function and dtype, and the geometric mean of the ratios to glibc."""
    print(f"{'':12}{'ours':>8}{'glibc':>8}{'NumPy':>8}  ratio to glibc, ns an element, {CPU}")
    ratios = []
    random = np.random.default_rng(0)
    for name in names or [word.removeprefix("math.") for word in DEFINITIONS]:
        for dtype in (DType.F64, DType.F32):
            x = (random.uniform(0.01, 0.99, ELEMENTS) + (name == "acosh")).astype(dtype.numpy)
            y = np.empty_like(x)
            taking_part = list(contestants(name, dtype, x, y))
            best = {who: math.inf for who, _, _ in taking_part}
            for _ in range(TURNS):
                for who, function, times in taking_part:
                    best[who] = min(best[who], seconds(function) / times / ELEMENTS * 1e9)
            columns = (best.get(who) for who in ("ours", "glibc", "numpy"))
            shown = "".join(f"{time:8.2f}" if time else " " * 8 for time in columns)
            ratio = best["glibc"] / best["ours"] if "glibc" in best else None
            ratios += [ratio] if ratio else []
            print(f"{name:8}{dtype.name.lower():4}{shown}  {ratio or math.nan:.2f}", flush=True)
    if ratios:
        print(f"geometric mean of the ratios {math.exp(np.mean(np.log(ratios))):.2f}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except GradcError as error:
        print(f"not on this machine: {error}")
