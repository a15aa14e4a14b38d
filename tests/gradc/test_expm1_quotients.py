"""Quotients of expm1 whose derivatives cancel, and logarithms of what grows exponentially."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import gradc

m = mpmath.mp.clone()
m.prec = 3000

# fmt: off
SPELLINGS = {
    "written": lambda x, y, t: t * (np.exp((x + y) * t) - 1)
               / ((np.exp(x * t) - 1) * (np.exp(y * t) - 1)),
    "expm1": lambda x, y, t: np.expm1(t * (y + x)) * t / (np.expm1(t * y) * np.expm1(x * t)),
    "negative": lambda x, y, t: t * (1 - np.exp(-t * x - y * t))
                / ((1 - np.exp(-x * t)) * (1 - np.exp(-t * y))),
    "upside down": lambda x, y, t: 1 / (np.expm1(x * t) * np.expm1(y * t)
                                        / (t * np.expm1((x + y) * t))),
}
# fmt: on
POINTS = [
    (0.7, -0.3, 0.5),
    (1.0, 2.0, 3.0),
    (1e-151, -1e-131, 1e-176),
    (6e-25, 5e-149, 2e-157),
    (1e-8, 2e-8, 1.0),
    (-1e-112, 2e-73, 1e-132),
    (5.0, -4.0, 20.0),
    (9.0, 1e-9, -30.0),
]  # fmt: skip


def truth(x: float, y: float, t: float) -> list[float]:
    x, y, t = map(m.mpf, (x, y, t))
    p, q = x * t, y * t

    def rate(u):
        return m.coth(u / 2) / 2 - u / 4 / m.sinh(u / 2) ** 2

    value = t * m.expm1(p + q) / (m.expm1(p) * m.expm1(q))
    by = [-((t / (2 * m.sinh(u / 2))) ** 2) for u in (p, q)]
    return [float(each) for each in (value, *by, rate(p) + rate(q))]


@pytest.mark.parametrize("name", SPELLINGS)
def test_expm1_of_a_sum_over_both(name: str) -> None:
    f = gradc.compile(gradc.value_and_grad(SPELLINGS[name], (0, 1, 2)))
    for point in POINTS:
        value, gradient = f(*point)
        np.testing.assert_allclose([value, *gradient], truth(*point), rtol=1e-13)


def test_arrays_in_single_precision() -> None:
    function = SPELLINGS["written"]
    x, y = np.float32([0.5, -1e-8]), np.float32([2.0, 1e-3])
    found = gradc.grad(lambda x, y, t: np.sum(function(x, y, t)), 2)(x, y, np.float32(1e-3))
    want = sum(truth(float(a), float(b), float(np.float32(1e-3)))[3] for a, b in zip(x, y))
    np.testing.assert_allclose(found, want, rtol=1e-6)


def test_both_modes_and_twice() -> None:
    f = SPELLINGS["written"]
    point, vector = (1e-5, 2e-5, 1e-4), (1.0, 0.0, 0.5)
    pushed = gradc.jvp(f, point, vector)[1]
    np.testing.assert_allclose(pushed, np.dot(vector, gradc.grad(f, (0, 1, 2))(*point)))
    # t * coth(x t / 2) / 2 is 1 / x + x t**2 / 12, and so on
    found = gradc.grad(gradc.grad(f, 2), 2)(*point)
    np.testing.assert_allclose(found, (point[0] + point[1]) / 6, rtol=1e-9)


@pytest.mark.parametrize("x", [1e-9, 3.0, 800.0, 1e20])
def test_logarithms_of_growing_factors(x: float) -> None:
    def quotient(x):
        return np.log((np.exp(x) - 1) / x)

    def scaled(x, a):
        return np.log(a * (2 + np.exp(x)))

    value, slope = gradc.value_and_grad(quotient)(x)
    u = m.mpf(x)
    growth = u + m.log(-m.expm1(-u))
    np.testing.assert_allclose(value, float(growth - m.log(u)), rtol=1e-12)
    np.testing.assert_allclose(slope, float(-1 / m.expm1(-u) - 1 / u), rtol=1e-12)
    value, slope = gradc.value_and_grad(scaled)(x, 1.5)
    want = u + m.log(1.5) + m.log1p(2 * m.exp(-u))
    np.testing.assert_allclose(value, float(want), rtol=1e-12)
    np.testing.assert_allclose(slope, float(1 / (1 + 2 * m.exp(-u))), rtol=1e-12)


def test_one_over_a_sum_of_cotangents_has_slopes_at_subnormal_operands() -> None:
    """They are those of x * y / (x + y), whose square is over the range there."""

    def fn(x, y):
        return np.sum(np.expm1(x) * np.expm1(y) / np.expm1(x + y))

    x, y = np.array([[5e-324, 1e-323], [-1e-310, 4e-310], [1e-320, 3.0], [1e-200, -3e-200]]).T
    by_x, by_y = gradc.grad(fn, (0, 1))(x, y)
    near = 1 / (1 + x[2] / 2 / np.tanh(1.5))
    np.testing.assert_allclose(by_x, [4 / 9, 16 / 9, near, 9 / 4], rtol=1e-14)
    np.testing.assert_allclose(by_y, [1 / 9, 1 / 9, 0.0, 1 / 4], rtol=1e-14)
