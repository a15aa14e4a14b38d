"""Loops and branches: compiled, run by Python, and written by hand in NumPy give the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import gradc
from tests.gradc.plain_and_compiled import assert_same, check, ops_of

Array = np.ndarray[Any, Any]
X = np.array([0.5, -1.0, 2.0])
A = np.array([[2.0, 1.0, 0.0], [0.5, 3.0, 1.0], [0.0, 1.0, 1.5]])
TABLE = np.array([1.0, 2.0, 4.0, 8.0])
RATE = 0.25


# -- scan ------------------------------------------------------------------------------------------


def test_scan_is_one_operation() -> None:
    def running(xs):
        return gradc.scan(lambda total, x: (total + x, total * x), 0.0, xs)

    check(running, X, by_hand=(np.float64(1.5), np.array([0.0, -0.5, -1.0])))
    assert ops_of(running, X) == ["scan"]
    assert ops_of(running, np.ones(10_000)) == ["scan"]


class Point(NamedTuple):
    position: Any
    speed: Any


@dataclass
class Particle:
    position: Any
    speed: Any
    age: Any


def oscillate(point: Any, dt: Any) -> Any:
    speed = point.speed - dt * point.position
    moved = Point(point.position + dt * speed, speed)
    return moved, {"energy": moved.position**2 + speed**2, "none": None, "both": [dt, speed]}


def test_scan_of_named_tuples_and_dicts() -> None:
    def path(x, v, steps):
        return gradc.scan(oscillate, Point(x, v), steps)

    found, rows = check(path, 1.0, 0.5, np.full(5, 0.1))
    assert type(found) is Point
    assert rows["energy"].shape == (5,)
    assert rows["none"] is None


def test_scan_of_dataclasses() -> None:
    def age(particle, dt):
        particle.age += 1
        particle.position = particle.position + dt * particle.speed
        return particle, particle.position

    def path(x, v, steps):
        last, rows = gradc.scan(age, Particle(x, v, 0), steps)
        return last.position, last.age, rows

    check(path, X, X[::-1].copy(), np.full(4, 0.5))


def test_rows_of_nests() -> None:
    def body(carry, row):
        first, (second, third) = row["a"], row["b"]
        return carry + first * second, third.sum() + carry

    def function(a, b, c):
        return gradc.scan(body, np.zeros(2), {"a": a, "b": (b, c)})

    check(function, np.arange(3.0), np.arange(6.0).reshape(3, 2), np.ones((3, 2, 2)))


def test_reverse_keeps_rows_together() -> None:
    def function(xs):
        return gradc.scan(lambda c, x: (c * 0.5 + x, (c, x)), 0.0, xs, reverse=True)

    last, (carries, rows) = check(function, X)
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(carries, [0.0, 2.0, 0.0])
    assert last == 0.5


def test_scan_without_rows() -> None:
    check(lambda x: gradc.scan(lambda c, none: (c * x, (c, none)), 1.0, length=4), 1.5)

    def counted(x, n):
        return gradc.scan(lambda c, _: (c * x, None), 1.0, length=n)

    assert_same(gradc.compile(counted)(1.5, 3), (np.float64(1.5**3), None))


def test_range_as_rows() -> None:
    check(lambda x: gradc.scan(lambda c, i: (c + i * x, i), 0.0, range(4)), 2.0)


def test_map() -> None:
    def function(xs, ys):
        return gradc.map(lambda row: (row[0] @ row[1], row[0].sum()), (xs, ys))

    xs = np.arange(12.0).reshape(4, 3)
    check(function, xs, xs + 1, by_hand=(np.sum(xs * (xs + 1), axis=1), xs.sum(axis=1)))
    check(lambda x: gradc.map(np.sin, x), X, by_hand=np.sin(X))


# -- loops -----------------------------------------------------------------------------------------


def test_fori_loop() -> None:
    def function(x):
        return gradc.fori_loop(2, 6, lambda i, c: c + x / i, 0.0)

    check(function, 3.0, by_hand=np.float64(((0.0 + 3 / 2) + 3 / 3) + 3 / 4 + 3 / 5))
    assert ops_of(function, 3.0) == ["scan"]


@pytest.mark.parametrize("bounds", [(0, 3), (1, 3), (3, 3), (5, 3), (-2, 1)])
def test_traced_bounds(bounds: tuple[int, int]) -> None:
    def function(x, first, last):
        return gradc.fori_loop(first, last, lambda i, c: c * x + i, 1.0)

    expected = 1.0
    for i in range(*bounds):
        expected = expected * 1.5 + i
    check(function, 1.5, *bounds)
    assert gradc.compile(function)(1.5, *bounds) == expected
    assert gradc.compile(lambda x: function(x, *bounds))(1.5) == expected


def test_the_index_yields_like_a_number_of_python() -> None:
    x = X.astype(np.float32)
    found = check(lambda x: gradc.fori_loop(0, 3, lambda i, c: c + x * i + x[i], x), x)
    assert found.dtype == np.float32


def test_while_loop() -> None:
    def root(a):
        def better(state):
            x, _ = state
            new = 0.5 * (x + a / x)
            return new, np.abs(new - x)

        return gradc.while_loop(lambda state: state[1] > 1e-12, better, (a, 1.0))[0]

    assert abs(check(root, 2.0) - 2**0.5) < 1e-15
    assert ops_of(root, 2.0) == ["while"]


def test_a_number_as_condition() -> None:
    check(lambda n: gradc.while_loop(lambda c: c[0], lambda c: (c[0] - 1, c[1] * 2), (n, 1)), 5)


def test_most_steps() -> None:
    def halve(x, most):
        return gradc.while_loop(lambda c: c > 1, lambda c: c / 2, x, max_iter=most)

    for function in (halve, gradc.compile(halve, static="most")):
        assert function(8.0, 3) == 1.0
        with pytest.raises(gradc.LoopError, match="takes more than 2 steps, its limit"):
            function(8.0, 2)


# -- branches --------------------------------------------------------------------------------------


@pytest.mark.parametrize("x", [-2.0, 3.0])
def test_cond(x: float) -> None:
    def function(x):
        return gradc.cond(
            x > 0, lambda y: {"a": y * x, "b": 0.0}, lambda y: {"a": 0.0, "b": y}, x + 1
        )

    check(function, x)
    assert ops_of(function, x) == ["cond"]


def test_only_the_branch_that_is_taken_runs() -> None:
    def endless(x):
        return gradc.while_loop(lambda c: c > 0, lambda c: c + 1, x)

    assert gradc.compile(lambda x: gradc.cond(x > 5, endless, lambda x: -x, x))(1.0) == -1.0


def test_a_known_condition_chooses_while_tracing() -> None:
    def function(x, flag):
        return gradc.cond(flag, lambda: x, lambda: (x, "another nest"))

    assert gradc.compile(function, static="flag")(1.0, True) == 1.0
    assert ops_of(lambda x: gradc.cond(RATE > 0, lambda: x, lambda: 2 * x), 1.0) == []


def test_a_number_as_predicate() -> None:
    function = gradc.compile(lambda n: gradc.cond(n, lambda: 1.0, lambda: 2.0))
    assert [function(n) for n in (0, 2, -1)] == [2.0, 1.0, 1.0]
    assert [function(x) for x in (0.0, -0.0, 0.5, np.nan)] == [2.0, 2.0, 1.0, 1.0]


@pytest.mark.parametrize("i", [-7, -1, 0, 1, 2, 3, 4, 99])
def test_switch(i: int) -> None:
    def function(i, x):
        branches = [lambda y: y, lambda y: y * x, lambda y: 0 * y, lambda y: -y, lambda y: y + 1]
        return gradc.switch(i, branches, x)

    expected = [3.0, 9.0, 0.0, -3.0, 4.0][min(max(i, 0), 4)]
    assert check(function, np.int64(i), 3.0) == expected
    assert gradc.compile(lambda x: function(i, x))(3.0) == expected


def test_switch_of_one() -> None:
    assert check(lambda i, x: gradc.switch(i, [lambda: x]), 3, 2.0) == 2.0


# -- kinds -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int32])
@pytest.mark.parametrize("init", [0, 0.0, False])
def test_a_python_number_takes_the_dtype_of_the_body(dtype: Any, init: Any) -> None:
    x = np.array([1, 2, 3], dtype)
    check(lambda x: gradc.scan(lambda c, v: (c + v, c), init, x), x)
    check(lambda x: gradc.fori_loop(0, 3, lambda i, c: c + x[i], init), x)
    check(lambda x: gradc.while_loop(lambda c: c < 3, lambda c: c + x[0], init), x)


@pytest.mark.parametrize("x", [np.float32(2), np.float64(-2), np.int32(3)])
def test_a_python_number_takes_the_dtype_of_the_other_branch(x: Any) -> None:
    functions = (
        lambda x: gradc.cond(x > 0, lambda: x, lambda: 0),
        lambda x: gradc.cond(x > 0, lambda: 0, lambda: x),
        lambda x: gradc.switch(x.astype(np.int64), [lambda: 0, lambda: x, lambda: True]),
    )
    for fn in functions:
        assert gradc.compile(fn)(x).dtype == x.dtype
    assert gradc.compile(lambda x: gradc.cond(x > 0, lambda: 1, lambda: 0.5))(x).dtype == float


def test_python_numbers_stay_numbers_of_python() -> None:
    def function(x):
        n = gradc.while_loop(lambda n: n < 5, lambda n: n + 2, 0)
        return x * n

    assert check(function, X.astype(np.float32)).dtype == np.float32


def test_promotion_through_several_leaves() -> None:
    """The second leaf is a float only after the first has become one."""

    def function(x):
        return gradc.fori_loop(0, 4, lambda i, c: (c[0] + x, c[1] + c[0], c[2] + c[1]), (0, 0, 0))

    check(function, 0.5)


def test_booleans_and_integers() -> None:
    def function(xs):
        def body(carry, x):
            found, count = carry
            return (found | (x > 1), count + (x > 0)), found

        return gradc.scan(body, (np.bool_(False), np.int64(0)), xs)

    check(function, X)


def test_numbers_and_arrays_of_no_axis() -> None:
    check(lambda x: gradc.fori_loop(0, 3, lambda i, c: c * x, np.float64(1)), 2.0)
    check(lambda x: gradc.fori_loop(0, 3, lambda i, c: c * x, np.array(1.0)), 2.0)

    def in_place(i, c):
        c += i
        return c

    check(lambda x: gradc.fori_loop(0, 3, in_place, np.array(1.0)) * x, 2.0)
