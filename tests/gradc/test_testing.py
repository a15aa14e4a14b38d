"""The checks themselves: each way of comparing, what it catches, and what it says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flint
import mpmath
import numpy as np
import pytest

import gradc
from gradc import testing
from gradc.rules.verify.arithmetic import NoMeaning
from gradc.rules.verify.balls import balls
from gradc.testing import determinism
from gradc.testing.c_kernel import NoKernel
from gradc.testing.slopes import DIGITS, complex_step, many_digit_differences
from gradc.tracing import trace
from gradc_ir.core.op import TABLE
from gradc_ir.core.types import Array
from gradc_ir.interpreter.interpret import reference
from tests.comparing import assert_close

X = np.array([0.3, 1.7, 2.9])
OF_BALLS = balls().meanings


def loop(x):
    return gradc.fori_loop(0, 4, lambda i, y: np.sin(y) + x[i % 3], 0.5)


def rows(x):
    return gradc.scan(lambda total, row: (total + row, np.exp(total) * row), 0.1, x)


def branch(x):
    return gradc.cond(np.sum(x) > 0, lambda x: np.sum(x**3), lambda x: np.sum(x), x)


ANALYTIC = {
    "functions": lambda x: np.log(x) + np.sqrt(x) * np.tanh(x) - np.arctan(x) / np.cosh(x),
    "powers": lambda x: x**2.5 + 2.0**x,
    "softplus": lambda x: np.log(1 + np.exp(x)) + 1 / (1 + np.exp(-x)),
    "products": lambda x: np.outer(x, x) @ x + np.prod(x),
    "triangles": lambda x: np.tril(np.outer(x, x)) @ x + np.triu(np.outer(x, x), 1) @ x,
    "elements": lambda x: x[np.array([2, 0, 2])] * x[::-1] + np.cumsum(x),
    "choices": lambda x: np.where(x > 1, x * x, x) + np.abs(x - 2) + np.maximum(x, 1.0),
    "loop": loop,
    "rows": rows,
    "branch": branch,
    "integers": lambda x: x * x.astype(np.int64) + np.floor(gradc.stop_gradient(x)),
}
WITH_FORMULAS = ANALYTIC | {
    "largest": lambda x: np.max(x) + np.min(x) + np.log(np.sum(np.exp(x))),
    "sorted": lambda x: np.sort(-x) * np.arange(3.0),
    "remainder": lambda x: np.hypot(x, 2.0) + np.cbrt(x) + np.arctan2(x, 1.0),
}


def slopes(way: Callable[..., Any], function: Callable[..., Any]) -> list[Array]:
    graph = trace(function, (X,)).function
    found: list[Array] = way(graph, [X], 0, np.array([1.0, -0.5, 0.25]))
    return found


@pytest.mark.parametrize("name", WITH_FORMULAS)
def test_references_agree_with_forward_mode(name: str) -> None:
    function = WITH_FORMULAS[name]
    _, tangent = gradc.jvp(function, (X,), (np.array([1.0, -0.5, 0.25]),))
    tangents = list(tangent) if isinstance(tangent, tuple) else [tangent]
    ways = [many_digit_differences, *([complex_step] if name in ANALYTIC else [])]
    for way in ways:
        for found, want in zip(slopes(way, function), tangents, strict=True):
            assert_close(found, want, scale=1 + np.abs(want), relative=4e-15)
    for order in (1, 2):
        testing.check_grads(function, (X,), order=order)


def test_many_digits_are_exact() -> None:
    (found,) = slopes(many_digit_differences, lambda x: np.log(1 + np.exp(x)))
    direction = (1.0, -0.5, 0.25)
    with mpmath.workdps(50):
        want = [float(v / (1 + mpmath.exp(-mpmath.mpf(x)))) for x, v in zip(X.tolist(), direction)]
    assert found.tolist() == want


FORMULAS = [name for name, op in TABLE.items() if op.is_elementwise and name in OF_BALLS]


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_are_what_the_ops_compute(name: str) -> None:
    op = TABLE[name]
    random = np.random.default_rng(0)
    points = []
    for domain in op.domain:
        low, high = max(domain.low, -3.0), min(domain.high, 3.0)
        margin = 1e-3 * (high - low)
        points.append(random.uniform(low + margin, high - margin, 8))
    points = [point > 0 for point in points] if name.startswith("logical_") else points
    with flint.ctx.workdps(DIGITS):
        found = OF_BALLS[name](*map(balls().wide, points))
    meaning = reference(op)
    assert meaning is not None
    want = meaning(*points)
    np.testing.assert_allclose(np.asarray(found, want.dtype), want, rtol=1e-12, atol=1e-14)


def test_where_a_reference_has_no_meaning() -> None:
    with pytest.raises(NoMeaning, match="reduce_max"):
        slopes(complex_step, lambda x: np.max(x))
    with pytest.raises(NoMeaning, match="cholesky"):
        slopes(many_digit_differences, lambda x: np.linalg.cholesky(np.diag(x)))
    graph = trace(np.sin, (np.ones(5000),)).function
    with pytest.raises(NoMeaning, match="elements"):
        many_digit_differences(graph, [np.ones(5000)], 0, np.ones(5000))
    testing.check_grads(lambda x: np.linalg.cholesky(np.diag(x)), (X,))


def test_float32_and_nests_and_what_is_read_from_outside() -> None:
    w = gradc.Variable(np.array([2.0, 0.5, 1.0]), name="w")
    captured = np.array([1.0, 2.0, 3.0])

    def f(p, steps):
        return {"a": np.sum(np.sin(p["x"]) * w.value), "b": p["y"] * captured * steps}

    args = ({"x": X, "y": 2.0}, 3)
    testing.check_grads(f, args)
    arguments = {made.argument for made in testing.compare_grads(f, args)}
    assert arguments == {"p.x", "p.y", "w"}
    testing.check_grads(lambda x: np.sum(np.exp(x) * x), (X.astype(np.float32),), order=2)


def test_what_is_checked_is_what_is_compiled() -> None:
    """The stable forms are there, which the naive spelling does without."""
    testing.check_grads(lambda x: np.log(1 + np.exp(x)), (np.array([-800.0, 0.0, 800.0]),))
    naive = gradc.compile(lambda x: np.log(1 + np.exp(x)), stable=False)
    with pytest.raises(AssertionError, match="found:    nan"):
        testing.check_grads(naive, (np.array([800.0]),))


def wrong_in_one_element(x, y):
    @gradc.custom_gradient
    def squares(x):
        return x * x, lambda upstream: upstream * 2 * x * np.array([1.0, 1.5, 1.0])

    return {"first": np.sum(x), "second": squares(x) * y}


def test_a_wrong_rule_is_named_with_its_element() -> None:
    with pytest.raises(AssertionError) as error:
        testing.check_grads(wrong_in_one_element, (X, 2.0))
    assert str(error.value) == (
        "wrong_in_one_element: forward mode disagrees with a complex step\n"
        "  argument: x[1] (f64[3]), result 1[1]\n"
        "  expected: 6.8\n"
        f"  found:    {2 * 1.7 * 1.5 * 2}"
    )


def test_modes_and_tolerances() -> None:
    @gradc.custom_gradient
    def nearly(x):
        return x * x, lambda upstream: upstream * 2 * x * (1 + 1e-7)

    testing.check_grads(nearly, (3.0,), rtol=1e-6)
    with pytest.raises(AssertionError, match="reverse mode"):
        testing.check_grads(nearly, (3.0,), modes=("rev",))
    made = list(testing.compare_grads(np.sin, (1.0,), modes="fwd"))
    assert {each.mode for each in made} == {"forward mode"}
    assert [each.against for each in made] == ["a complex step", "80 digits", "central differences"]
    with pytest.raises(ValueError, match='"fwd" and "rev", not \'backward\''):
        testing.check_grads(np.sin, (1.0,), modes=("backward",))


def test_second_order_of_a_rule() -> None:
    @gradc.custom_gradient
    def cube(x):
        @gradc.custom_gradient
        def slope(x):
            return 3 * x * x, lambda upstream: 7.0 * upstream

        return x**3, lambda upstream: upstream * slope(x)

    testing.check_grads(cube, (2.0,))
    with pytest.raises(AssertionError, match="at order 2"):
        testing.check_grads(cube, (2.0,), order=2)


# -- determinism -----------------------------------------------------------------------------------

# another process imports this file, too: its answer is what it computes, not what files print
print("the functions of these tests")

WAYS = [
    "the same call again",
    "a kernel of static sizes",
    "a kernel of symbolic sizes",
    "the exported C kernel",
    "another process",
]


def weighted(x, w):
    return np.sum(np.exp(x) * w) + np.sum(np.sin(x)[:, None] * w)


def test_every_way_gives_the_same_bits() -> None:
    random = np.random.default_rng(0)
    args = (random.normal(size=1003), random.normal(size=1003))
    runs = list(testing.compare_bits(weighted, args, repeat=2))
    assert [run.way for run in runs] == WAYS
    assert not any(run.difference or run.reason for run in runs)
    testing.check_determinism(lambda p: {"y": p["x"] * p["n"]}, ({"x": X, "n": 3},), repeat=1)


def in_a_loop(x):
    return sum({i: x[i] for i in range(len(x))}.values())


def test_ways_that_are_not_there_say_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    runs = {run.way: run for run in testing.compare_bits(in_a_loop, (X,), repeat=1)}
    assert runs["a kernel of symbolic sizes"].reason.endswith("needs the size n as a number")
    assert runs["the exported C kernel"].reason == "there is no C compiler, cc"
    assert runs["another process"].difference is None


NAMES = {f"name{i}" for i in range(20)}


def in_order_of_names(x):
    total = x * 0.0
    for name in NAMES:
        total = total + x ** (1 + len(name) / 8) * (0.1 + hash(name) % 7)
    return total


def by_kind_of_size(x):
    return np.sum(x[::-1]) if hasattr(x.shape[0], "expr") else np.sum(x)


def test_an_order_that_depends_on_the_process() -> None:
    x = np.linspace(0.1, 1.0, 101)
    runs = list(testing.compare_bits(in_order_of_names, (x,), repeat=1))
    assert [run.way for run in runs if run.difference] == ["another process"]


OUTSIDE = np.array([1.0, 2.0, 3.0])


def reads_outside(x):
    return np.sum(x * OUTSIDE)


def test_arrays_outside_are_those_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "OUTSIDE", np.array([0.1, 0.2, 0.3]))
    testing.check_determinism(reads_outside, (X,), repeat=1)


def test_an_order_that_depends_on_the_sizes() -> None:
    x = np.random.default_rng(0).normal(size=1003)
    with pytest.raises(AssertionError) as error:
        testing.check_determinism(by_kind_of_size, (x,), repeat=1, seed=7)
    lines = str(error.value).splitlines()
    assert lines[0] == (
        "by_kind_of_size is not deterministic: the value has other bits from a kernel of symbolic "
        "sizes than from a call, seed 7"
    )
    assert [line.split(":")[0] for line in lines[1:]] == [
        "  a call",
        "  a kernel of symbolic sizes",
    ]
    assert lines[1] != lines[2]


class ByHalves:
    """A kernel that adds in another order the second time, as threads without an order would."""

    calls = 0

    def __init__(self, function: Any) -> None:
        pass

    def __call__(self, arrays: Sequence[Array]) -> list[Array]:
        x, upstream = arrays
        ByHalves.calls += 1
        total = 0.0
        for term in x if ByHalves.calls == 1 else x[::-1]:
            total = total + term
        return [np.asarray(total), np.ones_like(x) * upstream]


def test_a_kernel_that_adds_in_another_order_the_second_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(determinism, "CKernel", ByHalves)
    x = np.random.default_rng(1).normal(size=31)  # up to 32 elements are added left to right
    with pytest.raises(AssertionError, match=r"the value has other bits .* C kernel .* seed 1"):
        testing.check_determinism(lambda x: np.sum(x), (x,), repeat=3)
    assert ByHalves.calls == 2


def test_the_element_that_differs_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class OneBitOff:
        def __init__(self, function: Any) -> None:
            pass

        def __call__(self, arrays: Sequence[Array]) -> list[Array]:
            x, upstream = arrays
            gradient = 2 * x * upstream
            gradient[1, 2] = np.nextafter(gradient[1, 2], np.inf)
            return [x * x, gradient]

    monkeypatch.setattr(determinism, "CKernel", OneBitOff)
    with pytest.raises(AssertionError, match=r"the gradient by x\[1, 2\] has other bits"):
        testing.check_determinism(lambda x: x * x, (np.arange(6.0).reshape(2, 3) + 0.1,), repeat=1)


def test_a_kernel_that_cannot_be_exported_is_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(function: Any) -> Any:
        raise NoKernel("it calls SciPy")

    monkeypatch.setattr(determinism, "CKernel", refuse)
    runs = {run.way: run.reason for run in testing.compare_bits(np.sin, (X,), repeat=1)}
    assert runs["the exported C kernel"] == "it calls SciPy"


@pytest.mark.slow
def test_an_exported_kernel_is_compared_with_one_without_blas() -> None:
    random = np.random.default_rng(0)
    a, b = random.normal(size=(64, 64)), random.normal(size=(64, 64))
    runs = {run.way: run for run in testing.compare_bits(lambda a, b: np.tanh(a @ b), (a, b), 2)}
    assert not any(run.difference for run in runs.values())
    assert runs["the exported C kernel"].against == "a kernel without BLAS"
    assert runs["a kernel of static sizes"].against == "a call"
    plain = gradc.compile(lambda a, b: np.tanh(a @ b), blas=False)
    assert {run.against for run in testing.compare_bits(plain, (a, b), 1)} == {"a call"}


def test_a_check_of_zeros_warns() -> None:
    def flat(x):
        return np.maximum(x, 10.0)

    with pytest.warns(UserWarning, match="check_grads proved nothing of flat"):
        testing.check_grads(flat, (X,))
    testing.check_grads(lambda x, unused: x * x, (X, X))


def test_functions_are_checked_as_they_are_called() -> None:
    @gradc.compile(static="mode")
    def f(x, by=2, mode="sin", weights=np.array([1.0, 2.0, 3.0])):  # noqa: B008
        return np.sum((np.sin(x) if mode == "sin" else np.exp(x)) * by * weights)

    for args in ((X,), (X, 3.0, "exp")):
        testing.check_grads(f, args)
    testing.check_determinism(f, args, repeat=1)
    arguments = {made.argument for made in testing.compare_grads(f, (X, 3.0, "exp"))}
    assert arguments == {"x", "by", "weights"}


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda: testing.check_grads(np.sin, (X,), order=0), "order is at least 1, not 0"),
        (lambda: testing.check_grads(np.sin, (X,), seed=-1), "seed is at least 0, not -1"),
        (lambda: testing.check_determinism(np.sin, (X,), 0), "repeat is at least 1, not 0"),
        (lambda: testing.check_determinism(np.sin, (X,), seed=-1), "seed is at least 0, not -1"),
        (lambda: testing.sample_arguments([], size=-1), "size is at least 0, not -1"),
        (lambda: testing.check_accuracy(np.sin, "x: f64", points=0), "points is at least 1, not 0"),
    ],
)
def test_a_check_that_would_check_nothing_is_refused(
    check: Callable[[], None], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        check()


def test_rows_of_a_loop_of_numbers_keep_their_digits() -> None:
    """Joined with others they lost them, and right derivatives were found to be wrong."""

    def products(x):
        rows = gradc.scan(lambda last, row: (last * row, last * row), x[0], x[1:])[1]
        return np.concatenate([x[:1], rows])

    testing.check_grads(products, (np.array([0.5, -1.5, 2.0, 0.25]),), order=1)
