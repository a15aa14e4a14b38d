"""Random programs of nested loops and branches: their values and derivatives in every way."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.arguments import pytree
from gradc.pipeline import derive
from gradc.requests.request import Request
from gradc.runtime.executable import Executable
from gradc.tracing import NeedsConcreteSize, trace
from gradc_ir.core.graph import Function
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.text.type_text import parse_type
from tests.comparing import assert_close
from tests.random_loops import Array, Plain, Program, arguments

pytestmark = pytest.mark.slow

PROGRAMS = int(os.environ.get("GRADC_EXAMPLES", "20"))
WRT = (0, 1, 2)
# all that is on the way is of order 1, and a hundred steps add up their roundings
NEAR = 1e-11

each_program = pytest.mark.parametrize("seed", range(PROGRAMS))
second_programs = pytest.mark.parametrize("seed", range(PROGRAMS)[::2])
other_programs = pytest.mark.parametrize("seed", range(PROGRAMS)[1::2])


@functools.lru_cache(maxsize=4)
def traced(seed: int) -> tuple[Program, list[Any], Function]:
    """Return a program, arguments for it, and its graph."""
    program = Program(seed)
    values = arguments(seed, 1 + (seed + 2) % 4)
    return program, values, trace(program.real, tuple(values)).function


def directions(seed: int, like: Sequence[Any]) -> list[Array]:
    """Return a tangent for each of x, m and s."""
    choose = np.random.default_rng(seed)
    return [choose.normal(size=np.shape(value)) for value in like[:3]]


def near(found: Any, want: Any, scale: float = 1.0, relative: float = NEAR) -> None:
    """Integers and truths are equal; floats agree relative to a scale."""
    found, want = np.asarray(found), np.asarray(want)
    assert (found.dtype, found.shape) == (want.dtype, want.shape)
    if want.dtype.kind == "f":
        assert_close(found, want, max(scale, 1.0) * np.ones(want.shape), relative)
    else:
        assert found.tolist() == want.tolist()


def run(function: Function, arrays: Sequence[Any]) -> list[Array]:
    """Return the results of the function's kernel."""
    executable = Executable(function)
    assert executable.kernel is not None, executable.reason
    return executable(arrays)


def leaves(tree: Any) -> list[Any]:
    return pytree.flatten(tree)[0]


def dot(one: Sequence[Any], other: Sequence[Any]) -> tuple[float, float]:
    """Return the sum of products, and of their magnitudes."""
    terms = [np.asarray(a * b) for a, b in zip(one, other, strict=True)]
    return sum(float(np.sum(t)) for t in terms), sum(float(np.sum(np.abs(t))) for t in terms)


@each_program
def test_compiled_is_interpreted_is_plain_python(seed: int) -> None:
    program, values, function = traced(seed)
    want = leaves(program.plain(values))
    arrays = [np.asarray(value) for value in values]
    for have, wanted in zip(interpret(function, arrays), want, strict=True):
        near(have, wanted)
    for have, wanted in zip(run(derive(function, Request("value")), arrays), want, strict=True):
        near(have, wanted)
    if seed % 4 == 1:  # outside of a trace the loops are plain Python, too
        for have, wanted in zip(leaves(program.real(*values)), want, strict=True):
            near(have, wanted)


@each_program
def test_forward_is_reverse_is_a_complex_step(seed: int) -> None:
    program, values, function = traced(seed)
    total = Function(function.name, function.params, function.results[:1])
    tangents = directions(seed, values)
    want = program.derivative(values, tangents)
    arrays = [np.asarray(value) for value in values]
    _, pushed = interpret(derive(total, Request("jvp", WRT)), [*arrays, *tangents])
    reverse = derive(total, Request("value_and_grad", WRT))
    for call in (interpret, run):
        value, *gradient = call(reverse, arrays)
        near(value, np.asarray(program.plain(values)[0]))
        found, scale = dot(gradient, tangents)
        near(found, want, scale)
        near(found, float(pushed), scale)


@second_programs
def test_second_derivatives(seed: int) -> None:
    program, values, function = traced(seed)
    total = Function(function.name, function.params, function.results[:1])
    tangents, others = directions(seed, values), directions(seed + 1, values)
    arrays = [np.asarray(value) for value in values]
    along = derive(total, Request("hvp", WRT))
    if seed % 4 == 0:
        products = run(along, [*arrays, *tangents])
    else:
        products = list(interpret(along, [*arrays, *tangents]))
    found, scale = dot(products, others)
    near(found, dot(interpret(along, [*arrays, *others]), tangents)[0], scale)
    want = difference_of_derivatives(program, values, tangents, others)
    if want is not None:
        near(found, want, scale, 1e-6)


def difference_of_derivatives(
    program: Program, values: Sequence[Any], tangents: Sequence[Any], others: Sequence[Any]
) -> float | None:
    """Return the second derivative along two tangents; None where a decision flips on the way."""
    step = 1e-4
    found, logs = [], []
    for factor in (1, -1, 2, -2, 0):
        moved = [v + factor * step * t for v, t in zip(values, tangents)]
        loops = Plain()
        found.append(program.derivative([*moved, values[3]], others, loops))
        logs.append(loops.log)
    if any(log != logs[0] for log in logs):
        return None
    return (8 * (found[0] - found[1]) - (found[2] - found[3])) / (12 * step)


@other_programs
def test_vmap_is_a_stack(seed: int) -> None:
    program = Program(seed)
    n = 1 + seed % 3
    rows = [arguments(seed + 1_000 * i, n) for i in range(3)]
    k_axis = 0 if seed % 4 == 1 else None
    columns: list[Any] = [np.stack(column) for column in zip(*rows)]
    if k_axis is None:
        columns[3] = rows[0][3]
        rows = [[*row[:3], rows[0][3]] for row in rows]

    def totals(x: Any, m: Any, s: Any, k: Any) -> Any:
        return gradc.vmap(lambda *row: program.real(*row)[0], in_axes=(0, 0, 0, k_axis))(x, m, s, k)

    want = np.stack([program.plain(row)[0] for row in rows])
    near(gradc.compile(totals)(*columns), want)
    if seed % 3:
        return
    tangents = directions(seed, columns)
    gradient = gradc.compile(lambda *a: np.sum(totals(*a))).grad(*columns, wrt=WRT)
    found, scale = dot(gradient, tangents)
    parts = [program.derivative(row, [t[i] for t in tangents]) for i, row in enumerate(rows)]
    near(found, float(sum(parts)), scale)


@pytest.mark.parametrize("seed", range(PROGRAMS)[::5])
def test_one_kernel_for_all_sizes(seed: int) -> None:
    program = Program(seed)
    types = [parse_type(text) for text in ("f64[n]", "f64[n,n]", "f64", "i64")]
    try:
        function = trace(lambda *a: program.real(*a)[0], types).function
    except NeedsConcreteSize:
        return  # such as 1 % n, a number; a compiled function is then made for each size
    kernel = Executable(derive(function, Request("value_and_grad", WRT)))
    for n in (3, 1, 6):
        values = arguments(seed + n, n)
        tangents = directions(seed, values)
        value, *gradient = kernel([np.asarray(value) for value in values])
        near(value, np.asarray(program.plain(values)[0]))
        found, scale = dot(gradient, tangents)
        near(found, program.derivative(values, tangents), scale)
