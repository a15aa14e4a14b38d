"""From a SymPy expression to its value and gradient, beside SymEngine's functions of LLVM.

    python -m benchmarks.sympy_functions [operations ...]        (make bench-sympy)

Each row is an expression of some thousand operations in twelve symbols, drawn by a fixed seed:
sums and products of powers and elementary functions of each other. Both tools are handed SymPy's
expression; the time to make is that from there to the first value and gradient, SymEngine's
derivatives included, all of the processor's time. A call is made from Python with twelve numbers.
Values and slopes are compared first.
"""

from __future__ import annotations

import os
import random
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ["GRADC_CACHE"] = "0"

import numpy as np
import sympy

import gradc
from benchmarks.turns import Contestant, Plan, called, measure

SYMBOLS = sympy.symbols("x0:12")
POINT = np.linspace(0.1, 0.9, len(SYMBOLS))
TURNS = 5
_FUNCTIONS: tuple[Callable[[Any], Any], ...] = (
    sympy.sin,
    sympy.cos,
    sympy.exp,
    sympy.tanh,
    lambda v: sympy.log(v**2 + 1),
    lambda v: sympy.sqrt(v**2 + 2),
)


def expression(operations: int) -> Any:
    """Return an expression of at least so many operations, the same one each time."""
    draw = random.Random(1)
    total = sympy.Integer(0)
    while sympy.count_ops(total) < operations:
        a, b, c = draw.sample(SYMBOLS, 3)
        inner = draw.choice(_FUNCTIONS)(a * b + draw.randint(1, 9) * c / 7)
        term = inner * draw.choice(SYMBOLS) ** draw.randint(1, 3)
        outer = draw.choice(_FUNCTIONS)(term / 3 + draw.choice(SYMBOLS))
        total += outer * draw.choice(SYMBOLS)
    return total


def by_gradc(expression: Any) -> Callable[[], Any]:
    """Return what computes value and gradient."""
    function = gradc.from_sympy(expression, SYMBOLS)
    answer = gradc.value_and_grad(function, tuple(range(len(SYMBOLS))))
    point = POINT.tolist()
    return lambda: answer(*point)


def by_symengine(expression: Any) -> Callable[[], Any]:
    """Return what computes value and gradient, with common subexpressions computed once."""
    import symengine

    taken = symengine.sympify(expression)
    symbols = [symengine.Symbol(str(symbol)) for symbol in SYMBOLS]
    every = [taken, *(taken.diff(symbol) for symbol in symbols)]
    answer = symengine.Lambdify(symbols, every, backend="llvm", cse=True)
    point = POINT.tolist()
    return lambda: answer(point)


TOOLS = {"gradc": by_gradc, "symengine": by_symengine}


def flat(result: Any) -> Any:
    """Return value and slopes in one row."""
    if isinstance(result, tuple):
        return np.array([result[0], *result[1]])
    return np.ravel(result)


def row(operations: int) -> None:
    """Measure one expression and print what was found."""
    given = expression(operations)
    seconds: dict[str, list[float]] = {name: [] for name in TOOLS}
    calls: dict[str, Callable[[], Any]] = {}
    for _ in range(TURNS):
        for name, make in TOOLS.items():
            start = time.process_time()
            calls[name] = make(given)
            calls[name]()
            seconds[name].append(time.process_time() - start)
    ours, theirs = (flat(calls[name]()) for name in TOOLS)
    np.testing.assert_allclose(ours, theirs, rtol=1e-11)
    plan = Plan(clock=time.process_time)
    times = measure([Contestant(name, called(call)) for name, call in calls.items()], plan)
    for name in TOOLS:
        print(
            f"{sympy.count_ops(given):6} operations  {name:10} "
            f"made in {statistics.median(seconds[name]):6.3f} s, "
            f"a call {times[name].median * 1e6:7.2f} us"
        )


if __name__ == "__main__":
    for count in map(int, sys.argv[1:] or ("300", "2413")):
        row(count)
