"""Compiled functions called again inside a trace: recorded once on the same elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradc


@gradc.compile
def determinant(a: Any) -> Any:
    if len(a) == 1:
        return a[0, 0]
    total = 0.0
    for column in range(len(a)):
        minor = np.delete(a[1:], column, axis=1)
        total += (-1) ** column * a[0, column] * determinant(minor)
    return total


def test_a_determinant_by_minors_records_each_minor_once() -> None:
    matrix = np.random.default_rng(0).normal(size=(6, 6))
    text = determinant.dump(matrix, stage="traced")
    # of a minor of size m there are m terms, and 6 over m minors of this size
    terms = sum(m * count for m, count in ((6, 1), (5, 6), (4, 15), (3, 20), (2, 15)))
    assert text.count(" = add ") == terms
    value, slope = determinant.value_and_grad(matrix)
    assert value == pytest.approx(np.linalg.det(matrix), rel=1e-12)
    np.testing.assert_allclose(slope, value * np.linalg.inv(matrix).T, rtol=1e-10)


@gradc.compile
def squares(x: Any) -> Any:
    return x * x


@gradc.compile
def doubled_in_place(x: Any) -> Any:
    x *= 2
    return np.sum(x)


@gradc.compile
def itself(x: Any) -> Any:
    return x


@gradc.compile
def front(x: Any) -> Any:
    return x[:2]


@gradc.compile
def scaled(x: Any, by: Any) -> Any:
    return x / by


def results_are_arrays_of_their_own(x: Any) -> Any:
    first, second = squares(x), squares(x)
    first[0] = 7.0
    return first, second, squares(x)


def arguments_are_assigned_to(x: Any) -> Any:
    return doubled_in_place(x), doubled_in_place(x), x


def results_are_arguments(x: Any) -> Any:
    first, second = itself(x), itself(x)
    first[0] = 7.0
    return first, second, x


def results_are_views(x: Any) -> Any:
    first, second = front(x), front(x)
    first[0] = 7.0
    return second, x


def arguments_have_changed(x: Any) -> Any:
    before = squares(x)
    x[0] = 5.0
    return before, squares(x), squares(x)


def other_elements(x: Any) -> Any:
    return squares(x[1:])[0], squares(x[:-1])[1], squares(x[::-1])[0], squares(x[[0, 0]])


def numbers_of_two_kinds(x: Any) -> Any:
    return scaled(x, 0.0), scaled(x, -0.0), scaled(x, 2), scaled(x, 2.0), scaled(x, True)


@pytest.mark.parametrize(
    "fn",
    [
        results_are_arrays_of_their_own,
        arguments_are_assigned_to,
        results_are_arguments,
        results_are_views,
        arguments_have_changed,
        other_elements,
        numbers_of_two_kinds,
    ],
)
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_calls_again_mean_what_calls_mean(fn: Any, dtype: str) -> None:
    x = np.array([1.5, -2.0, 3.0], dtype)
    inlined = {"squares": squares, "itself": itself, "front": front, "scaled": scaled}
    inlined["doubled_in_place"] = doubled_in_place
    plain = {name: compiled.__wrapped__ for name, compiled in inlined.items()}
    with np.errstate(all="ignore"):
        expected = type(fn)(fn.__code__, {"np": np, **plain})(x.copy())
    found = gradc.compile(fn)(x)
    assert len(found) == len(expected)
    for one, other in zip(found, expected):
        np.testing.assert_array_equal(one, other)


def test_calls_of_a_loop_belong_to_its_step() -> None:
    @gradc.compile
    def f(x):
        total = squares(x)
        for row in x:
            total = total + squares(row) * squares(x)
        return np.sum(total)

    x = np.arange(40.0)
    assert f(x) == np.sum(x * x) + np.sum(x * x) ** 2
    np.testing.assert_allclose(f.grad(x), 2 * x + 4 * x * np.sum(x * x), rtol=1e-14)


def test_another_gradient_is_another_call() -> None:
    flat = gradc.custom_gradient(lambda x: np.exp(x))
    flat.def_vjp(lambda upstream, x: 0.0 * upstream)

    @gradc.compile
    def grown(x):
        return np.exp(x)

    @gradc.compile
    def f(x):
        first = grown(x)
        with gradc.overrides({np.exp: flat}):
            second = grown(x)
        return first + second

    assert f.grad(0.0) == 1.0


def test_what_is_printed_is_printed_at_every_call(capsys: pytest.CaptureFixture[str]) -> None:
    gradc.compile(lambda x: told(x) + told(x))(1.5)
    assert capsys.readouterr().out.count("x is 1.5") == 2


@gradc.compile
def told(x: Any) -> Any:
    gradc.debug_print("x is {}", x)
    return x + 1


@gradc.compile
def twice(x: Any) -> Any:
    y = x * 2
    return y, y


@gradc.compile
def kept() -> Any:
    return OUTSIDE


OUTSIDE = np.ones(3)


def test_results_that_are_one_array_are_one_again() -> None:
    @gradc.compile
    def f(x):
        twice(x)
        one, other = twice(x)
        one[0] = 7.0
        return other

    assert f(np.ones(3)).tolist() == [7.0, 2.0, 2.0]


def test_arrays_outside_stay_outside() -> None:
    @gradc.compile
    def f(x):
        kept()
        there = kept()
        there[0] = 7.0
        return there * x

    with pytest.raises(gradc.GradcError):
        f(1.0)
