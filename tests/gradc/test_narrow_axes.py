"""What few elements are read of is computed for what these are made of, to the same bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.derivatives import jvp, vjp
from gradc_ir.core.graph import Function
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.passes import NarrowAxes
from gradc_ir.verify import verify
from tests.comparing import assert_same_bits

SIZE = 400


def last_of_chain(x: Any) -> Any:
    y = np.zeros_like(x)
    for _ in gradc.rolled(range(10)):
        slope = x * np.concatenate([np.ones(1), y[:-1]])
        y = y + 0.1 * slope + 0.05 * x * np.concatenate([np.ones(1), (y + slope)[:-1]])
    return y[-1]


def heat_at_a_place(u: Any) -> Any:
    for _ in range(20):
        u[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u[200]


def heat_at_the_border(u: Any) -> Any:
    for _ in range(20):
        u[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u[0] = 0.5
        u[-1] = 0.25 * u[-2]
    return u[1] * u[3]


def insulated(u: Any) -> Any:
    for _ in range(20):
        wide = np.concatenate([u[:1], u, u[-1:]])
        u = u + 0.1 * (wide[2:] - 2 * u + wide[:-2])
    return u[0] + np.sin(u[2])


def wave_seen(u: Any) -> Any:
    v, seen = np.zeros_like(u), np.zeros(30)
    for i in range(30):
        v[1:-1] = v[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u = u + 0.1 * v
        seen[i] = u[300]
    return np.sum(seen**2)


def wave_of_a_source(u: Any) -> Any:
    v = np.zeros_like(u)
    for i in range(30):
        v[1:-1] = v[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u = u + 0.1 * v
        u[120] += np.sin(0.3 * i)
    return u[100]


def many_rows(u: Any) -> Any:
    grid = np.stack([u, 2 * u, np.cos(u)], axis=1)
    for _ in gradc.rolled(range(15)):
        grid = 0.5 * grid + 0.25 * np.concatenate([grid[1:], grid[-1:]]) * grid[:, ::-1]
    return np.sum(grid[7] ** 2)


def states_of_all_steps(u: Any) -> Any:
    def step(c: Any, _: Any) -> Any:
        c = c * np.concatenate([c[1:], np.ones(1)])
        return c, c

    return np.sum(gradc.scan(step, u, None, length=12)[1][:, 5])


def steps_of_rows(u: Any) -> Any:
    pushes = u[:360].reshape(3, 120).repeat(4, axis=1)[:, :SIZE]

    def step(c: Any, push: Any) -> Any:
        return np.concatenate([c[:1], 0.5 * (c[1:] + c[:-1])]) + push[: len(c)], ()

    return gradc.scan(step, u, pushes)[0][-3]


NARROWED: list[Callable[[Any], Any]] = [
    last_of_chain,
    heat_at_a_place,
    heat_at_the_border,
    insulated,
    wave_seen,
    wave_of_a_source,
    many_rows,
    states_of_all_steps,
    steps_of_rows,
]


def few_steps(u: Any) -> Any:
    for _ in range(4):
        half = u * np.concatenate([np.ones(1), u[:-1]])
        u = u + 0.1 * np.concatenate([np.ones(2), half[:-2]])
    return u[-1]


def one_of_each(u: Any) -> Any:
    return np.exp(np.sin(u))[300] * np.sqrt(u)[-1]


def a_half(u: Any) -> Any:
    rows = np.cos(np.stack([u, u * u], axis=1) * np.arange(SIZE)[:, None])
    return np.sum(rows[100:200] ** 2)


def of_what_loops_make(u: Any) -> Any:
    for _ in gradc.rolled(range(5)):
        u = u * u[::-1]
    return np.tanh(u[1:] - u[:-1])[7]


STRAIGHT: list[Callable[[Any], Any]] = [few_steps, one_of_each, a_half, of_what_loops_make]


def periodic(u: Any) -> Any:
    for _ in range(20):
        u = 0.5 * u + 0.25 * np.roll(u, 1) + 0.25 * np.roll(u, -1)
    return u[3]


def joined(u: Any) -> Any:
    for _ in range(20):
        u = 0.5 * u * np.sum(u) / np.max(u)
    return u[3]


def read_whole(u: Any) -> Any:
    for _ in range(20):
        u = 0.5 * u + 0.5 * np.concatenate([u[1:], u[:1]])
    return np.sum(u) + u[3]


def scaled(u: Any) -> Any:
    """A loop whose gradient sums over the axis, in an order that a part of it would not have."""
    scale = u[0] / u[1]
    for _ in range(20):
        u = scale * np.concatenate([u[1:], u[-1:]])
    return u[3]


def along(u: Any) -> Any:
    for _ in range(20):
        u = 0.5 * np.cumsum(u)
    return u[3]


def read_in_all_places(u: Any) -> Any:
    for _ in range(200):
        u[1:-1] = 0.5 * u[1:-1] + 0.25 * (u[2:] + u[:-2])
    return u[150] + u[250]


def normalised(u: Any) -> Any:
    return (np.exp(u) / np.sum(np.exp(u)))[3]


def of_halves(u: Any) -> Any:
    for _ in gradc.rolled(range(5)):
        u = np.concatenate([u[200:], 0.5 * u[:200]])
    return np.concatenate([np.sin(u[:200]), np.cos(u[200:])])[5]


def most_of_it(u: Any) -> Any:
    return np.sum(np.exp(u)[:-1] * np.sin(u)[1:])


WHOLE: list[Callable[[Any], Any]] = [
    periodic,
    joined,
    read_whole,
    scaled,
    along,
    read_in_all_places,
    normalised,
    of_halves,
    most_of_it,
]


def drawn(n: int = SIZE) -> Any:
    return np.random.default_rng(n).uniform(0.9, 1.1, n)


def traced(program: Callable[[Any], Any]) -> Function:
    made: Function = gradc.compile(program).ir(drawn(), stage="traced")
    return made


def longest(function: Function) -> int:
    """Return the largest size of what loops carry."""
    sizes = [
        value.type.shape[0]
        for node in function.nodes
        if node.op.name == "scan"
        for value in node.results[: node.attributes["carries"]]
        if value.type.shape
    ]
    return max(size for size in sizes if isinstance(size, int))


def computed(function: Function) -> int:
    """Return the largest size of what is computed outside of loops."""
    sizes = [
        value.type.shape[0]
        for node in function.nodes
        if node.op.is_elementwise
        for value in node.results
        if value.type.shape
    ]
    return max(size for size in sizes if isinstance(size, int))


def assert_same_bits_of(before: Function, after: Function) -> None:
    """Compare value, gradient and derivative along a direction of two functions of one array."""
    verify(after)
    u = drawn()
    assert_same_bits(interpret(after, [u])[0], interpret(before, [u])[0])
    pulled = [interpret(vjp(made, (0,), seeds="ones"), [u])[1] for made in (before, after)]
    assert_same_bits(*pulled)
    tangent = u[::-1].copy()
    pushed = [interpret(jvp(made, (0,)), [u, tangent])[1] for made in (before, after)]
    assert_same_bits(*pushed)


@pytest.mark.parametrize(
    ("program", "size"),
    [*((each, longest) for each in NARROWED), *((each, computed) for each in STRAIGHT)],
    ids=lambda each: each.__name__,
)
def test_a_part_has_the_bits_of_the_whole(
    program: Callable[[Any], Any], size: Callable[[Function], int]
) -> None:
    before = traced(program)
    after = NarrowAxes()(before)
    assert size(after) < SIZE * 3 // 4
    assert_same_bits_of(before, after)
    assert NarrowAxes()(after) is after


@pytest.mark.parametrize("program", WHOLE, ids=lambda program: program.__name__)
def test_what_needs_all_stays(program: Callable[[Any], Any]) -> None:
    before = traced(program)
    assert NarrowAxes()(before) is before


@pytest.mark.parametrize(
    "program", [*NARROWED[:6], few_steps, one_of_each], ids=lambda program: program.__name__
)
@pytest.mark.parametrize("n", [301, pytest.param(1000, marks=pytest.mark.slow)])
def test_sizes_of_symbols(program: Callable[[Any], Any], n: int) -> None:
    compiled = gradc.compile(program, spec="u: f64[n]")
    static = gradc.compile(program, spec=f"u: f64[{n}]")
    u = drawn(n)
    assert_same_bits(compiled(u.copy()), static(u.copy()))
    assert_same_bits(compiled.grad(u.copy()), static.grad(u.copy()))


def test_an_index_beyond_a_symbolic_size_is_shown_as_it_was() -> None:
    with pytest.raises(gradc.IndexError, match=r"300.*size 200"):
        gradc.compile(wave_seen, spec="u: f64[n]")(drawn(200))


def test_infinite_elements_elsewhere_leave_the_gradient_alone() -> None:
    u = drawn()
    u[[0, 150, 399]] = np.inf, np.nan, -np.inf
    gradient = gradc.grad(heat_at_a_place)(u)
    assert np.all(gradient[:180] == 0)
    assert np.all(np.isfinite(gradient))
    assert np.count_nonzero(gradient) == 41


@pytest.mark.parametrize("seed", range(20))
def test_random_neighbours(seed: int) -> None:
    random = np.random.default_rng(seed)
    low, high = random.integers(0, 4, 2).tolist()
    steps, place = int(random.integers(2, 12)), int(random.integers(0, SIZE))
    ends = random.integers(0, 3, 2).tolist()

    def program(u: Any) -> Any:
        v = np.cos(u)
        for _ in gradc.rolled(range(steps)):
            middle = u[low : SIZE - high] * 0.5 + 0.25 * v[: SIZE - low - high]
            middle = middle + 0.1 * u[low + high :]
            before = [0.5 * u[:low], v[:low], np.zeros(low)][ends[0]]
            behind = [u[SIZE - high :] * 2, v[SIZE - high :], np.ones(high)][ends[1]]
            u, v = np.concatenate([before, middle, behind]), np.sin(u) + v
        return u[place] * v[min(place + 2, SIZE - 1)]

    before = traced(program)
    after = NarrowAxes()(before)
    assert after is not before
    assert_same_bits_of(before, after)
