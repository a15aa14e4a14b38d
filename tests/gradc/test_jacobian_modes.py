"""Jacobians choose their mode by the sizes of a call, not by the sizes of the call before."""

from __future__ import annotations

import numpy as np
import pytest

import gradc
from gradc.autodiff.batching import jacobian

P = np.linspace(0.1, 1.0, 26)


def curves(p: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.stack([np.sin(p[0] * x) + p[1:].sum() * x, np.cos(p[1] * x) * p[2], p[25] * x**2], 1)


def points(count: int) -> np.ndarray:
    return np.linspace(0.3, 1.0, count)


@pytest.mark.parametrize("order", [(5, 7, 100, 8, 9), (100, 101, 5, 8, 9)])
def test_a_size_has_the_bits_of_that_size_alone(order: tuple[int, ...]) -> None:
    shared = gradc.jacobian(curves)
    for count in order:
        alone = gradc.jacobian(lambda p, x: curves(p, x))
        x = points(count)
        assert np.array_equal(shared(P, x), alone(P, x))
        mode = "forward" if 3 * count >= 26 else "reverse"
        chosen = gradc.compile(curves).jacobian(P, x, mode=mode)
        assert np.array_equal(shared(P, x), chosen)


def test_many_rows_run_forward_though_few_came_first() -> None:
    # one seed a parameter, not one a row: a million numbers on the way, not a billion
    shared = gradc.jacobian(curves)
    shared(P, points(2)), shared(P, points(3))
    x = points(100_000)
    found = shared(P, x)
    assert found.shape == (100_000, 3, 26)
    assert np.allclose(found[:, 2, 25], x**2)


def test_a_choice_inside_a_traced_function_is_differentiated() -> None:
    @gradc.compile
    def loss(p: np.ndarray, x: np.ndarray) -> np.ndarray:
        return np.sum(gradc.jacobian(curves)(p, x) ** 2)

    for count in (5, 6, 20):
        x = points(count)
        slope = loss.grad(P, x)
        step = 1e-6 * np.eye(26)[1]
        numeric = (loss(P + step, x) - loss(P - step, x)) / 2e-6
        assert np.isclose(slope[1], numeric, rtol=1e-6)
        assert np.isclose(loss.jvp((P, x), (step * 1e6, np.zeros(count)))[1], numeric, rtol=1e-6)


def test_under_vmap() -> None:
    rows = gradc.vmap(gradc.jacobian(curves), in_axes=(0, None))
    for count in (4, 5, 12):
        x = points(count)
        many = np.stack([P, 2 * P])
        expected = [gradc.jacobian(curves)(p, x) for p in many]
        assert np.allclose(rows(many, x), expected, rtol=1e-14)


@pytest.mark.parametrize("inside", [False, True])
def test_reverse_mode_is_not_built_where_no_call_needs_it(
    inside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = []
    by_rows = jacobian._by_rows
    monkeypatch.setattr(jacobian, "_by_rows", lambda *given: built.append(1) or by_rows(*given))
    shared = gradc.jacobian(curves)
    if inside:
        shared = gradc.compile(lambda p, x: gradc.jacobian(curves)(p, x) * 1)
    for count in (30, 40, 9):  # the last one has just enough rows
        shared(P, points(count))
    assert not built
    for count in (8, 40, 1, 0, 7):
        x = points(count)
        assert np.array_equal(shared(P, x), gradc.jacobian(lambda p, x: curves(p, x))(P, x))
    assert built
