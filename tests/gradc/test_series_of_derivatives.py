"""Derivatives of derivatives near points where functions cancel, however they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc

Scalar = Callable[[Any], Any]

# functions, and the first two derivatives near 0 over their leading powers
FUNCTIONS: dict[str, tuple[Scalar, Scalar, Scalar]] = {
    "arctan": (lambda x: (x - np.arctan(x)) / x**3, lambda x: -0.4 * x, lambda x: -0.4),
    "versine": (lambda x: (1 - np.cos(x)) / (x * x), lambda x: -x / 12, lambda x: -1 / 12),
    "power": (
        lambda x: ((1 + x) ** 20.5 - 1) / x,
        lambda x: 199.875 + 2465.125 * x + 16177.3828125 * x**2,
        lambda x: 2465.125 + 32354.765625 * x,
    ),
    "phi": (
        lambda x: (np.exp(x) - 1 - x - x * x / 2) / x**3,
        lambda x: 1 / 24 + x / 60,
        lambda x: 1 / 60 + x / 120,
    ),
}
FIRST: dict[str, Callable[[Scalar, float], Any]] = {
    "grad": lambda f, x: gradc.grad(f)(x),
    "jvp": lambda f, x: gradc.jvp(f, (x,), (1.0,))[1],
    "compiled": lambda f, x: gradc.compile(gradc.grad(gradc.compile(f)))(x),
    "jvp of compiled": lambda f, x: gradc.compile(
        lambda y: gradc.jvp(gradc.compile(f), (y,), (1.0,))[1]
    )(x),
}
SECOND: dict[str, Callable[[Scalar, float], Any]] = {
    "grad of grad": lambda f, x: gradc.grad(gradc.grad(f))(x),
    "grad of compiled grad": lambda f, x: gradc.grad(gradc.compile(gradc.grad(f)))(x),
    "hvp": lambda f, x: gradc.hvp(f, (x,), 1.0),
    "jvp of grad": lambda f, x: gradc.jvp(gradc.grad(f), (x,), (1.0,))[1],
    "grad of jvp": lambda f, x: gradc.grad(lambda y: gradc.jvp(f, (y,), (1.0,))[1])(x),
    "jacobian of grad": lambda f, x: gradc.jacobian(gradc.grad(f))(x),
    "hessian": lambda f, x: gradc.hessian(f)(x),
}


@pytest.mark.slow
@pytest.mark.parametrize("x", [1e-60, -1e-7])
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("way", [*FIRST, *SECOND])
def test_every_way_to_a_derivative(way: str, name: str, x: float) -> None:
    function, first, second = FUNCTIONS[name]
    found = (FIRST | SECOND)[way](function, x)
    want = first(x) if way in FIRST else second(x)
    np.testing.assert_allclose(found, want, rtol=1e-10)


def test_weights_and_arrays() -> None:
    phi = FUNCTIONS["phi"][0]
    w, x = np.array([2.0, 3.0, -1.0]), np.array([1e-60, 1e-5, -1e-9])

    def total(x, w):
        return np.sum(w * phi(x))

    want = w * FUNCTIONS["phi"][2](x)
    np.testing.assert_allclose(gradc.hessian(total)(x, w).diagonal(), want, rtol=1e-9)
    np.testing.assert_allclose(gradc.hvp(total, (x, w), np.ones(3)), want, rtol=1e-9)
    np.testing.assert_allclose(gradc.jacobian(gradc.grad(total))(x, w).diagonal(), want, rtol=1e-9)


def test_a_user_s_fence_is_not_looked_through() -> None:
    """Even where rules put fences of their own beside it."""

    def f(x):
        fenced = (1 - gradc.exactly(np.cos(x))) / (x * x)
        return fenced, ((1 + x) ** 20.5 - 1) / x

    fenced, power = gradc.compile(f)(1e-9)
    assert fenced == 0
    np.testing.assert_allclose(power, 20.5 + 199.875e-9)
    slopes = gradc.jvp(f, (1e-60,), (1.0,))[1]
    np.testing.assert_allclose(slopes[1], 199.875)
