"""Zeros that stay zero on their way back through loops, where slopes are infinite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.pipeline import derive
from gradc.requests.request import Request
from gradc.runtime.executable import Executable
from gradc.tracing import trace
from gradc_ir.core.graph import Function, Node
from gradc_ir.core.sizes import symbol
from gradc_ir.core.types import DType, Type
from gradc_ir.interpreter.interpret import interpret

X = np.array([0.0, 4.0])
HALVES = [0, 0.25]  # the slope of the square root, where it is taken


def growing(root: Any, x: Any) -> Any:
    """x where it is negative, else grown by a root."""
    return np.where(x > 0, root * x, x)


def state() -> Any:
    return np.array([-1.0, 2.0])


def const(a):
    root = np.sqrt(a)
    return gradc.scan(lambda x, _: (growing(root, x), None), state(), None, length=3)[0].sum()


def const_of_a_while(a):
    root = np.sqrt(a)

    def step(found):
        return found[0] + 1, growing(root, found[1])

    return gradc.while_loop(lambda found: found[0] < 3, step, (0, state()))[1].sum()


def const_of_two_loops(a):
    root = np.sqrt(a)

    def inner(x, _):
        return growing(root, x), None

    def outer(x, _):
        return gradc.scan(inner, x, None, length=2)[0], None

    return gradc.scan(outer, state(), None, length=2)[0].sum()


def const_of_stored_states(a):
    root = np.sqrt(a)

    def step(x, _):
        return growing(root, x), None

    return gradc.scan(step, state(), None, length=5, checkpoint=2)[0].sum()


def const_of_a_checkpoint(a):
    return gradc.checkpoint(growing)(np.sqrt(a), state()).sum()


def const_of_a_branch(a):
    root = np.sqrt(a)
    return gradc.cond(a[0] < 1, growing, lambda root, x: root * x, root, state()).sum()


def const_in_the_body(a):
    return gradc.scan(lambda x, _: (growing(np.sqrt(a), x), None), state(), None, length=3)[0].sum()


def const_of_rows_not_taken(a):
    rows = gradc.map(lambda x: np.sqrt(a) * x, np.array([1.0, 2.0]))
    return np.where(np.array([[False, True], [False, True]]), rows, 1.0).sum()


def rows_not_taken(a):
    return gradc.scan(lambda s, x: (s + np.where(x > 0, x * x, 1.0), None), 0.0, np.sqrt(a))[0]


def rows_beside_a_carry(a):
    """Nothing reads the last carry."""
    root = np.sqrt(a)

    def step(x, _):
        return growing(root, x), x

    rows = gradc.scan(step, root, None, length=2)[1]
    return np.where(rows > 0, rows * rows, 0.0).sum()


def rows_of_stored_states(a):
    def step(s, x):
        return s + np.where(x > 0, x * x, 1.0), None

    return gradc.scan(step, 0.0, np.sqrt(a), checkpoint=2)[0]


def result_rows_not_taken(a):
    return np.where(a > 0, gradc.map(np.sqrt, a), 0.0).sum()


def overwritten(a):
    """The first element is written before it is read."""

    def step(i, out):
        out = out.copy()
        out[i // 3] = 3.0 * i + 1.0
        return out

    return (gradc.fori_loop(0, 3, step, np.sqrt(a)) ** 2).sum()


def overwritten_by_a_while(a):
    def step(state):
        i, out = state
        out = out.copy()
        out[i // 3] = 3.0 * i
        return i + 1, out

    return gradc.while_loop(lambda state: state[0] < 3, step, (0, np.sqrt(a)))[1].sum()


PROGRAMS: dict[Callable[..., Any], Any] = {
    const: [0, 6],
    const_of_a_while: [0, 6],
    const_of_two_loops: [0, 16],
    const_of_stored_states: [0, 40],
    const_of_a_checkpoint: [0, 0.5],
    const_of_a_branch: [0, 0.5],
    const_in_the_body: [0, 6],
    const_of_rows_not_taken: [0, 0.75],
    rows_not_taken: [0, 1],
    rows_beside_a_carry: [0, 9],
    rows_of_stored_states: [0, 1],
    result_rows_not_taken: HALVES,
    overwritten: [0, 1],
    overwritten_by_a_while: HALVES,
}
each_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)


def ways(program: Callable[..., Any], of: str, mode: str = "auto") -> list[Any]:
    """Return what a derivative is at X, interpreted and compiled."""
    made = derive(trace(program, (X,)).function, Request(of, (0,), mode))
    compiled = Executable(made)
    assert not compiled.reason
    return [interpret(made, [X])[0], compiled([X])[0]]


@each_program
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_gradients_are_finite(program: Callable[..., Any], mode: str) -> None:
    for found in ways(program, "jacobian", mode):
        np.testing.assert_allclose(found, PROGRAMS[program], rtol=1e-14)


@each_program
def test_second_derivatives_are_finite(program: Callable[..., Any]) -> None:
    want = np.zeros((2, 2))
    step = 1e-4
    slopes = [gradc.grad(program)(np.array([X[0], X[1] + h])) for h in (-step, step)]
    want[1] = (slopes[1] - slopes[0]) / (2 * step)
    for found in ways(program, "hessian"):
        np.testing.assert_allclose(found, want, rtol=1e-6, atol=1e-9)
    again = gradc.jacobian(gradc.grad(program), mode="reverse")(X)
    np.testing.assert_allclose(again, want, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("checkpoint", [None, 2])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_loop_of_no_rows_reads_nothing(checkpoint: int | None, reverse: bool) -> None:
    """How many rows there are is known when it runs only."""

    def f(a, xs):
        root = np.sqrt(a)

        def step(s, x):
            return s + root * x, None

        return gradc.scan(step, 0.0, xs, reverse=reverse, checkpoint=checkpoint)[0]

    made = derive(
        trace(f, (Type(DType.F64, ()), Type(DType.F64, (symbol("n"),)))).function,
        Request("grad", (0,)),
    )
    compiled = Executable(made)
    for rows, want in ((0, 0.0), (3, np.inf)):
        given = [np.array(0.0), np.ones(rows)]
        assert interpret(made, given)[0] == want
        assert compiled(given)[0] == want


def loops_of(function: Function) -> list[Node]:
    return [node for node in function.nodes if node.op.name == "scan"]


def test_masks_that_nobody_needs_cost_nothing() -> None:
    """A cotangent that ends where it was summed is zero there anyway."""

    def f(root, x):
        return gradc.scan(lambda x, _: (growing(root, x), None), x, None, length=9)[0].sum()

    def of_a_root(a, x):
        return f(np.sqrt(a), x)

    for program, count in ((f, 2), (of_a_root, 3)):
        made = derive(trace(program, (X, X)).function, Request("grad", (0,)))
        assert len(loops_of(made)) == count


def test_numbers_stay_numbers_among_zeros() -> None:
    """What a window's cotangent is multiplied by is no array of numbers and zeros."""

    def heat(u):
        def step(u, _):
            u[1:-1] += 0.2 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
            return u, None

        u, _ = gradc.scan(step, u, None, length=9)
        return np.sum(u * u)

    made = derive(trace(heat, (Type(DType.F64, (70,)),)).function, Request("grad", (0,)))
    for loop in loops_of(made):
        body = loop.attributes["body"]
        assert all(not node.results[0].type.shape for node in body.nodes if is_constant(node))
    u = np.random.default_rng(0).normal(size=70)
    step = np.random.default_rng(1).normal(size=70)
    slope = (heat(u + 1e-6 * step) - heat(u - 1e-6 * step)) / 2e-6
    assert interpret(made, [u])[0] @ step == pytest.approx(slope, rel=1e-6)


