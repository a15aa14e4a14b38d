"""Identities that clip, scale, turn around or cut off derivatives: both modes, vmap, loops."""

from __future__ import annotations

import numpy as np
import pytest

import gradc
from tests.comparing import assert_same_bits

X = np.array([1.0, -2.0, 3.0])
ONES = np.ones(3)

# function, its gradient at X, its tangent along ones
CASES = [
    (lambda x: np.sum(gradc.scale_gradient(x, 0.5) ** 2), X, np.sum(X)),
    (lambda x: np.sum(gradc.scale_gradient(x, np.array([1.0, 2.0, 3.0])) ** 2), [2, -8, 18], 12.0),
    (lambda x: np.sum(gradc.reverse_gradient(x) ** 2), -2 * X, -2 * np.sum(X)),
    (lambda x: np.sum(gradc.clip_gradient(x, -1.0, 2.0) ** 2), [2, -1, 2], 4.0),
    (lambda x: np.sum(gradc.disconnected(x) * x), X, np.sum(X)),
    (lambda x: np.sum(gradc.stop_gradient(x) * x), X, np.sum(X)),
]


@pytest.mark.parametrize(("f", "gradient", "tangent"), CASES)
def test_both_modes(f, gradient, tangent) -> None:
    value = gradc.compile(f)(X)
    assert gradc.grad(f)(X).tolist() == np.asarray(gradient).tolist()
    assert gradc.jvp(f, (X,), (ONES,)) == (value, tangent)
    stacked = gradc.vmap(gradc.grad(f))(np.stack([X, X]))
    assert stacked.tolist() == [np.asarray(gradient).tolist()] * 2


def test_within_loops_and_branches() -> None:
    def f(x):
        def step(i, s):
            return gradc.cond(s > 0, lambda s: gradc.scale_gradient(s * 3, 10.0), lambda s: s, s)

        return gradc.fori_loop(0, 3, step, x)

    assert gradc.value_and_grad(f)(2.0) == (54.0, 27000.0)
    assert gradc.jvp(f, (2.0,), (1.0,)) == (54.0, 27000.0)


def test_they_are_identities_outside_of_derivatives() -> None:
    for fence in (
        lambda x: gradc.scale_gradient(x, 3.0),
        gradc.reverse_gradient,
        gradc.disconnected,
        lambda x: gradc.clip_gradient(x, 0.0, 1.0),
    ):
        assert fence(X) is X
        assert_same_bits(gradc.compile(fence)(X), X)
        assert gradc.compile(fence)(3) == 3
        body = gradc.compile(lambda x, fence=fence: fence(x) + 1).ir("x: f64[n]").body
        assert {node.op.name for node in body} - {"constant", "broadcast"} == {"add"}


def test_they_do_not_hide_the_stable_form_of_a_value() -> None:
    assert gradc.compile(lambda x: np.log(1 + gradc.scale_gradient(np.exp(x), 2)))(800.0) == 800.0


def test_float32_stays_float32() -> None:
    x = np.float32(3)
    gradient = gradc.grad(lambda x: gradc.clip_gradient(x, -0.5, 0.1) ** 2)(x)
    assert_same_bits(gradient, np.float32(0.1))


def test_settings_have_to_fit() -> None:
    with pytest.raises(gradc.TraceError, match=r"scale_gradient: f64\[3\] does not broadcast"):
        gradc.grad(lambda x: gradc.scale_gradient(x, ONES))(1.0)
