"""Loops as tasks on several threads: the bits of one thread, whatever the loops make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import gradc
from gradc_codegen.compile_function import Compilation
from gradc_codegen.nest.loop_nest import Item, LoopNest
from gradc_codegen.storage.buffers import plan
from gradc_codegen.threads import divide
from gradc_codegen.threads.work import work_of
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import Size
from tests.comparing import assert_same_bits

THREADS = (1, 2, 3, 4, 8, 16)


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have loops divided that take too little time for it, so that tests do not take long."""

    def more(nest: LoopNest, body: Sequence[Item]) -> Size:
        return 256 * work_of(nest, body)

    monkeypatch.setattr(divide, "work_of", more)


# more than three chunks, and not a whole number of groups
ROWS = 20001

random = np.random.default_rng(0)


def softmax(x):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def logistic(w, x, y):
    return np.sum(np.log(1 + np.exp(-y * (x @ w))))


def reductions(x):
    y = np.exp(x)
    whole = (y * 100).astype(np.int64)
    return (
        np.max(y), np.min(y), np.sum(y), np.prod(1 + y * 1e-6), np.any(y > 9), np.all(y > 0),
        np.argmax(y), np.sum(whole), np.max(whole),
    )  # fmt: skip


def rows_and_columns(x):
    y = np.tanh(x)
    return np.sum(y, axis=1), np.sum(y, axis=0), np.max(y, axis=0), np.mean(y)


def elementwise(x, y):
    return np.concatenate([np.sin(x) * np.exp(-y * y), y * 2, x[::-1]]), np.log1p(x * x)


def layer_norm(x, scale):
    mean = np.mean(x, axis=1, keepdims=True)
    variance = np.mean((x - mean) ** 2, axis=1, keepdims=True)
    return np.sum(((x - mean) / np.sqrt(variance + 1e-5) * scale) ** 2)


def perceptron(first, second, x, y):
    return np.mean((np.tanh(x @ first) @ second - y) ** 2)


def differences(x):
    return np.sum(np.exp(x[1:] - x[:-1]) ** 2)


def normalised(x):
    return x / np.sqrt(np.sum(x * x))


def covariance(x):
    centred = x - np.mean(x, axis=0)
    return centred.T @ centred / len(x)


def log_sum(x):
    largest = np.max(x)
    return largest + np.log(np.sum(np.exp(x - largest)))


def moments(x):
    return np.var(x), np.std(x), np.mean(x)


def rotated(poses):
    cos, sin = np.cos(poses[:, 0]), np.sin(poses[:, 0])
    x, y = cos * poses[:, 1] - sin * poses[:, 2], sin * poses[:, 1] + cos * poses[:, 2]
    return np.sum(x**2 * y)


def kernel_sums(x, y):
    return np.sum(np.exp(-((x[:, None] - y[None, :]) ** 2)), axis=1)


def summed_kernel(x, y):
    return np.sum(np.exp(-((x[:, None] - y[None, :]) ** 2)))


def sorted_rows(x):
    return np.sort(np.exp(x), axis=1), np.cumsum(np.exp(x), axis=0)


def updated(x):
    y = np.zeros_like(x)
    y[1:] = x[1:] * 2
    y[:-1] += np.exp(x[1:])
    return np.sum(y**2)


def steps(x):
    total = 0.0
    for i in range(3):
        total = total + np.sum(np.tanh(x * i))
    return total


def single(x):
    return np.sum(np.exp(x)), np.max(x), np.exp(x)


def looked_up(x, at):
    return np.sum(np.exp(x[at]) ** 2)


def product(a, b):
    return a @ b


def normal(*shape: int) -> np.ndarray:
    return random.normal(size=shape)


