"""Random numbers of generators that a traced function makes: NumPy's own, in loops too."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.random import RandomState, default_rng

import gradc

X = np.array([0.5, 1.0, 0.2, 0.3])


def compare(program: Callable[..., Any], *args: Any, rtol: float = 1e-12) -> Any:
    """Compare a program's value with its own in Python, and its gradient with differences."""
    compiled = gradc.compile(program)
    expected = program(*args)
    np.testing.assert_allclose(compiled(*args), expected, rtol=rtol)
    np.testing.assert_allclose(compiled(*args), expected, rtol=rtol)
    gradient = compiled.grad(*args)
    x, *rest = args
    for i in range(np.size(x)):
        step = np.zeros(np.size(x))
        step[i] = 1e-6
        step = step.reshape(np.shape(x))
        numeric = (program(x + step, *rest) - program(x - step, *rest)) / 2e-6
        np.testing.assert_allclose(np.ravel(gradient)[i], numeric, rtol=1e-5, atol=1e-7)
    return compiled


# -- constants of a call ---------------------------------------------------------------------------


def weighted(x):
    rng = np.random.default_rng(0)
    return np.sum(x * rng.normal(size=len(x)))


def by_imported_names(x):
    rng, old = default_rng(3), RandomState(1)
    drawn = rng.uniform(1, 2, size=x.shape) * old.rand()
    return np.sum(x * drawn) + rng.integers(10) + old.randn(2, 3).sum()


def by_bit_generators(x):
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(5)))
    first, second = rng.spawn(2)
    return np.sum(x * first.random(4)) * second.random() + isinstance(rng, np.random.Generator)


def pythons_own(x):
    own = random.Random(4)
    order = list(range(4))
    own.shuffle(order)
    return x[own.randint(0, 3)] * own.random() + own.gauss(0, 1) * x[order[0]] + own.uniform(*x[:2])


def elements_of_what_is_traced(x):
    rng = np.random.default_rng(5)
    moved = x.copy()
    rng.shuffle(moved)
    rows = np.outer(x, np.arange(1.0, 4.0))
    total = (rng.permutation(x) * np.arange(4)).sum() + (moved * np.arange(4) ** 2).sum()
    total += (rng.choice(x, 3, replace=False) * np.array([1.0, 2, 3])).sum()
    return total + np.sum(rng.permutation(rows, axis=1) @ np.arange(3.0)) + rng.random()


def assigned_to(x):
    rng = np.random.default_rng(7)
    drawn = rng.normal(size=4)
    drawn[0] = x[1]
    large = rng.normal(size=5000)
    large[3] = x[2]
    return np.sum(drawn * x) + np.mean(large**2) * x[0] + rng.normal(size=(70, 70)).sum() * x[1]


@pytest.mark.parametrize(
    "program",
    [
        weighted,
        by_imported_names,
        by_bit_generators,
        pythons_own,
        elements_of_what_is_traced,
        assigned_to,
    ],
)
def test_what_is_drawn_is_what_numpy_draws(program: Callable[..., Any]) -> None:
    compare(program, X)


def test_another_length_draws_anew() -> None:
    compiled = gradc.compile(weighted)
    for length in (4, 7, 3):
        x = np.ones(length)
        assert compiled(x) == pytest.approx(weighted(x), rel=1e-14)


def test_a_seed_may_be_an_argument() -> None:
    @gradc.compile
    def drawn(x, seed):
        return np.sum(x * np.random.default_rng(seed).normal(size=3))

    for seed in (1, 2, 1):
        expected = np.sum(np.random.default_rng(seed).normal(size=3))
        assert drawn(np.ones(3), seed) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("size", [None, 3, (2, 2)])
def test_parameters_that_are_traced(size: Any) -> None:
    def moments(p):
        rng, old = np.random.default_rng(1), np.random.RandomState(2)
        total = 0.0
        for each in (rng, old):
            drawn = [
                each.normal(p[0], p[1], size),
                each.uniform(p[0], 5.0, size=size),
                each.exponential(p[1], size),
                each.lognormal(p[0], p[1], size),
                each.gumbel(p[0], p[1], size),
                each.laplace(p[0], p[1], size),
                each.logistic(p[0], p[1], size),
                each.rayleigh(p[1], size),
                each.normal(p[:2], np.array([[1.0], [2.0]])),
            ]
            total = total + sum(np.sum(np.sin(one)) for one in drawn) + each.normal(p[0])
        return total

    compare(moments, np.array([0.3, 0.7]))


# -- loops -----------------------------------------------------------------------------------------


def steps(x):
    rng = np.random.default_rng(2)
    for _ in range(200):
        z, u, k = rng.standard_normal(4), rng.uniform(), rng.integers(4)
        x = x + 0.1 * np.sin(x) * z + u * x[k] * 0.001
    return x.sum() + rng.normal()


def loops_in_loops(x):
    rng, own = np.random.default_rng(2), random.Random(3)
    total = 0.0
    for _ in range(30):
        w = rng.normal()
        for _ in range(20):
            x = x + 0.01 * np.sin(x) * rng.standard_normal(4) + 0.001 * own.gauss(0, 1)
            total += rng.random() * x.sum()
        x = x + rng.normal(0.0, 2.0, size=4) * 0.01 * w
    return x.sum() + rng.normal() + total * own.random()


def several(x):
    both = [np.random.default_rng(2), np.random.default_rng(3)]
    found = []
    for _ in range(50):
        first, second = both
        x = x[second.permutation(4)] + 0.1 * first.normal(size=4)
        found.append(x * second.normal())
    return np.stack(found).sum() + both[0].normal()


class Simulation:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def step(self, x):
        return x + 0.1 * self.rng.normal(size=x.shape)


