"""Products with functions of infinite slope: the factor cancels what the slope divides by."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import gradc

INF = math.inf
# the function, a point where a slope is infinite, first and second derivative there
PRODUCTS: dict[str, tuple[Any, float, float, float]] = {
    "entropy": (lambda x: x * np.log(x), 0.0, -INF, INF),
    "entropy, turned round": (lambda x: np.log(x) * x, 0.0, -INF, INF),
    "entropy in bits": (lambda x: -x * np.log2(x), 0.0, INF, -INF),
    "entropy in digits": (lambda x: x * np.log10(x), 0.0, -INF, INF),
    "three halves": (lambda x: x * np.sqrt(x), 0.0, 0.0, INF),
    "three halves of many": (lambda x: 4 * (np.sqrt(x) * x), INF, INF, 0.0),
}


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize(("function", "x", "slope", "_"), PRODUCTS.values(), ids=PRODUCTS.keys())
def test_slopes(function: Any, x: float, slope: float, _: float, mode: str) -> None:
    forward = gradc.jvp(function, (x,), (1.0,))[1]
    assert (gradc.grad(function)(x) if mode == "reverse" else forward) == slope


@pytest.mark.parametrize(("function", "x", "_", "curve"), PRODUCTS.values(), ids=PRODUCTS.keys())
def test_curvatures(function: Any, x: float, _: float, curve: float) -> None:
    assert gradc.hessian(function)(x) == curve
    assert gradc.grad(gradc.grad(function))(x) == curve


REPEATED: dict[str, tuple[Any, float]] = {
    "quotient and divisor": (lambda x: ((1 / x) * x) * np.log(x), 0.5),
    "on the other side": (lambda x: np.log(x) * (x * (1 / x)), 0.5),
    "quotient twice": (lambda x: (1 / x) * (1 / x) * np.log(x), (1 - 2 * math.log(2)) / 8),
    "both twice": (lambda x: ((1 / x) * x) * ((1 / x) * x) * np.log(x), 0.5),
    "root and what it is of": (lambda x: (0.5 / np.sqrt(x)) * x * np.sqrt(x), 0.5),
}


@pytest.mark.parametrize("stable", [True, False])
@pytest.mark.parametrize(("function", "slope"), REPEATED.values(), ids=REPEATED.keys())
def test_a_quotient_cancels_one_divisor_and_itself_once(
    function: Any, slope: float, stable: bool
) -> None:
    """The user's quotient is the node that differentiation makes as well."""

    def forward(x: Any) -> Any:
        return gradc.jvp(function, (x,), (1.0,))[1]

    for derivative in (gradc.grad(function), forward):
        found = gradc.compile(derivative, stable=stable)(2.0)
        assert found == pytest.approx(slope, rel=1e-14)


def test_nothing_is_divided_where_it_cancels() -> None:
    compiled = gradc.compile(gradc.grad(lambda x: np.sum(x * np.log(x))))
    assert "div" not in {node.op.name for node in compiled.ir(np.ones(3)).nodes}


def test_slopes_of_quotients_by_powers_are_poles_at_0_and_vanish_at_infinity() -> None:
    points = np.array([-0.0, 0.0, -INF, INF, 1.0, 1e-110])
    slopes = gradc.grad(lambda x: np.sum(2 / x**3))(points)
    others = gradc.grad(lambda x: np.sum(2 / x**4))(points)
    np.testing.assert_array_equal(slopes, [-INF, -INF, 0.0, 0.0, -6.0, -INF])
    np.testing.assert_array_equal(others, [INF, -INF, 0.0, 0.0, -8.0, -INF])
