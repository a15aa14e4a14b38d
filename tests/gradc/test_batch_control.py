"""Batching of control flow: the batched function is the stack of the function over the points."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from gradc.autodiff.batching import batch, batch_each
from gradc.derivatives import vjp
from gradc.tracing import trace
from gradc_ir.core.graph import Function
from gradc_ir.errors import IndexError, LoopError
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.text.parser import parse_function
from gradc_ir.verify import verify
from tests import random_loops
from tests.comparing import assert_same_bits
from tests.control_programs import control_program
from tests.gradc.batch_programs import PROGRAMS

POINTS = 4


def points_of(name: str, seed: int = 0) -> list[list[Any]]:
    """Return the arguments of each point."""
    rng = np.random.default_rng(seed)
    return [PROGRAMS[name].draw(rng) for _ in range(POINTS)]


def assert_stack(function: Function, points: list[list[Any]], flags: Sequence[bool]) -> None:
    """Batched by these parameters it makes the results of each point, to the bit."""
    wide = batch(function, flags, len(points))
    verify(wide)
    arrays = [
        np.stack([point[i] for point in points]) if has else points[0][i]
        for i, has in enumerate(flags)
    ]
    each = [[point[i] if has else points[0][i] for i, has in enumerate(flags)] for point in points]
    try:
        wanted = [interpret(function, given) for given in each]
    except (IndexError, LoopError) as error:  # of one point is one of all
        with pytest.raises(type(error)):
            interpret(wide, arrays)
        return
    for found, *stack in zip(interpret(wide, arrays), *wanted, strict=True):
        assert_same_bits(found, np.stack(stack))


@pytest.mark.parametrize("name", PROGRAMS)
def test_batched_program_is_the_stack(name: str) -> None:
    function = parse_function(PROGRAMS[name].text)
    for seed in range(4):
        points = points_of(name, seed)
        for flags in itertools.product([False, True], repeat=len(function.params)):
            assert_stack(function, points, flags)


def floats(function: Function) -> list[int]:
    """The parameters that are differentiated by."""
    return [i for i, type_ in enumerate(function.param_types) if type_.dtype.is_float]


def cotangents(function: Function, rng: np.random.Generator, *points: int) -> list[Any]:
    """A cotangent for each float result."""
    return [
        rng.normal(size=(*points, *type_.shape))
        for type_ in function.result_types
        if type_.dtype.is_float
    ]


def assert_gradients(function: Function, points: list[list[Any]], shared: Sequence[int]) -> None:
    """The batched derivative, and that of the batched function, are those of each point.

    What the points share, at the positions ``shared``, has the sum of their gradients.
    """
    rng = np.random.default_rng(2)
    wrt = [i for i, type_ in enumerate(function.param_types) if type_.dtype.is_float]
    seeds = [
        rng.normal(size=(POINTS, *result.shape))
        for result in interpret(function, points[0])
        if result.dtype.kind == "f"
    ]
    pulled = vjp(function, wrt)
    first = len(function.results)
    flags = [i not in shared for i in range(len(function.params))]
    given = [[point[i] if has else points[0][i] for i, has in enumerate(flags)] for point in points]
    each = [
        interpret(pulled, [*point, *(seed[p] for seed in seeds)])[first:]
        for p, point in enumerate(given)
    ]
    arrays = [
        np.stack([point[i] for point in points]) if has else points[0][i]
        for i, has in enumerate(flags)
    ]
    wide = batch(pulled, flags + [True] * len(seeds), POINTS)
    of_batched = vjp(batch(function, flags, POINTS), wrt)
    for derivative in (wide, of_batched):
        verify(derivative)
        results = interpret(derivative, [*arrays, *seeds])[first:]
        for i, result, *stack in zip(wrt, results, *each, strict=True):
            want = np.stack(stack)
            if not flags[i] and derivative is of_batched:
                want = want.sum(0)
            scale = 1e-11 * (1 + np.max(np.abs(stack), initial=0))
            np.testing.assert_allclose(result, want, rtol=0, atol=scale)


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients(name: str) -> None:
    function = parse_function(PROGRAMS[name].text)
    points = points_of(name, 1)
    floats = [i for i, type_ in enumerate(function.param_types) if type_.dtype.is_float]
    assert_gradients(function, points, [])
    if len(floats) < len(function.params):
        assert_gradients(function, points, floats)


def random_program(seed: int) -> tuple[Function, list[list[Any]]]:
    """A program of nested loops and branches, and the arguments of each point."""
    if seed % 2:
        rng = np.random.default_rng(seed)
        sizes = ((), (), (4,))
        points = [[np.asarray(rng.normal(size=size)) for size in sizes] for _ in range(POINTS)]
        return control_program(seed), points
    size = 1 + seed % 4
    program = random_loops.Program(seed).real
    function = trace(program, tuple(random_loops.arguments(seed, size))).function
    each = [random_loops.arguments(seed + i, size) for i in range(POINTS)]
    return function, [[np.asarray(x) for x in arguments] for arguments in each]


@pytest.mark.parametrize("seed", range(int(os.environ.get("GRADC_EXAMPLES", "20"))))
def test_random_programs(seed: int) -> None:
    function, points = random_program(seed)
    rng = np.random.default_rng(seed)
    assert_stack(function, points, [True] * len(function.params))
    assert_stack(function, points, [bool(has) for has in rng.integers(0, 2, len(function.params))])


@pytest.mark.parametrize("seed", range(0, int(os.environ.get("GRADC_EXAMPLES", "20")), 2))
def test_gradients_of_random_programs(seed: int) -> None:
    function, points = random_program(seed)
    assert_gradients(function, points, [])
    assert_gradients(function, points, [1])


def bodies(function: Function) -> Iterator[Function]:
    """The bodies in a function, at any depth."""
    for node in function.body:
        for body in node.attributes.values():
            if isinstance(body, Function):
                yield body
                yield from bodies(body)


@pytest.mark.parametrize(
    "name",
    [
        "scan, counted, scatter_set",
        "scan, counted, scatter_add",
        "while, condition reads",
        "scan in while",
    ],
)
def test_array_in_a_loop_is_never_copied(name: str) -> None:
    """For a point that has ended what was there is written again: no whole array is chosen."""
    function = parse_function(PROGRAMS[name].text)
    wide = batch(function, [True] * len(function.params), POINTS)
    arrays = {type_.shape for type_ in wide.param_types if type_.rank == 2}
    chosen = [
        node.results[0].type.shape
        for body in bodies(wide)
        for node in body.body
        if node.op.name == "select"
    ]
    assert chosen
    assert not arrays.intersection(chosen)


def test_what_points_share_stays_one() -> None:
    """Only what varies has the axis: a loop of all points, its steps and its matrix."""
    function = parse_function("""
    func @f(%a: f64[3,3], %x: f64[3], %u: f64[9]) -> (f64[3], f64[9]) {
      %s: f64 = constant 0.0
      %0, %1, %2: f64[3], f64, f64[9] = scan %a, %x, %s, %u {body = @step, consts = 1, carries = 2,
        length = 9, reverse = false, counted = false, checkpoint = none}
      return %0, %2
    }
    func @step(%a: f64[3,3], %x: f64[3], %s: f64, %u: f64) -> (f64[3], f64, f64) {
      %0: f64[3] = contract %a, %x {spec = "ij,j->i"}
      %1: f64 = add %s, %u
      return %0, %1, %1
    }
    """)
    wide, varies = batch_each(function, [False, True, False], POINTS, [False, False])
    assert varies == (True, False)
    (loop,) = [node for node in wide.body if node.op.name == "scan"]
    assert [str(type_) for type_ in loop.attributes["body"].param_types] == [
        "f64[3,3]", "f64[4,3]", "f64", "f64"
    ]  # fmt: skip