def of_an_object(x):
    simulation = Simulation(3)
    for _ in range(60):
        x = simulation.step(x) * 0.99
    return x.sum() + simulation.rng.normal()


def rows_of_many(x):
    rng = np.random.default_rng(2)
    paths = np.zeros(3000)
    for _ in range(60):
        paths = paths + x[0] * rng.standard_normal(3000) * 0.1
    return np.mean(np.maximum(paths, 0.0)) + rng.normal() + np.sum(x)


def scaled_by_what_is_traced(x):
    rng = np.random.RandomState(2)
    for _ in range(100):
        x = x * np.exp(rng.normal(0.0, x[1], size=4) * 0.1)
        if x[0] > 2:
            x = x * 0.9
    return x.sum() + rng.normal()


@pytest.mark.parametrize(
    "program",
    [steps, loops_in_loops, several, of_an_object, rows_of_many, scaled_by_what_is_traced],
)
def test_loops_that_draw_are_one_operation(program: Callable[..., Any]) -> None:
    compiled = compare(program, X)
    assert ": rolled" in str(compiled.explain())
    assert ": unrolled" not in str(compiled.explain())


def made_in_each_step(x):
    total = 0.0
    for _ in range(50):
        rng = np.random.default_rng(2)
        total = total + (x * rng.normal(size=4)).sum()
        x = x * 0.99
    return total + rng.normal()


def a_seed_for_each_step(x):
    total = 0.0
    for step in range(50):
        total = total + (x * np.random.default_rng(step).normal(size=4)).sum()
        x = x * 0.99
    return total


def in_some_steps(x):
    rng = np.random.default_rng(2)
    for step in range(60):
        if step % 3 == 0:
            x = x + rng.normal(size=4) * 0.1
        x = np.sin(x) + x * rng.random()
    return x.sum()


def a_list_is_shuffled(x):
    rng = np.random.default_rng(2)
    for _ in range(40):
        order = list(range(4))
        rng.shuffle(order)
        x = x + x[order] * 0.1
    return (x * np.arange(4)).sum() + rng.random()


@pytest.mark.parametrize(
    "program", [made_in_each_step, a_seed_for_each_step, in_some_steps, a_list_is_shuffled]
)
def test_loops_whose_steps_draw_otherwise_are_unrolled(program: Callable[..., Any]) -> None:
    compiled = compare(program, X, rtol=1e-10)
    assert ": rolled" not in str(compiled.explain())


def test_a_number_of_steps_among_the_arguments() -> None:
    @gradc.compile
    def walk(x, count):
        rng = np.random.default_rng(2)
        for _ in range(count):
            x = x + rng.normal() * 0.1
        return x

    for count in (40, 3, 0, 41):
        expected = 1.0 + 0.1 * np.random.default_rng(2).normal(size=count).sum()
        assert walk(1.0, count) == pytest.approx(expected, rel=1e-12)


# -- refused ---------------------------------------------------------------------------------------


def in_a_branch(x):
    rng = np.random.default_rng(2)
    if x[0] > 0:
        x = x * rng.normal()
    return x.sum()


def left_early(x):
    rng = np.random.default_rng(2)
    for _ in range(100):
        x = x + rng.normal(size=4) * 0.1
        if x[0] > 1.5:
            break
    return x.sum()


def until_something_holds(x):
    rng = np.random.default_rng(2)
    while x[0] < 30:
        x = x + rng.normal(size=4) ** 2
    return x.sum()


def in_a_body(x):
    rng = np.random.default_rng(2)
    return gradc.fori_loop(0, 10, lambda i, y: y + rng.normal(size=4), x).sum()


def without_a_seed(x):
    return x.sum() * np.random.default_rng().normal()


def of_the_module(x):
    np.random.seed(0)
    return x.sum() * np.random.normal()


def a_seed_of_an_array(x):
    return np.sum(x * np.random.default_rng((x > 1).astype(int)).normal(size=4))


def probabilities(x):
    return np.random.default_rng(0).choice(4, p=x / x.sum()) * x.sum()


def shape_of_a_distribution(x):
    return np.random.default_rng(0).gamma(x[0]) * x.sum()


def a_state(x):
    rng = np.random.default_rng(0)
    rng.bit_generator.state = np.random.PCG64(1).state
    return rng.normal() * x.sum()


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (in_a_branch, "Generator.normal in a branch that is not known while tracing"),
        (left_early, "help: draw before it, in both cases: as many as it may take"),
        (until_something_holds, "help: draw as many as it may take before the loop"),
        (in_a_body, "help: draw before, and have the body take the numbers from there"),
        (without_a_seed, "help: give it a seed, np.random.default_rng\\(0\\)"),
        (of_the_module, "or by a generator that the function makes, np.random.default_rng\\(0\\)"),
        (a_seed_of_an_array, "the seed of np.random.default_rng is not known"),
        (probabilities, "help: draw u = rng.random\\(n\\), and search np.cumsum\\(p\\) for it"),
        (shape_of_a_distribution, "gamma of numbers that are not known"),
        (a_state, "help: make a generator from the seed that it is to begin with"),
    ],
)
def test_what_nobody_knows_is_refused(program: Callable[..., Any], message: str) -> None:
    with pytest.raises(gradc.TraceError, match=message):
        gradc.compile(program)(X)


def test_printing_in_a_loop_that_may_be_left_is_refused() -> None:
    @gradc.compile
    def printed(x):
        for step in range(100):
            print(step)
            x = x + 0.1
            if x > 1.5:
                break
        return x

    with pytest.raises(gradc.TraceError, match="print in a branch that is not known"):
        printed(1.0)
