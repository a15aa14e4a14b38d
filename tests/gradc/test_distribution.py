"""Loop distribution: what no step needs of another leaves the loop, and no bit changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.distribution import DistributeLoops
from gradc.pipeline import after, differentiate, stabilise
from gradc.requests.options import Options
from gradc.requests.request import Request
from gradc.tracing import trace
from gradc_ir.core.graph import Function
from gradc_ir.core.walk import nested
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.pipeline import Pipeline
from gradc_ir.verify import verify

RANDOM = np.random.default_rng(3)
ROWS = 23
NUMBERS = RANDOM.normal(size=ROWS)
PAIRS = RANDOM.normal(size=(ROWS, 2))
MATRIX, OTHER = RANDOM.normal(size=(2, 6, 6)) / 4
WIDE = RANDOM.normal(size=(ROWS, 6))


def volatility(p: Any, returns: Any) -> Any:
    def step(variance: Any, x: Any) -> Any:
        return p[0] + p[1] * x * x + p[2] * variance, np.log(variance) + x * x / variance

    return np.sum(gradc.scan(step, 1.0, returns)[1])


def recurrent(w: Any, rows: Any) -> Any:
    def step(state: Any, x: Any) -> Any:
        state = np.tanh(w @ x + w.T @ state)
        return state, state

    return np.sum(gradc.scan(step, np.zeros(6), rows)[1] ** 2)


def two_layers(p: Any, rows: Any) -> Any:
    def step(carry: Any, x: Any) -> Any:
        below, above = carry
        below = np.tanh(p[0] * np.exp(-x * x) + p[1] * below)
        above = np.sin(p[2] * np.exp(below) + above)
        return (below, above), np.log(2 + above)

    return np.sum(gradc.scan(step, (0.1, 0.2), rows)[1])


def delayed(p: Any, rows: Any) -> Any:
    """Every step reads what the rows were one and two steps ago."""

    def step(carry: Any, x: Any) -> Any:
        last, before = carry
        return (np.exp(p[0] * x), last), p[1] * last + np.sin(before + x)

    return np.sum(gradc.scan(step, (1.0, 2.0), rows)[1])


def swapped(p: Any, rows: Any) -> Any:
    """Two carries that change places are one recurrence."""

    def step(carry: Any, x: Any) -> Any:
        left, right = carry
        return (np.sin(right) + np.exp(p[0] * x), left * p[1]), np.cos(left + right)

    return np.sum(gradc.scan(step, (0.5, 0.25), rows)[1])


def backwards(p: Any, rows: Any) -> Any:
    def step(carry: Any, x: Any) -> Any:
        carry = carry * p[0] + np.exp(p[1] * x)
        return carry, np.log(carry)

    end, made = gradc.scan(step, 1.0, rows, reverse=True)
    return end + np.sum(made)


def inner_loop(p: Any, rows: Any) -> Any:
    def outer(total: Any, x: Any) -> Any:
        def inner(c: Any, y: Any) -> Any:
            return c * p[0] + np.exp(p[1] * y), None

        return total + gradc.scan(inner, x, x * rows)[0], None

    return gradc.scan(outer, 0.0, rows)[0]


def scored(p: Any, rows: Any) -> Any:
    """A step on more numbers than lanes: its functions fill them, the score's do not."""

    def step(state: Any, x: Any) -> Any:
        state = np.tanh(p[0] * state + np.sin(x[0] * p[1:]))
        return state, np.sum(x * (state - np.log(np.sum(np.exp(state)) + 2)))

    return np.sum(gradc.scan(step, p[1:], rows)[1])


def handed_on(p: Any, rows: Any) -> Any:
    """No step computes with what another has made but two rows later, or with a number."""

    def step(carry: Any, x: Any) -> Any:
        last, before, steady = carry
        y = np.exp(p[0] * x)
        return (y, last, p[2]), before * np.sin(x) + last / np.sqrt(1 + before * before) + steady

    ends, made = gradc.scan(step, (1.0, 2.0, 3.0), rows, reverse=True)
    return np.sum(made) + p[1] * ends[1] - ends[0]


