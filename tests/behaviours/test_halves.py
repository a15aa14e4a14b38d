"""Whatever is split in two halves is as accurate as the whole, and its second half linear."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc
from benchmarks.accuracy import doors
from benchmarks.accuracy.case import all_cases
from benchmarks.accuracy.measure import measure
from gradc.runtime.pullback import residuals
from tests.comparing import assert_same_bits

# of the suites: each has lost digits, or became infinite, in a half of its own
SAMPLE = (
    "parallel resistors", "hill response", "planck in wavelengths", "celu", "kelly growth",
    "smoothed cross entropy", "third side", "sharpened softplus",
)  # fmt: skip


def logarithm(x: Any) -> Any:
    return np.log(1 + x * x)


def heat_capacity(t: Any) -> Any:
    e = np.exp(1 / t)
    return e / (t * t * (e - 1) ** 2)


HARD: list[tuple[Callable[[Any], Any], list[float]]] = [
    (logarithm, [1e200, -1e300, 1.0]),
    (heat_capacity, [1e-3, 1e3, 1e8, 1e200]),
]


@pytest.mark.parametrize(("function", "points"), HARD)
def test_all_doors_have_the_bits_of_grad(
    function: Callable[[Any], Any], points: list[float]
) -> None:
    x = np.array(points)
    wanted = gradc.grad(lambda x: np.sum(function(x)))(x)
    assert np.isfinite(wanted).all()
    ones = np.ones_like(x)
    assert_same_bits(gradc.vjp(function, x)[1](ones)[0], wanted)
    assert_same_bits(gradc.jvp(function, (x,), (ones,))[1], wanted)
    assert_same_bits(gradc.linearize(function, x)[1](ones), wanted)
    assert_same_bits(np.diagonal(gradc.jacobian(function)(x)), wanted)
    assert_same_bits(gradc.vmap(gradc.grad(function))(x), wanted)


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLE)
def test_no_door_is_behind(name: str) -> None:
    (case,) = (case for case in all_cases() if case.name == name)
    engines = {door: doors.DOORS[door] for door in doors.DOORS if door != "jacobian"}
    assert doors.remarks([measure(case, engines, 200)]) == ""


def test_what_is_known_of_a_pullback_is_kept_multiplied() -> None:
    """One array goes to the second half, not the steps that it is made of."""

    def function(x: Any) -> Any:
        return np.exp(-x * x) * np.sin(x) / (1 + x * x)

    x = np.linspace(-2, 2, 1000)
    _, pull = gradc.compile(function).vjp(x)
    assert sum(residual.nbytes for residual in residuals(pull)) == x.nbytes


def entropy(logits: Any) -> Any:
    logs = logits - np.log(np.sum(np.exp(logits), axis=0))
    return -np.sum(np.exp(logs) * logs, axis=0)


def entropy_of_three(a: Any, b: Any, c: Any) -> Any:
    return entropy(np.stack([a, b, c]))


def test_sums_along_axes_are_known_in_the_first_half() -> None:
    """A cotangent is the same for all terms of a sum, and a tangent waits until it is read."""
    x = np.linspace(-2, 2, 3000).reshape(3, 1000)
    f = gradc.compile(entropy)
    _, pull = f.vjp(x)
    _, push = f.linearize(x)
    for half in (pull, push):
        assert sum(residual.nbytes for residual in residuals(half)) == x.nbytes


def test_sums_along_axes_have_the_bits_of_grad() -> None:
    """The slopes of nearly equal logits are small differences of large terms."""
    points = [np.array([1e-30, -1e-3, 5.0]), np.array([3e-31, 1e-17, -5.0]), np.array([0, 2, 9.0])]
    wanted = gradc.grad(lambda *x: np.sum(entropy_of_three(*x)), (0, 1, 2))(*points)
    assert wanted[0][0] == pytest.approx(-(2e-30 - 3e-31) / 9, rel=1e-12)
    ones = np.ones(3)
    pulled = gradc.vjp(entropy_of_three, *points)[1](ones)
    push = gradc.linearize(entropy_of_three, *points)[1]
    blocks = gradc.jacobian(entropy_of_three, (0, 1, 2))(*points)
    for i in range(3):
        tangents = tuple(ones if i == place else None for place in range(3))
        assert_same_bits(pulled[i], wanted[i])
        assert_same_bits(push(*tangents), wanted[i])
        assert_same_bits(np.diagonal(blocks[i]), wanted[i])


def test_tangents_wait_through_sums_of_each_shape() -> None:
    """Sums of sums, axes that came and went, elements that serve a sum and several results."""

    def function(x: Any, y: Any) -> Any:
        mean = np.mean(x, axis=1, keepdims=True)
        apart = np.sum((x - mean) ** 2, axis=1) / (1 + np.sum(np.exp(x), axis=1))
        both = np.concatenate([x[:, :2], mean], axis=1)
        along = np.sum(x, axis=0) * np.sum(x, axis=1)
        return apart * y, np.max(both * mean, axis=1), along + np.sum(np.outer(y, y)), both - mean

    x, y = np.linspace(-1, 2, 16).reshape(4, 4) ** 2, np.linspace(0.5, 1, 4)
    tangents = np.cos(np.arange(16.0)).reshape(4, 4), np.sin(np.arange(4.0))
    pushed = gradc.linearize(function, x, y)[1](*tangents)
    values, pull = gradc.vjp(function, x, y)
    for i, tangent in enumerate(pushed):
        cotangents = [np.zeros_like(value) for value in values]
        cotangents[i] += np.arange(1.0, 1 + tangent.size).reshape(tangent.shape)
        gradients = pull(tuple(cotangents))
        product = sum(np.sum(g * t) for g, t in zip(gradients, tangents))
        assert np.sum(cotangents[i] * tangent) == pytest.approx(product, rel=1e-12)


def test_masked_zeros_stay_zero_in_the_second_half() -> None:
    _, pull = gradc.vjp(lambda x: np.where(x > 0, np.log(x), 0.0), np.array([2.0, 0.0, -1.0]))
    (pulled,) = pull(np.array([1.0, np.inf, np.nan]))
    assert_same_bits(pulled, np.array([0.5, 0.0, 0.0]))


def test_tangents_that_are_not_given_are_zeros_that_stay_zero() -> None:
    """By its second argument the quotient has no finite derivative."""
    _, push = gradc.linearize(lambda x, y: np.sqrt(y) + x * x, 3.0, 0.0)
    assert push(1.0, None) == 6.0
    assert np.isnan(push(1.0, 0.0))
    assert push(None, 1.0) == np.inf
    assert push(None, None) == 0.0


def test_tangents_of_nests_that_are_not_given() -> None:
    def function(p: Any, n: Any, y: Any) -> Any:
        return p["a"] * y + n * p["b"]

    x = {"a": np.array([1.0, 2.0]), "b": np.array([3.0, 4.0])}
    _, push = gradc.linearize(function, x, 2, np.array([5.0, 6.0]))
    assert_same_bits(push(None, None, np.ones(2)), np.array([1.0, 2.0]))
    assert_same_bits(push({"a": np.ones(2), "b": np.ones(2)}, None, None), np.array([7.0, 8.0]))


def test_a_second_half_is_linear() -> None:
    def function(x: Any, y: Any) -> Any:
        return np.exp(x) * np.sin(y) / (1 + x * x + y * y)

    x, y = np.linspace(-1, 1, 7), np.linspace(2, 3, 7)
    _, push = gradc.linearize(function, x, y)
    one, other = push(x, None), push(None, y)
    assert push(x, y) == pytest.approx(one + other, rel=1e-14)
    assert_same_bits(push(4 * x, None), 4 * one)
    _, pull = gradc.vjp(function, x, y)
    for found, of_one in zip(pull(4 * x), pull(x)):
        assert_same_bits(found, 4 * of_one)


@pytest.mark.parametrize("nested", [False, True])
def test_series_act_in_the_body_of_a_loop(nested: bool) -> None:
    """The way back has no part of a formula without the rest."""

    def total(x: Any) -> Any:
        def step(carry: Any, row: Any) -> Any:
            return row, (np.sinh(carry) - carry) / carry**3

        return np.sum(gradc.scan(step, x[0], x)[1])

    x = np.array([1e-3, 1e-8, 1e-3, 2.0])
    plain = gradc.grad(lambda x: np.sum((np.sinh(x) - x) / x**3))
    wanted = plain(np.array([1e-3, 1e-8, 1e-3]))
    of = gradc.grad(total)
    found = (gradc.compile(lambda x: of(x)) if nested else of)(x)
    assert found[1:3] == pytest.approx(wanted[1:3], rel=1e-14, abs=0)


def test_tangents_of_formulas_that_share_steps() -> None:
    """A step whose tangent was made for another reader is a leaf of those that come later."""

    def function(x: Any) -> Any:
        shared = np.exp(np.sin(x))
        total = np.sum(shared)
        return shared * shared / total, np.cos(shared)

    x = np.linspace(0.1, 1, 5)
    pushed = gradc.jvp(function, (x,), (np.ones(5),))[1]
    jacobians = gradc.jacobian(function, mode="reverse")(x)
    for tangent, jacobian in zip(pushed, jacobians):
        assert tangent == pytest.approx(jacobian.sum(axis=1), rel=1e-13)


def test_a_fork_of_a_loop_keeps_what_cancels() -> None:
    """The product of a number and a logarithm is divided by the number again."""

    def box_cox(x: Any, power: Any) -> Any:
        return (x**power - 1) / power

    def total(x: Any, power: Any) -> Any:
        def step(carry: Any, pair: Any) -> Any:
            return pair, box_cox(*carry)

        return np.sum(gradc.scan(step, (x[0], power[0]), (x, power))[1])

    x, power = np.linspace(0.1, 3, 40), np.linspace(-0.5, 0.7, 40)
    found = gradc.compile(gradc.grad(total, (0, 1)))(x, power)
    wanted = gradc.grad(lambda x, p: np.sum(box_cox(x, p)), (0, 1))(x, power)
    for one, other in zip(found, wanted):
        # the first row is read twice, the last one never
        assert_same_bits(one[1:-1], other[1:-1])