def is_constant(node: Node) -> bool:
    return node.op.name == "constant"


def columns(x: Any) -> Any:
    z = x.reshape(-1, 3)
    out = np.zeros((len(z) - 1, 2))
    for k in range(len(z) - 1):
        out[k, 0] = z[k + 1, 0] * z[k, 1]
        out[k, -1] += np.sin(z[k, 2]) - z[k + 1, 1]
    return np.sum(out**2)


def in_turn(x: Any) -> Any:
    out = np.zeros(2 * len(x))
    for k in range(len(x) - 1):
        out[2 * k] = x[k] * x[k + 1]
        out[2 * k + 1] = x[k + 1] - x[k] ** 2
    return np.sum(out**2)


def over_what_was_there(x: Any) -> Any:
    out = x**2
    for k in range(len(x) - 1):
        out[k] = x[k] * x[k + 1]
        out[k - 2] = x[k] ** 3  # what was written two steps before
        out[k] = np.sin(x[k])
    return np.sum(out * x)


@pytest.mark.parametrize("program", [columns, in_turn, over_what_was_there])
def test_steps_that_write_elements_touch_no_others(program: Callable[..., Any]) -> None:
    x = np.random.default_rng(0).uniform(0.5, 1.5, 60)
    step = np.random.default_rng(1).normal(size=60)
    compiled = gradc.compile(program)
    assert compiled(x) == pytest.approx(program(x), rel=1e-13)
    slope = (program(x + 1e-6 * step) - program(x - 1e-6 * step)) / 2e-6
    assert compiled.grad(x) @ step == pytest.approx(slope, rel=1e-6)
    assert compiled.grad(x) @ step == pytest.approx(compiled.jvp((x,), (step,))[1], rel=1e-12)
    made = derive(trace(program, (Type(DType.F64, (60,)),)).function, Request("grad", (0,)))
    arrays = {
        node.op.name
        for loop in loops_of(made)
        for node in loop.attributes["body"].nodes
        if node.results[0].type.shape
    }
    assert arrays <= {"param", "scatter_set", "scatter_add"}