# programs that differ in what tasks make; and all others
FEW: list[tuple[Callable[..., Any], str, tuple[np.ndarray, ...]]] = [
    (softmax, "value", (normal(ROWS, 3),)),
    (logistic, "value_and_grad", (normal(5), normal(ROWS, 5), normal(ROWS))),
    (reductions, "value", (normal(ROWS),)),
    (rows_and_columns, "value", (normal(ROWS, 5),)),
    (elementwise, "value", (normal(ROWS), normal(ROWS))),
    # whole groups, since there are few chunks
    (reductions, "value", (normal(1001),)),
    (layer_norm, "value_and_grad", (normal(5000, 12), normal(12))),
]
MANY: list[tuple[Callable[..., Any], str, tuple[np.ndarray, ...]]] = [
    (layer_norm, "value_and_grad", (normal(ROWS, 12), normal(12))),
    (logistic, "value_and_grad", (normal(5), normal(1001, 5), normal(1001))),
    (summed_kernel, "value_and_grad", (normal(300), normal(33))),
    (perceptron, "value_and_grad", (normal(6, 9), normal(9), normal(64, 6), normal(64))),
    (rows_and_columns, "value", (normal(77, 40),)),
    (rows_and_columns, "value", (normal(77, 40).astype(np.float32),)),
    (covariance, "value", (normal(16384, 5),)),
    (single, "value", (normal(9001).astype(np.float32),)),
    (perceptron, "value_and_grad", (normal(6, 9), normal(9), normal(ROWS, 6), normal(ROWS))),
    (differences, "value_and_grad", (normal(ROWS),)),
    (normalised, "value", (normal(4 * ROWS),)),
    (covariance, "value", (normal(ROWS, 5),)),
    (log_sum, "value_and_grad", (normal(ROWS),)),
    (moments, "value", (normal(4 * ROWS),)),
    (rotated, "value_and_grad", (normal(ROWS, 3),)),
    (kernel_sums, "value", (normal(ROWS), normal(33))),
    (summed_kernel, "value_and_grad", (normal(ROWS), normal(33))),
    (sorted_rows, "value", (normal(ROWS, 5),)),
    (updated, "value_and_grad", (normal(ROWS),)),
    (steps, "value_and_grad", (normal(ROWS),)),
    (single, "value", (normal(ROWS).astype(np.float32),)),
    (looked_up, "value", (normal(ROWS), random.integers(0, ROWS, ROWS))),
    (product, "value", (normal(3000, 20), normal(20, 30))),
    (product, "value", (normal(300, 200), normal(200, 250))),
    *((f, of, tuple(x[:8192] if len(x) == ROWS else x for x in given)) for f, of, given in FEW),
]


def graphs(
    f: Callable[..., Any], of: str, given: tuple[np.ndarray, ...], *, symbolic: bool
) -> Function:
    if not symbolic:
        return gradc.compile(f, blas=False).ir(*given, of=of)
    kinds = {"float64": "f64", "float32": "f32", "int64": "i64"}
    longest = max(map(len, given))
    names = {longest: "n"}
    spec = ", ".join(
        f"{name}: {kinds[str(x.dtype)]}[{','.join(str(names.get(size, size)) for size in x.shape)}]"
        for name, x in zip(f.__code__.co_varnames, given)
    )
    return gradc.compile(f, blas=False, spec=spec).ir(of=of)


def check(function: Function, given: tuple[np.ndarray, ...]) -> None:
    want = Compilation(function).kernel()(given)
    made = Compilation(function, threads=2)
    assert any(tasks for _, tasks, _ in made.divisions)
    kernel = made.kernel()
    for threads in THREADS:
        kernel.run_on(threads)
        for found, expected in zip(kernel(given), want, strict=True):
            assert_same_bits(found, expected)


def cases(programs: list[Any]) -> list[Any]:
    return [
        pytest.param(f, of, given, id=f"{f.__name__}-{max(map(len, given))}")
        for f, of, given in programs
    ]


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize(("f", "of", "given"), cases(FEW))
def test_bits_are_those_of_one_thread(f, of, given) -> None:
    check(graphs(f, of, given, symbolic=False), given)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize(("f", "of", "given"), cases(FEW[1:2]))
def test_of_sizes_that_only_the_program_knows_too(f, of, given) -> None:
    function = graphs(f, of, given, symbolic=True)
    check(function, given)
    # what is too short for tasks takes the other way, in the same kernel
    plain, kernel = (Compilation(function, threads=threads).kernel() for threads in (1, 4))
    for rows in (1, 20, 33, 4096, 8192, 12289):
        short = tuple(x[:rows] if len(x) == ROWS else x for x in given)
        for found, expected in zip(kernel(short), plain(short), strict=True):
            assert_same_bits(found, expected)