PARAMETERS = np.array([0.3, 0.2, 0.4])
# the function, its arguments, and which functions leave the loops of its value
PROGRAMS: dict[str, tuple[Callable[..., Any], Sequence[Any], set[str]]] = {
    "volatility": (volatility, (PARAMETERS, NUMBERS), {"log"}),
    "recurrent": (recurrent, (MATRIX, WIDE), set()),
    "two layers": (two_layers, (PARAMETERS, NUMBERS), {"exp", "log"}),
    "delayed": (delayed, (PARAMETERS, NUMBERS), {"exp_product", "sin"}),
    "swapped": (swapped, (PARAMETERS, NUMBERS), {"exp_product", "cos"}),
    "handed on": (handed_on, (PARAMETERS, NUMBERS), {"exp_product", "sin", "hypot"}),
    "backwards": (backwards, (PARAMETERS, NUMBERS), {"exp_product", "log"}),
    "scored": (
        scored,
        (np.linspace(-1, 1, 13), RANDOM.normal(size=(ROWS, 12))),
        {"log", "reduce_sum"},
    ),
    "inner loop": (inner_loop, (PARAMETERS, NUMBERS[:9]), {"exp_product"}),
}
each_program = pytest.mark.parametrize(
    ("function", "arguments", "leaves"), PROGRAMS.values(), ids=PROGRAMS.keys()
)


def made(function: Callable[..., Any], arguments: Sequence[Any], of: str = "value") -> Function:
    """Return what a request makes of a function, without the last passes."""
    traced = trace(function, tuple(arguments)).function
    ready = differentiate(stabilise(traced, Options()), Request(of, (0,)))
    passes = after(Options()).passes
    names = [step.name for step in passes]
    return Pipeline("after", passes[: names.index(DistributeLoops().name)])(ready)


def in_loops(function: Function) -> set[str]:
    """Return the ops that some innermost loop of the function runs in a step."""
    bodies = [n.attributes["body"] for _, n in nested(function) if n.op.name == "scan"]
    steps = [{node.op.name for node in body.body} for body in bodies]
    return set().union(*(step for step in steps if "scan" not in step))


@each_program
def test_no_bit_changes(function: Any, arguments: Any, leaves: set[str]) -> None:
    for of in ("value", "value_and_grad"):
        whole = made(function, arguments, of)
        apart = DistributeLoops()(whole)
        verify(apart)
        for left, right in zip(interpret(whole, arguments), interpret(apart, arguments)):
            np.testing.assert_array_equal(left, right)


@each_program
def test_what_no_step_needs_of_another_leaves_the_loop(
    function: Any, arguments: Any, leaves: set[str]
) -> None:
    whole = made(function, arguments)
    assert leaves <= in_loops(whole)
    apart = DistributeLoops()(whole)
    assert leaves.isdisjoint(in_loops(apart))
    assert apart is not whole


def test_wide_functions_stay() -> None:
    function, arguments, _ = PROGRAMS["scored"]
    assert {"tanh", "sin"} <= in_loops(DistributeLoops()(made(function, arguments)))


def test_products_of_a_matrix_with_each_row_become_one() -> None:
    def products(function: Function) -> list[list[int]]:
        return [
            sorted(x.type.rank for x in node.operands)
            for _, node in nested(function)
            if node.op.name == "contract"
        ]

    whole = made(recurrent, (MATRIX, WIDE))
    assert products(whole) == [[1, 2], [1, 2]]
    assert sorted(products(DistributeLoops()(whole))) == [[1, 2], [2, 2]]


@each_program
def test_compiled_is_interpreted(function: Any, arguments: Any, leaves: set[str]) -> None:
    value, slope = gradc.compile(gradc.value_and_grad(function))(*arguments)
    whole = made(function, arguments, "value_and_grad")
    wanted = interpret(whole, arguments)
    np.testing.assert_allclose(value, wanted[0], rtol=1e-15)
    np.testing.assert_allclose(slope, wanted[1], rtol=1e-13)


@pytest.mark.parametrize("function", [delayed, handed_on])
def test_a_loop_that_only_hands_on_is_none(function: Any) -> None:
    assert not in_loops(DistributeLoops()(made(function, (PARAMETERS, NUMBERS))))


