"""Guards around removable singularities: what is beside the guarded point, and at it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import mpmath
import numpy as np
import pytest

import gradc

Scalar = Callable[[Any], Any]
m = mpmath.mp.clone()
m.prec = 9000


class Limit(NamedTuple):
    """A function, the same in mpmath, its limit at 0 and those of its first two derivatives."""

    function: Scalar
    truth: Scalar
    limits: tuple[float, float, float]


# fmt: off
LIMITS = {
    "expm1": Limit(lambda x: np.expm1(x) / x, lambda x: m.expm1(x) / x, (1, 1 / 2, 1 / 3)),
    "bernoulli": Limit(lambda x: x / np.expm1(x), lambda x: x / m.expm1(x), (1, -1 / 2, 1 / 6)),
    "sinc": Limit(lambda x: np.sin(x) / x, lambda x: m.sin(x) / x, (1, 0, -1 / 3)),
    "versine": Limit(lambda x: (1 - np.cos(x)) / (x * x), lambda x: (1 - m.cos(x)) / x**2,
                     (1 / 2, 0, -1 / 12)),
    "langevin": Limit(lambda x: 1 / np.tanh(x) - 1 / x, lambda x: m.coth(x) - 1 / x,
                      (0, 1 / 3, 0)),
    "arctan": Limit(lambda x: (x - np.arctan(x)) / x**3, lambda x: (x - m.atan(x)) / x**3,
                    (1 / 3, 0, -2 / 5)),
}
# fmt: on


def twice(x: Any, small: Any, number: float, function: Scalar) -> Any:
    return np.where(small, number, function(np.where(small, 1.0, x)))


# how the number is put in place: the function, the number, below which size it is taken
GUARDS: dict[str, tuple[Callable[[Scalar, float], Scalar], float]] = {
    "equal": (lambda f, c: lambda x: np.where(x == 0, c, f(x)), 0),
    "unequal": (lambda f, c: lambda x: np.where(x != 0, f(x), c), 0),
    "equal twice": (lambda f, c: lambda x: twice(x, x == 0, c, f), 0),
    "1e-300": (lambda f, c: lambda x: twice(x, np.abs(x) < 1e-300, c, f), 1e-300),
    "1e-12": (lambda f, c: lambda x: np.where(np.abs(x) < 1e-12, c, f(x)), 1e-12),
    "1e-8": (lambda f, c: lambda x: twice(x, np.abs(x) < 1e-8, c, f), 1e-8),
    "1e-4": (lambda f, c: lambda x: np.where(np.abs(x) >= 1e-4, f(x), c), 1e-4),
}
SIZES = [1e-310, 1e-300, 1e-160, 1e-20, 2e-12, 1.1e-8, 1e-6, 1.1e-4, 1e-3, 0.02, 0.3, 1.1]
POINTS = np.array([sign * size for size in SIZES for sign in (1, -1)])


def derivatives(function: Scalar, x: float) -> list[float]:
    """The value and two derivatives, from differences with thousands of bits."""
    x = m.mpf(x)
    h = abs(x) * m.mpf(2) ** -500
    low, here, high = (function(x + step) for step in (-h, 0, h))
    return [
        float(here),
        float((high - low) / (2 * h)),
        float((high - 2 * here + low) / (h * h)),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize("name", LIMITS)
def test_beside_the_guarded_point_and_at_it(name: str, guard: str) -> None:
    function, truth, limits = LIMITS[name]
    wrap, threshold = GUARDS[guard]
    f = wrap(function, limits[0])
    first = gradc.compile(gradc.value_and_grad(f))
    second = gradc.compile(gradc.grad(gradc.grad(f)))
    inside = (limits[0], 0, 0) if threshold else limits
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for x in (*POINTS, 0.0):
            near = abs(x) < threshold or x == 0
            want = inside if near else derivatives(truth, x)
            found = [*first(x), second(x)]
            np.testing.assert_allclose(found[:2], want[:2], rtol=3e-13, atol=1e-300)
            np.testing.assert_allclose(found[2], want[2], rtol=2e-12, atol=1e-290)


def test_a_number_that_is_no_limit_stays_a_constant() -> None:
    def f(x):
        return np.where(x == 0, 1.5, np.expm1(x) / x)

    assert gradc.grad(f)(0.0) == 0
    np.testing.assert_allclose(gradc.grad(f)(1e-9), 0.5)


def test_the_value_keeps_its_bits() -> None:
    f = gradc.compile(lambda x: np.where(x == 0, 1 / 3, (x - np.arctan(x)) / x**3))
    assert f(0.0) == f(-0.0) == 1 / 3
    assert gradc.value_and_grad(f)(0.0)[0] == 1 / 3


@pytest.mark.parametrize("transform", ["vmap", "hessian", "jacobian", "weights"])
def test_arrays(transform: str) -> None:
    def f(x):
        return np.where(x == 0, 1.0, np.expm1(x) / x)

    x = np.array([0.0, 1e-9, -0.5])
    first = np.array([0.5, 0.5, 0.3608160417242045])
    second = np.array([1 / 3, 1 / 3, 0.2302028474715310])
    match transform:
        case "vmap":
            found, want = gradc.vmap(gradc.grad(f))(x), first
        case "hessian":
            found, want = gradc.hessian(lambda x: np.sum(f(x)))(x).diagonal(), second
        case "jacobian":
            found, want = gradc.jacobian(f)(x).diagonal(), first
        case _:
            found, want = gradc.grad(lambda x: np.sum(f(x) * np.arange(3)))(x), first * [0, 1, 2]
    np.testing.assert_allclose(found, want, rtol=1e-9)
