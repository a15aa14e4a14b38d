"""Functions divided by a factor of their argument: derivatives by it near zero, and powers of one
plus such a product."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import gradc
from gradc.rules.stable.arithmetic.shared_arguments import FUNCTIONS

m = mpmath.mp.clone()
m.prec = 4000
NAMES = {"arcsin": "asin", "arctan": "atan", "arcsinh": "asinh", "arctanh": "atanh"}
POINTS = [(0.7, 1e-1), (0.7, 1e-5), (-3.0, 1e-9), (2.0, -1e-12), (1.5, 1e-300), (1e-160, 1e-190)]


def truth(f: Callable[..., Any], x: float, y: float) -> list[float]:
    def value(x: Any, y: Any) -> Any:
        return f(m.mpf(x), m.mpf(y))

    h = m.mpf(2) ** -2500
    x, y = m.mpf(x), m.mpf(y)
    by_x = (value(x + h, y) - value(x - h, y)) / (2 * h)
    by_y = (value(x, y + h) - value(x, y - h)) / (2 * h)
    return [float(each) for each in (value(x, y), by_x, by_y)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_over_a_factor_of_its_argument(name: str) -> None:
    function, exact = getattr(np, name), getattr(m, NAMES.get(name, name), None)
    f = gradc.compile(gradc.value_and_grad(lambda x, y: function(y * x) / y, (0, 1)))
    inverse = gradc.compile(gradc.value_and_grad(lambda x, y: 3 * y / function(x * y), (0, 1)))
    for x, y in POINTS:
        value, gradient = f(x, y)
        np.testing.assert_allclose(
            [value, *gradient], truth(lambda x, y: exact(y * x) / y, x, y), rtol=1e-14, atol=1e-307
        )
        value, gradient = inverse(x, y)
        wanted = truth(lambda x, y: 3 * y / exact(y * x), x, y)
        np.testing.assert_allclose([value, *gradient], wanted, rtol=1e-14, atol=1e-307)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_where_the_factor_is_zero_it_is_the_limit(name: str) -> None:
    function = getattr(np, name)
    found = gradc.value_and_grad(lambda x, y: function(y * x) / y, (0, 1))(3.0, 0.0)
    second = {"expm1": 1 / 2, "log1p": -1 / 2}.get(name, 0.0)
    assert (float(found[0]), *map(float, found[1])) == (3.0, 1.0, 9 * second)


@pytest.mark.parametrize(("x", "k"), POINTS)
def test_powers_that_are_exponentials_for_small_shapes(x: float, k: float) -> None:
    def survival(x: Any, k: Any) -> Any:
        return (1 + k * x) ** (-1 / k)

    value, gradient = gradc.value_and_grad(survival, (0, 1))(x, k)
    np.testing.assert_allclose([value, *gradient], truth(survival, x, k), rtol=1e-14, atol=1e-307)


@pytest.mark.parametrize(("x", "s"), [(0.3, 0.7), (-2.0, 1e-3), (5.0, 1e6), (1e-20, 1e150)])
def test_arguments_over_one_divisor_differ_exactly(x: float, s: float) -> None:
    def log_mass(x: Any, s: Any, exp: Any = np.exp, log: Any = np.log) -> Any:
        return log(1 / (1 + exp(-(x + 0.5) / s)) - 1 / (1 + exp(-(x - 0.5) / s)))

    value, gradient = gradc.value_and_grad(log_mass, (0, 1))(x, s)
    wanted = truth(lambda x, s: log_mass(x, s, m.exp, m.log), x, s)
    np.testing.assert_allclose([value, *gradient], wanted, rtol=1e-13, atol=1e-25)


@pytest.mark.parametrize(("a", "b"), [(2.0, 3.0), (2.5, 2.5000000001), (1e-200, 1e-201), (3, 3)])
def test_a_difference_that_is_a_square_does_not_cancel(a: float, b: float) -> None:
    def apart(a: Any, b: Any, sqrt: Any = np.sqrt) -> Any:
        return (a + b) / 2 - sqrt(a * b)

    value, gradient = gradc.value_and_grad(apart, (0, 1))(float(a), float(b))
    wanted = truth(lambda a, b: apart(a, b, m.sqrt), a, b)
    np.testing.assert_allclose([value, *gradient], wanted, rtol=1e-14)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_squares_that_are_zero_have_the_sign_of_a_difference(sign: float) -> None:
    for f, at in (
        (lambda x, y: sign * np.hypot(x, y) - sign * x, (3.0, 0.0)),
        (lambda x, y: sign * ((x + y) / 2) - sign * np.sqrt(x * y), (3.0, 3.0)),
    ):
        assert str(gradc.compile(f)(*at)) == "0.0"
