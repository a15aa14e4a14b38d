"""What bodies of loops and branches may do: assign, reach outside, ask for sizes."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import gradc
from gradc.testing import check_grads
from gradc.tracing import trace
from tests.gradc.plain_and_compiled import assert_same, check

Array = np.ndarray[Any, Any]
X = np.array([0.5, -1.0, 2.0])
A = np.array([[2.0, 1.0, 0.0], [0.5, 3.0, 1.0], [0.0, 1.0, 1.5]])
TABLE = np.array([1.0, 2.0, 4.0, 8.0])
RATE = 0.25


# -- assignment ------------------------------------------------------------------------------------


def fibonacci(x):
    def body(i, buffer):
        buffer[i + 2] = buffer[i] + buffer[i + 1]
        return buffer

    start = np.zeros(10)
    start[1] = x
    return gradc.fori_loop(0, 8, body, start), start


def test_assignment_to_the_carry() -> None:
    expected = [0.0, 1.0]
    for _ in range(8):
        expected.append(expected[-1] + expected[-2])
    found, start = check(fibonacci, 1.0)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(start[2:], 0)


def test_added_in_place() -> None:
    def function(x, where):
        def body(histogram, i):
            histogram[i] += x
            histogram[:1] *= 2
            return histogram, histogram

        return gradc.scan(body, np.ones(4), where)

    check(function, 0.5, np.array([1, 2, 2, 3, 1, 0]))


def test_arguments_and_rows_are_not_changed() -> None:
    def body(carry, row):
        carry[0] += row[1]
        row[0] = 7.0
        return carry, row

    check(lambda x, rows: gradc.scan(body, x, rows), X, np.arange(6.0).reshape(3, 2))

    def branch(y):
        y[0] = 5.0
        return y

    check(lambda x: (gradc.cond(x[0] > 0, branch, lambda y: y, x), x), X)
    check(lambda x: (gradc.cond(True, branch, lambda y: y, x), x), X)
    check(lambda x: (gradc.switch(0, [branch], x), x), X)


def test_carries_do_not_share_memory() -> None:
    def body(i, carry):
        first, second = carry
        first[i] = 9.0
        return second, second

    check(lambda x: gradc.fori_loop(0, 3, body, (x, x)), X)


def test_a_carry_that_the_body_takes_from_outside() -> None:
    def body(i, carry):
        carry[0] += i
        return A[1]

    before = A.copy()
    check(lambda x: gradc.fori_loop(0, 3, body, x), X)
    np.testing.assert_array_equal(before, A)


# -- what a body reaches ---------------------------------------------------------------------------


def test_early_results() -> None:
    check(lambda x: gradc.fori_loop(0, 3, lambda i, c: c, x), X)
    check(lambda x: gradc.fori_loop(0, 3, lambda i, c: 2.0, x), 1.0)
    check(lambda x: gradc.scan(lambda c, _: (c, A), x, length=2), X)
    check(lambda x: gradc.scan(lambda c, _: (c, 1), x, length=2), X)
    check(lambda x: gradc.scan(lambda c, v: (None, v), None, x), X)

    def early(i, c):
        if RATE > 0:
            return c + 1
        return None

    check(lambda x: gradc.fori_loop(0, 3, early, x), X)


def test_nested_loops_reach_all_levels() -> None:
    def function(x, y):
        def outer(i, c):
            d = c * y

            def inner(total, row):
                def innermost(k, e):
                    return e + row * x[k] + d + i

                return gradc.fori_loop(0, 2, innermost, total), row + y

            last, rows = gradc.scan(inner, c, x)
            return last * 0.1 + rows.sum()

        return gradc.fori_loop(0, 3, outer, 0.0)

    c = 0.0
    for i in range(3):
        total, d = c, c * 0.5
        for row in X:
            for k in range(2):
                total = total + row * X[k] + d + i
        c = total * 0.1 + (X + 0.5).sum()
    check(function, X, 0.5, by_hand=np.float64(c))


def test_a_branch_in_a_loop_in_a_branch() -> None:
    def function(x, n):
        def collatz(state):
            value, count = state
            new = gradc.cond(value % 2 == 0, lambda: value // 2, lambda: 3 * value + 1)
            return new, count + 1

        def run():
            return gradc.while_loop(lambda s: s[0] != 1, collatz, (n, 0))[1] * x

        return gradc.cond(n > 1, run, lambda: -x)

    assert check(function, 2.0, 27) == 222.0
    assert check(function, 2.0, 0) == -2.0


def test_hidden_inputs_in_bodies(monkeypatch: pytest.MonkeyPatch) -> None:
    def function(x):
        def body(carry, x):
            return carry + TABLE * x * RATE, np.dot(TABLE, carry)

        return gradc.scan(body, np.zeros(4), x)

    compiled = gradc.compile(function)
    assert_same(compiled(X), function(X))
    monkeypatch.setitem(globals(), "TABLE", TABLE + 1)
    monkeypatch.setitem(globals(), "RATE", 3.0)
    assert_same(compiled(X), function(X))
    (name,) = {capture.name for capture in trace(function, (X,)).captures}
    assert name == "TABLE"


def test_a_known_array_outside_of_the_body() -> None:
    def function(x):
        table = np.arange(3.0)
        table[1] = 7.0
        return gradc.fori_loop(0, 3, lambda i, c: c + table[i] * x + table, np.zeros(3))

    check(function, 0.5)


class Model:
    def __init__(self) -> None:
        self.weight = np.array([1.0, -2.0, 0.5])

    def step(self, carry, x):
        return np.tanh(self.weight * carry + x), carry.sum()

    def run(self, xs):
        return gradc.scan(self.step, self.weight * 0, xs)


def scaled(factor, i, carry):
    return carry * factor + i


@gradc.compile
def compiled_step(carry, x):
    return carry * x + 1, carry


def test_methods_partials_and_compiled_functions() -> None:
    check(Model().run, X)
    check(lambda x: gradc.fori_loop(0, 3, functools.partial(scaled, x), x), X)
    check(lambda x: gradc.scan(compiled_step, 1.0, x), X)
    check(lambda x: gradc.scan(lambda c, v: (compiled_step(c, v)[0], None), 1.0, x), X)
    check(lambda x: gradc.cond(x > 0, np.sin, np.cos, x), 2.0)


class State(NamedTuple):
    position: Any
    weight: Any

    def total(self) -> Any:
        return self.position.sum() + self.weight


@dataclass
class Moving:
    position: Any
    weight: Any

    def moved(self, step: Any) -> Moving:
        return Moving(self.position + step, self.weight * 0.5)


def test_classes_with_methods() -> None:
    def advance(state, v):
        return State(state.position + v, state.total()), state.total()

    check(lambda s: gradc.scan(advance, s, X), State(X, 1.0))
    check(lambda x: gradc.scan(advance, State(x, 1.0), x)[0].total(), X)
    check(lambda s: gradc.scan(lambda c, v: (c.moved(v), c.weight), s, X)[1], Moving(X, 1.0))
    moved = gradc.compile(lambda x: gradc.scan(lambda c, v: (c.moved(v), None), Moving(x, 1), x)[0])
    assert type(moved(X)) is Moving


class Affine:
    def __init__(self) -> None:
        self.weight = X * 2

    def __call__(self, carry: Any, x: Any) -> Any:
        return carry + self.weight * x, carry[0]


affine = Affine()


@gradc.custom_gradient
def squared(x):
    return x**2, lambda upstream: upstream * 10.0


def test_objects_and_functions_with_gradients_of_their_own() -> None:
    check(lambda x: gradc.scan(affine, x, x), X)
    check(lambda x: gradc.scan(Affine(), x, x), X)
    check(lambda x: gradc.scan(lambda c, v: (squared(c) + v, squared(v)), 0.0, x), X)
    gradient = gradc.grad(lambda x: gradc.scan(lambda c, v: (c + squared(v), None), 0.0, x)[0])
    np.testing.assert_array_equal(gradient(X), np.full(3, 10.0))


def test_a_list_that_the_body_changes() -> None:
    def rotate(i, parts):
        parts.append(parts.pop(0) * 2)
        return parts

    check(lambda x: gradc.fori_loop(0, 5, rotate, [x, x + 1, 0.5]), X[0])


def test_views_as_carries() -> None:
    square = np.arange(9.0).reshape(3, 3)
    check(lambda x: gradc.fori_loop(0, 2, lambda i, c: c[::-1] * x[1:], x[1:]), X)
    check(lambda x: gradc.fori_loop(0, 3, lambda i, c: c.T + 1, x.T), square)

    def flat(i, c):
        c.reshape(-1)[i] = 9.0
        return c

    check(lambda x: gradc.fori_loop(0, 3, flat, x), square)


def test_gradients_inside_a_body() -> None:
    def descend(x):
        def body(i, w):
            return w - 0.1 * gradc.grad(lambda w: np.sum((A @ w - x) ** 2))(w)

        return gradc.fori_loop(0, 3, body, np.zeros(3))

    w = np.zeros(3)
    for _ in range(3):
        w = w - 0.1 * 2 * A.T @ (A @ w - X)
    np.testing.assert_allclose(gradc.compile(descend)(X), w, rtol=1e-13)
    np.testing.assert_allclose(descend(X), w, rtol=1e-13)


# -- sizes -----------------------------------------------------------------------------------------

SIZED = {
    "scan": lambda x: gradc.scan(lambda c, v: (c + v, c), 0.0, x),
    "len": lambda x: gradc.fori_loop(0, len(x), lambda i, c: c + x[i] * i, 0.0),
    "offset": lambda x: gradc.fori_loop(1, x.shape[0], lambda i, c: c + x[i] * x[i - 1], 0.0),
    "reverse": lambda x: gradc.scan(lambda c, v: (c + v, c), 0.0, x, reverse=True),
    "buffer": lambda x: gradc.fori_loop(
        0, len(x), lambda i, c: assigned(c, i, x[i] + c[i - 1]), np.zeros(len(x))
    ),
    "length": lambda x: gradc.scan(lambda c, v: (c + x, c.sum()), x, length=len(x)),
    "size in the body": lambda x: gradc.fori_loop(
        0, 3, lambda i, c: c + np.ones(len(x)).sum() * len(x), 0.0
    ),
    "map": lambda x: gradc.map(lambda v: np.arange(len(x)) * v, x),
    "sqrt": lambda x: gradc.scan(lambda c, v: (c + v, c), 0.0, x, checkpoint="sqrt"),
    "condition": lambda x: gradc.cond(len(x) - 7, lambda: x.sum(), lambda: -x.sum()),
    "limit": lambda x: gradc.while_loop(
        lambda c: c[1] < len(x), lambda c: (c[0] + x[c[1]], c[1] + 1), (0.0, 0), max_iter=len(x)
    )[0],
}


def assigned(array, i, value):
    array[i] = value
    return array


@pytest.mark.parametrize("name", SIZED)
def test_one_kernel_for_all_sizes(name: str) -> None:
    function = SIZED[name]
    compiled = gradc.compile(function)
    for size in (4, 7, 1, 0, 12):
        x = np.linspace(-1.0, 2.0, size)
        if (name, size) != ("buffer", 0):
            assert_same(compiled(x), function(x))
    general = [s for s in compiled.signatures if "n" in str(s)]
    assert len(compiled.signatures) <= 4, compiled.signatures  # 4, any, 1 and perhaps 0
    assert general


def test_rows_of_two_symbolic_sizes() -> None:
    def function(x, y):
        return gradc.scan(lambda c, row: (c * y + row[0] * row[1], None), x, (x, y))[0]

    compiled = gradc.compile(function)
    for size in (3, 5, 8):
        assert_same(compiled(np.ones(size), np.ones(size)), function(np.ones(size), np.ones(size)))
    assert len(compiled.signatures) == 2
    with pytest.raises(gradc.ShapeError, match="are not of one length"):
        compiled(np.ones(3), np.ones(4))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_no_steps(dtype: Any) -> None:
    x = np.zeros((0, 3), dtype)
    check(lambda x: gradc.scan(lambda c, v: (c + v.sum(), (v, c)), 0, x), x)
    check(lambda x: gradc.map(lambda v: v * 2 > 0, x), x)
    check(lambda x: gradc.fori_loop(0, 0, lambda i, c: c + 1, x), x)
    check(lambda x: gradc.while_loop(lambda c: False, lambda c: c + 1, x), x)


@pytest.mark.parametrize(
    ("length", "given", "wanted"),
    [(100, "sqrt", 15), (0, "sqrt", 1), (1, "sqrt", 2), (100, 7, 7), (100, None, None)],
)
def test_checkpoints(length: int, given: Any, wanted: Any) -> None:
    def function(x):
        return gradc.scan(lambda c, _: (c * x, None), 1.0, length=length, checkpoint=given)[0]

    (node,) = [n for n in trace(function, (1.01,)).function.nodes if n.op.name == "scan"]
    assert node.attributes["checkpoint"] == wanted
    check(function, 1.01)


# -- derivatives -----------------------------------------------------------------------------------


def relax(x):
    def body(i, buffer):
        buffer[i + 1] += np.sin(x[i]) * buffer[i]
        return buffer

    return np.sum(gradc.fori_loop(0, len(x) - 1, body, x * 1) ** 2)


DIFFERENTIATED = {
    "scan": lambda x: gradc.scan(lambda c, v: (np.tanh(c + v), c * v), 0, x)[1].sum(),
    "reverse": lambda x: gradc.scan(lambda c, v: (c * v, c), 1.0, x, reverse=True)[1] @ x,
    "nest": lambda x: gradc.scan(
        lambda c, v: ({"a": c["a"] + v * c["b"], "b": c["b"] * 0.9}, None), {"a": x, "b": x}, x
    )[0]["a"].sum(),
    "map": lambda x: gradc.map(lambda v: np.exp(v * x).sum(), x).sum(),
    "assignment": relax,
    "while": lambda x: gradc.while_loop(
        lambda c: c @ c > 0.5, lambda c: c * 0.7 + 0.01 * np.sin(x), x
    ).sum(),
    "bounded": lambda x: gradc.while_loop(
        lambda c: c @ c > 0.5, lambda c: c * 0.7 + 0.01 * np.sin(x), x, max_iter=20
    ).sum(),
    "traced number of steps": lambda x: gradc.fori_loop(
        0, np.int64(3 + 0 * x[0]), lambda i, c: c * x[0] + x[i], 1.0
    ),
    "cond": lambda x: gradc.cond(x[0] > 0, lambda y: np.sum(y**3), lambda y: 0, x),
    "switch": lambda x: gradc.switch(
        np.int64(2 * x[0] + 0.5), [lambda: x[0], lambda: x @ x, lambda: np.prod(x)]
    ),
    "nested": lambda x: gradc.fori_loop(
        0,
        3,
        lambda i, c: gradc.scan(
            lambda d, v: (d + gradc.cond(v > 0, lambda: c * v, lambda: v), None), c, x
        )[0],
        0.1,
    ),
    "slots": lambda x: gradc.scan(
        lambda c, _: (np.sin(c) * x[0], None), x, length=9, checkpoint="sqrt"
    )[0].sum(),
    "gradient inside": lambda x: gradc.fori_loop(
        0, 3, lambda i, w: w - 0.1 * gradc.grad(lambda w: np.sum((A @ w - x) ** 2))(w), x
    ).sum(),
}


@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_gradients(name: str) -> None:
    check_grads(DIFFERENTIATED[name], (X,), order=2)
