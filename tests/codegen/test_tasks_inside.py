"""Tasks inside of loops and branches, and of what ops on whole arrays do many of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc
from gradc_codegen.compile_function import Compilation
from gradc_codegen.nest.loop_nest import Items, LoopNest, tasks_of
from gradc_codegen.nest.strips import STRIPS
from gradc_ir.text.parser import parse_function
from tests.codegen.test_tasks import check, eager, graphs, why_not

pytestmark = pytest.mark.usefixtures(eager.__name__)

ROWS = 20001

random = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return random.normal(size=shape)


def definite(count: int, n: int) -> np.ndarray:
    a = normal(count, n, n)
    return a @ a.transpose(0, 2, 1) + np.eye(n)


def sorted_rows(x):
    return np.sort(x, axis=1), np.argsort(x, axis=0)


def running_sums(x):
    return np.cumsum(x, axis=1), np.cumsum(x[:, ::-1], axis=0)


def planes(x):
    return np.cumsum(x, axis=1)


def solved(a, b):
    return np.sum(np.linalg.solve(a, b) ** 2)


def factored(a):
    w, v = np.linalg.eigh(a)
    q, r = np.linalg.qr(a)
    return np.linalg.cholesky(a), w, v, q, r, np.linalg.svd(a)[1], np.linalg.slogdet(a)[1]


def relaxed(x):
    return gradc.fori_loop(0, 5, lambda i, c: c + 0.01 * np.sin(c * i), x)


def summed_relaxed(x):
    return np.sum(relaxed(x) ** 2)


def pairs(x):
    def step(i, c):
        position, speed = c
        return position + 0.01 * speed, speed - 0.01 * np.sin(position)

    return gradc.fori_loop(0, 5, step, (x, x * 2))


def until(x):
    return np.sum(gradc.while_loop(lambda c: np.max(c) > 0.5, lambda c: np.sin(c * 0.9), x))


def either(x):
    return gradc.cond(
        np.sum(x) > 0, lambda x: np.sum(np.exp(x)), lambda x: np.sum(np.sin(x)) * 3, x
    )


def neighbours(x):
    def step(c, t):
        y = c.copy()
        y[1:-1] = 0.5 * (c[2:] + c[:-2]) + np.exp(-(c[1:-1] ** 2) - t)
        return y, np.sum(y)

    return gradc.scan(step, x, np.arange(4.0))


def summed_neighbours(x):
    last, sums = neighbours(x)
    return np.sum(last**2) + np.sum(sums)


def alternating(x):
    def step(c, t):
        c[::2] = np.exp(-(c[::2] ** 2))
        c[1::2] = np.tanh(c[1::2] + t)
        return c, np.sum(c)

    return gradc.scan(step, x, np.arange(4.0))


def rows_set(x):
    def step(i, y):
        y[i] = np.exp(x * i)
        return y

    return np.sum(gradc.fori_loop(0, 4, step, np.zeros((4, len(x)))) ** 2)


def mapped(x, w):
    def one(row):
        return np.sum(gradc.fori_loop(0, 5, lambda i, v: np.tanh(v @ w), row))

    return np.sum(gradc.map(one, x))


def long_rows(x):
    return gradc.map(lambda row: np.sum(np.exp(np.sin(row))) + np.sort(row), x)


def picked(x, labels):
    z = x - np.max(x, axis=1, keepdims=True)
    return np.mean(np.log(np.sum(np.exp(z), axis=1)) - z[np.arange(len(labels)), labels])


Case = tuple[Callable[..., Any], str, tuple[np.ndarray, ...]]

FEW: list[Case] = [
    (sorted_rows, "value", (normal(200, 150),)),
    (solved, "value_and_grad", (definite(500, 6), normal(500, 6, 2))),
    (summed_relaxed, "value_and_grad", (normal(ROWS),)),
    (mapped, "value_and_grad", (normal(1000, 8), normal(8, 8))),
    (long_rows, "value", (normal(6, ROWS),)),
    (alternating, "value", (normal(ROWS),)),
]
MANY: list[Case] = [
    (running_sums, "value", (normal(150, 9000),)),
    (planes, "value", (normal(60, 100, 50),)),
    (factored, "value", (definite(300, 9),)),
    (factored, "value", (definite(8, 40),)),
    (relaxed, "value", (normal(ROWS),)),
    (pairs, "value", (normal(ROWS),)),
    (until, "value_and_grad", (normal(ROWS),)),
    (either, "value_and_grad", (normal(ROWS),)),
    (neighbours, "value", (normal(ROWS),)),
    (summed_neighbours, "value_and_grad", (normal(ROWS),)),
    (rows_set, "value_and_grad", (normal(ROWS),)),
    (picked, "value_and_grad", (normal(ROWS, 7), random.integers(0, 7, ROWS))),
]


def cases(programs: list[Case]) -> list[Any]:
    return [pytest.param(*each, id=f"{each[0].__name__}-{len(each[2][0])}") for each in programs]


@pytest.mark.parametrize(("f", "of", "given"), cases(FEW))
def test_bits_are_those_of_one_thread(f, of, given) -> None:
    check(graphs(f, of, given, symbolic=False), given)


@pytest.mark.slow
@pytest.mark.parametrize("symbolic", [False, True], ids=["static", "symbolic"])
@pytest.mark.parametrize(("f", "of", "given"), [*cases(FEW), *cases(MANY)])
def test_bits_of_many_programs(f, of, given, symbolic) -> None:
    check(graphs(f, of, given, symbolic=symbolic), given)


def divided(nest: LoopNest) -> list[str]:
    """Return what is divided in a nest, and in the bodies in it."""
    found = [
        tasks.loop.statement.node.op.name if isinstance(tasks.loop, Items) else "loop"
        for tasks in tasks_of(nest.body)
    ]
    for bodies in nest.bodies.values():
        for body in bodies:
            found += divided(body)
    return found


@pytest.mark.parametrize(
    ("f", "given", "want"),
    [
        (sorted_rows, (normal(200, 150),), ["argsort", "argsort", "loop"]),
        (relaxed, (normal(ROWS),), ["loop"]),
        (pairs, (normal(ROWS),), ["loop", "loop"]),
        (long_rows, (normal(6, ROWS),), ["scan", "loop", "loop"]),
        (picked, (normal(ROWS, 7), random.integers(0, 7, ROWS)), ["loop"]),
    ],
)
def test_what_is_divided(f, given, want) -> None:
    function = graphs(f, "value", given, symbolic=False)
    found = divided(Compilation(function, threads=2).nest)
    assert sorted(found) == sorted(want)


@pytest.mark.parametrize("reverse", ["false", "true"])
def test_steps_that_hand_nothing_on_and_are_counted(reverse: str) -> None:
    function = parse_function(f"""
        func @f(%count: i64, %rows: f64[50,300]) -> (f64[50,300], f64[50]) {{
          %0, %1: f64[50,300], f64[50] = scan %count, %rows {{body = @body, consts = 0, carries = 0,
            length = 50, reverse = {reverse}, counted = true, checkpoint = none}}
          return %0, %1
        }}
        func @body(%row: f64[300]) -> (f64[300], f64) {{
          %0: f64[300] = exp %row
          %1: f64 = reduce_sum %0 {{axes = [0]}}
          return %0, %1
        }}
        """)
    assert "scan" in divided(Compilation(function, threads=2).nest)
    for count in (-1, 0, 1, 17, 49, 50):
        check(function, (np.asarray(count), normal(50, 300)))


def test_steps_over_rows_of_an_unknown_number_go_in_strips_that_are_tasks() -> None:
    def cooled(x, steps):
        return gradc.fori_loop(0, steps, lambda i, y: y + 0.01 * np.sin(y), x)

    function = gradc.compile(cooled, spec="x: f64[n], steps: i64").ir()
    divisions = Compilation(function, threads=2).divisions
    assert [tasks.unit for _, tasks, _ in divisions if tasks] == [160]
    # one thread is no faster by it
    assert not any(node.op is STRIPS for node in Compilation(function).nest.function.nodes)
    plain, kernel = (Compilation(function, threads=threads).kernel() for threads in (1, 2))
    for rows in (0, 1, 159, 160, 161, ROWS):
        given = (np.linspace(-3, 3, rows), np.asarray(3))
        for threads in (1, 2, 16):
            kernel.run_on(threads)
            assert kernel(given)[0].tobytes() == plain(given)[0].tobytes()


def test_of_sizes_that_only_the_program_knows() -> None:
    given = (normal(1000, 8), normal(8, 8))
    spec = "x: f64[n,8], w: f64[8,8]"
    function = gradc.compile(mapped, blas=False, spec=spec).ir(of="value_and_grad")
    check(function, given)
    plain, kernel = (Compilation(function, threads=threads).kernel() for threads in (1, 4))
    for rows in (0, 1, 2, 33):
        few = (given[0][:rows], given[1])
        for found, expected in zip(kernel(few), plain(few), strict=True):
            assert found.tobytes() == expected.tobytes()


@pytest.mark.slow
def test_loops_of_code_that_is_cut_into_parts() -> None:
    steps = "".join(
        f"    x = np.exp(x - np.max(x)) * {i + 1.5}; s = np.sum(x); total = total + s; x = x / s\n"
        for i in range(40)
    )
    names: dict[str, Any] = {"np": np}
    exec(f"def long(x):\n    total = 0.0\n{steps}    return x, total\n", names)
    given = (normal(ROWS),)
    function = gradc.compile(names["long"]).ir(*given)
    found = divided(Compilation(function, threads=2).nest)
    assert found == ["loop"] * len(found)
    assert len(found) >= 40
    check(function, given)


def test_why_steps_are_not_divided() -> None:
    assert why_not(relaxed, normal(2**15)) == [
        "5 iterations are fewer than two tasks of 8",  # the numbers of the steps
        "a step begins where the one before it ends",
        "",
    ]
    assert why_not(lambda x: np.cumsum(x), normal(2**18))[0] == "an op on whole arrays"

    def shifted(x):
        def step(i, y):
            y[1:] = np.exp(-y[:-1])
            return y

        return gradc.fori_loop(0, 3, step, x)

    given = (normal(ROWS),)
    check(gradc.compile(shifted).ir(*given), given)


def test_the_first_failing_item_says_how_a_call_ends() -> None:
    @gradc.compile(threads=4)
    def looked_up(x, at):
        return gradc.map(lambda i: np.sum(np.exp(x[i] * np.ones(100))), at)

    x, at = normal(50), random.integers(0, 50, 5000)
    assert np.array_equal(looked_up(x, at), gradc.compile(looked_up.__wrapped__)(x, at))
    at[[2000, 4000]] = 57, 59
    with pytest.raises(gradc.IndexError, match="57"):
        looked_up(x, at)
