"""Kernels for any size beside kernels for one: ``python -m benchmarks.symbolic_sizes [ROW ...]``.

Each case is compiled three times: with its sizes as numbers; with symbols for its outer sizes,
samples and steps; with symbols for all. Printed is the processor time of each over the first, the
least of the turns, then seconds of compiling and kilobytes of code. The bits are compared. Calls
from Python and from C run the same code.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from benchmarks.kernel import KernelLoop
from benchmarks.rows import kmeans, logistic, mlp, pairwise
from benchmarks.rows.row import Case, Row, Sizes, make_case
from benchmarks.side_by_side import chosen
from benchmarks.turns import Plan, processor_seconds
from gradc.pipeline import Request, derive
from gradc.tracing import trace
from gradc_codegen.compile_function import Compilation
from gradc_codegen.interface.python_kernel import Kernel
from gradc_ir.core.sizes import Size, symbol
from gradc_ir.core.types import Type, dtype_of

# Sizes of inner axes, by rows; all others are outer ones.
_INNER: Mapping[str, frozenset[str]] = {
    "gmm": frozenset("k"),
    "kmeans": frozenset("kd"),
    "layer_norm": frozenset("m"),
    "logistic": frozenset("m"),
    "mlp": frozenset("mhk"),
    "pairwise": frozenset("d"),
    "rnn": frozenset({"width"}),
    "softmax": frozenset("mk"),
}
# What a function needs as a number.
_NUMBERS: Mapping[str, frozenset[str]] = {
    "gmm": frozenset("d"),
    "lstm": frozenset({"l", "c", "width"}),
}
# Smaller than what the rows are otherwise measured at.
_SMALL: tuple[tuple[Row, Sizes], ...] = (
    *((logistic.ROW, {"n": 1000, "m": m}) for m in (5, 8, 12, 16, 33, 100, 300)),
    (mlp.ROW, {"m": 16, "h": 32, "k": 4, "n": 64}),
    (kmeans.ROW, {"k": 10, "n": 2000, "d": 4}),
    (kmeans.ROW, {"k": 32, "n": 2000, "d": 8}),
    (pairwise.ROW, {"n": 500, "d": 10}),
)
_PLAN = Plan(rounds=9, turn=0.01, clock=processor_seconds)


def cases(names: Sequence[str]) -> Iterator[Case]:
    """Yield the cases of the rows whose names begin with one of the names; all for none."""
    yield from chosen(names)
    for row, sizes in _SMALL:
        if not names or any(row.name.startswith(name) for name in names):
            yield make_case(row, sizes, "f64")


def types_of(case: Case, symbolic: frozenset[str]) -> tuple[Type, ...]:
    """Return the types of the arguments, with symbols for axes that are as long as a size."""
    row = case.row

    def shapes(sizes: Sizes) -> list[tuple[int, ...]]:
        return [array.shape for array in row.data(np.random.default_rng(7), sizes)]

    tiny = shapes(row.tiny)
    longer = {name: shapes({**row.tiny, name: row.tiny[name] + 1}) for name in sorted(symbolic)}

    def axis_of(leaf: int, axis: int, size: int) -> Size:
        before = tiny[leaf][axis]
        moved = [name for name, found in longer.items() if found[leaf][axis] != before]
        is_that = len(moved) == 1 and before == row.tiny[moved[0]]
        return symbol(moved[0]) if is_that else size

    return tuple(
        Type(dtype_of(array.dtype), tuple(axis_of(leaf, *at) for at in enumerate(array.shape)))
        for leaf, array in enumerate(case.arguments)
    )


def compiled(case: Case, symbolic: frozenset[str]) -> Kernel:
    """Return the kernel of value and gradient with symbols for some sizes."""
    row = case.row
    request = Request("value") if row.wrt is None else Request(row.of, row.wrt)
    function = derive(trace(row.function, types_of(case, symbolic)).function, request)
    return Compilation(function).kernel()


def measure(case: Case) -> str:
    """Return a line about a case."""
    every = frozenset(case.sizes) - _NUMBERS.get(case.row.name, frozenset())
    inner = _INNER.get(case.row.name, frozenset())
    ways: dict[str, frozenset[str]] = {"static": frozenset(), "outer": every - inner}
    if inner:
        ways["all"] = every
    loops, notes = [], []
    for symbolic in ways.values():
        start = processor_seconds()
        kernel = compiled(case, symbolic)
        notes.append(f"{processor_seconds() - start:.2f} s {len(kernel.compiled.code) // 1024} KB")
        loops.append(KernelLoop(kernel, case.arguments))
    least = _least(loops)
    parts = [f"{case.name:36} {least[0] * 1e6:10.1f} us ({notes[0]})"]
    for way, loop, time, note in list(zip(ways, loops, least, notes))[1:]:
        same = all(map(np.array_equal, loops[0].results, loop.results))
        parts.append(f"{way} {time / least[0]:.2f} ({note}{'' if same else ', other bits'})")
    return "  ".join(parts)


def _least(loops: Sequence[KernelLoop]) -> list[float]:
    """Return the seconds of a call of each, the least of several turns."""
    counts = []
    for loop in loops:
        loop.run(1)
        start = _PLAN.clock()
        loop.run(1)
        counts.append(max(1, round(_PLAN.turn / max(_PLAN.clock() - start, 1e-7))))
    least = [float("inf")] * len(loops)
    for _ in range(_PLAN.rounds):
        for place, (loop, count) in enumerate(zip(loops, counts)):
            start = _PLAN.clock()
            loop.run(count)
            least[place] = min(least[place], (_PLAN.clock() - start) / count)
    return least


if __name__ == "__main__":
    for each in cases(sys.argv[1:]):
        print(measure(each), flush=True)