@pytest.mark.parametrize("function", [delayed, handed_on])
@pytest.mark.parametrize("rows", [0, 1, 2, 9])
def test_delays_over_any_number_of_rows(function: Any, rows: int) -> None:
    compiled = gradc.compile(gradc.value_and_grad(function), spec="p: f64[3], rows: f64[n]")
    value, slope = compiled(PARAMETERS, NUMBERS[:rows])
    assert value == pytest.approx(function(PARAMETERS, NUMBERS[:rows]), rel=1e-14)
    for i, step in enumerate(np.eye(3) * 1e-6):
        sides = [function(PARAMETERS + s * step, NUMBERS[:rows]) for s in (1, -1)]
        assert slope[i] == pytest.approx((sides[0] - sides[1]) / 2e-6, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("with_carry", [False, True])
def test_what_is_recovered_is_recovered_in_a_loop(with_carry: bool) -> None:
    def side(a: Any, b: Any) -> Any:
        return np.sqrt(a * a + b * b - a * b)

    def total(a: Any, b: Any) -> Any:
        def step(carry: Any, row: Any) -> Any:
            return row, side(*(carry if with_carry else row))

        return np.sum(gradc.scan(step, (a[0], b[0]), (a, b))[1])

    a, b = np.full(10, 2e200), np.full(10, 1e-180)
    value, slopes = gradc.compile(gradc.value_and_grad(total, (0, 1)))(a, b)
    assert value == pytest.approx(2e201, rel=1e-15)
    assert slopes[0][1:-1] == pytest.approx(np.ones(8), rel=1e-15)
    assert slopes[1][1:-1] == pytest.approx(np.full(8, -0.5), rel=1e-15)


@pytest.mark.parametrize("rows", [0, 1, 2, 9, 40])
def test_any_number_of_rows(rows: int) -> None:
    compiled = gradc.compile(gradc.value_and_grad(volatility), spec="p: f64[3], returns: f64[n]")
    returns = RANDOM.normal(size=rows)
    variance, total, slopes = 1.0, 0.0, np.zeros(3)
    by = np.zeros(3)
    for x in returns:
        total += np.log(variance) + x * x / variance
        slopes += by * (1 / variance - x * x / variance**2)
        by = np.array([1, x * x, variance]) + PARAMETERS[2] * by
        variance = PARAMETERS @ [1, x * x, variance]
    value, found = compiled(PARAMETERS, returns)
    np.testing.assert_allclose(value, total, rtol=1e-13)
    np.testing.assert_allclose(found, slopes, rtol=1e-12)


def untouched() -> dict[str, tuple[Callable[..., Any], Sequence[Any]]]:
    def nothing_but_the_recurrence(p: Any, rows: Any) -> Any:
        return gradc.scan(lambda c, x: (np.sin(c * p[0]) + x, None), 0.0, rows)[0]

    def long_rows(p: Any, rows: Any) -> Any:
        return np.sum(gradc.scan(lambda c, x: (c + np.exp(p[0] * x), None), np.zeros(900), rows)[0])

    def told_what_to_keep(p: Any, rows: Any) -> Any:
        def step(c: Any, x: Any) -> Any:
            return c * np.exp(p[0] * x), None

        return gradc.scan(step, 1.0, rows, checkpoint=4)[0]

    def few_steps(p: Any, rows: Any) -> Any:
        return gradc.scan(lambda c, x: (c * p[1] + np.exp(p[0] * x), None), 1.0, rows[:3])[0]

    def matrices_of_the_steps(p: Any, rows: Any) -> Any:
        def step(c: Any, x: Any) -> Any:
            return (c[0] + x.T @ x, np.tanh(c[1] @ x)), None

        return np.sum(gradc.scan(step, (np.zeros((40, 40)), np.eye(40)), rows)[0][0])

    return {
        "nothing but the recurrence": (nothing_but_the_recurrence, (PARAMETERS, NUMBERS)),
        "long rows": (long_rows, (PARAMETERS, RANDOM.normal(size=(ROWS, 900)))),
        "told what to keep": (told_what_to_keep, (PARAMETERS, NUMBERS)),
        "few steps": (few_steps, (PARAMETERS, NUMBERS)),
        "matrices of the steps": (
            matrices_of_the_steps,
            (PARAMETERS, RANDOM.normal(size=(9, 40, 40))),
        ),
    }


@pytest.mark.parametrize(("function", "arguments"), untouched().values(), ids=untouched().keys())
def test_what_gains_nothing_stays_as_it_is(function: Any, arguments: Any) -> None:
    whole = made(function, arguments)
    assert DistributeLoops()(whole) is whole