@pytest.mark.usefixtures("eager")
def test_groups_of_zeros_that_a_mask_makes_join_what_is_begun() -> None:
    def picked(x, k):
        return np.sum(np.where(k[:, None] == np.arange(3), x[:, None], 0.0), axis=0)

    k = np.repeat([1, 0, 2, 1], 2251)[:9001]
    for x in (normal(9001), np.full(9001, -0.0)):
        check(graphs(picked, "value", (x, k), symbolic=False), (x, k))


def test_some_chunks_of_long_iterations_are_in_groups() -> None:
    for rows, unit in ((20001, 32), (300_000, 4096)):
        given = (normal(rows), normal(300))
        made = Compilation(graphs(summed_kernel, "value", given, symbolic=False), threads=2)
        assert [tasks.unit for _, tasks, _ in made.divisions if tasks] == [unit]


def test_long_iterations_of_an_unknown_number_are_in_groups() -> None:
    given = (normal(1001), normal(300))
    function = graphs(summed_kernel, "value", given, symbolic=True)
    kernel = Compilation(function, threads=2)
    assert [tasks.unit for _, tasks, _ in kernel.divisions if tasks] == [32]
    plain, made = Compilation(function).kernel(), kernel.kernel()
    for rows in (0, 1, 31, 33, 64, 1001, 20001):
        few = (normal(rows), given[1])
        for threads in THREADS:
            made.run_on(threads)
            assert made(few)[0].tobytes() == plain(few)[0].tobytes()


@pytest.mark.slow
@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("symbolic", [False, True], ids=["static", "symbolic"])
@pytest.mark.parametrize(("f", "of", "given"), [*cases(FEW), *cases(MANY)])
def test_bits_of_many_programs(f, of, given, symbolic) -> None:
    check(graphs(f, of, given, symbolic=symbolic), given)


def test_what_takes_little_time_is_as_it_was() -> None:
    function = graphs(logistic, "value", (normal(5), normal(500, 5), normal(500)), symbolic=False)
    assert Compilation(function, threads=4).llvm == Compilation(function).llvm


def why_not(f: Callable[..., Any], *given: np.ndarray) -> list[str]:
    function = gradc.compile(f, blas=False).ir(*given)
    return [why for _, _, why in Compilation(function, threads=4).divisions]


def test_why_loops_are_not_divided() -> None:
    def added(x, at):
        y = np.zeros(50)
        np.add.at(y, at, np.exp(x))
        return y

    def summed(x):
        return np.cumsum(np.sqrt(np.abs(x)))

    at = random.integers(0, 50, 2**20)
    assert why_not(added, normal(2**20), at) == [
        "it takes less time than to wake another thread",
        "scatter_add writes at indices that are read, in order",
    ]
    assert why_not(summed, normal(2**20)) == ["", "an op on whole arrays"]
    assert why_not(lambda x: np.exp(x), normal(500)) == [
        "it takes less time than to wake another thread"
    ]
    assert why_not(lambda x: np.sum(np.exp(x), axis=1), normal(20, 10**5)) == [""]
    assert why_not(lambda x: np.sum(np.exp(x), axis=0), normal(60, 10**5)) == [
        "60 iterations are fewer than two tasks of 32"
    ]


@pytest.mark.usefixtures("eager")
def test_what_an_iteration_keeps_is_a_tasks_own() -> None:
    # a block of 32 rows is as long as the second output, which is written later
    def beside(x, y):
        e = np.exp(x)
        p = e / np.sum(e, axis=1, keepdims=True)
        total = np.sum(np.sum(p * p, axis=1) / np.max(p, axis=1))
        return total, np.exp(y) * total

    function = graphs(beside, "value", (normal(ROWS, 40), normal(1280)), symbolic=False)
    kept = [
        here
        for here in plan(Compilation(function, threads=4).nest).storage.values()
        if here.buffer and any(loop.is_divided for loop in here.path)
    ]
    assert kept
    assert all(here.buffer.is_own and here.output < 0 for here in kept)
