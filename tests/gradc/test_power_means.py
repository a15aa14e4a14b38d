"""Power means and p-norms of scalars, in any spelling, over the whole range of exponents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import gradc

Function = Callable[..., Any]

SPELLINGS: dict[str, Function] = {
    "production": lambda x, y, r: (0.3 * x**r + 0.7 * y**r) ** (1 / r),
    "substitution": lambda x, y, r: 2 * (0.25 * x**-r + 0.75 * y**-r) ** (-1 / r),
    "mean": lambda x, y, r: ((x**r + y**r) / 2) ** (1 / r),
    "norm": lambda x, y, r: (x**r + y**r) ** (1 / r),
    "inverse": lambda x, y, r: (y**r + x**r) ** (-1 / r),
    "three": lambda x, y, r: (0.25 * x**r + 0.5 * y**r + 0.25 * (x + y) ** r) ** (1 / r),
    "norm of three": lambda x, y, r: (x**r + y**r + (x + y) ** r) ** (1 / r),
    "elasticity": lambda x, y, r: (
        (0.5 * x ** ((r - 1) / r) + 0.5 * y ** ((r - 1) / r)) ** (r / (r - 1))
    ),
}
POINTS = [
    (2.0, 3.0, 0.5),
    (2.0, 3.0, -1.25),
    (0.1, 10.0, 0.01),
    (1e200, 1e199, 7.0),
    (1e-160, 1e-161, 20.0),
    (5.0, 5.0, 3.0),
]


@pytest.mark.parametrize("name", SPELLINGS)
def test_value_and_slopes(name: str) -> None:
    function = SPELLINGS[name]
    both = gradc.compile(gradc.value_and_grad(function, (0, 1, 2)))
    with mpmath.workdps(400):
        for point in POINTS:
            value, slopes = both(*point)
            exact = tuple(map(mpmath.mpf, point))
            orders = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
            wanted = [function(*exact), *(mpmath.diff(function, exact, each) for each in orders)]
            np.testing.assert_allclose(
                [value, *slopes], [float(each) for each in wanted], rtol=1e-12
            )


def test_tiny_exponents_make_a_geometric_mean() -> None:
    both = gradc.compile(gradc.value_and_grad(SPELLINGS["mean"], (0, 1, 2)))
    value, slopes = both(4.0, 9.0, 1e-200)
    wanted = [6, 0.75, 6 / 18, 6 * np.log(4 / 9) ** 2 / 8]
    np.testing.assert_allclose([value, *slopes], wanted, rtol=1e-14)


def test_weights_that_are_shares() -> None:
    def function(x: Any, y: Any, r: Any, a: Any) -> Any:
        return (a * x**r + (1 - a) * y**r) ** (1 / r)

    value, slopes = gradc.compile(gradc.value_and_grad(function, (0, 1, 2, 3)))(2.0, 8.0, 1e-9, 0.5)
    wanted = [4, 1, 0.25, 4 * np.log(4) ** 2 / 8, -4 * np.log(4)]
    np.testing.assert_allclose([value, *slopes], wanted, rtol=1e-7)


def test_zeros_and_negative_numbers() -> None:
    norm = gradc.compile(gradc.value_and_grad(SPELLINGS["norm"], (0, 1)))
    for point, value, slopes in (
        ((0.0, 3.0, 2.0), 3.0, (0.0, 1.0)),
        ((0.0, 3.0, 1.0), 3.0, (1.0, 1.0)),
        ((-3.0, 4.0, 2.0), 5.0, (-0.6, 0.8)),
        ((3.0, 0.0, -1.0), 0.0, (0.0, 1.0)),
    ):
        found, by = norm(*point)
        np.testing.assert_allclose([found, *by], [value, *slopes], rtol=1e-14)


def test_single_precision_arrays() -> None:
    def function(x: Any, y: Any, r: Any) -> Any:
        return np.sum(SPELLINGS["mean"](x, y, r))

    x, y = np.float32([1e-30, 2.0, 1e30]), np.float32([1e-31, 3.0, 1e31])
    value, slopes = gradc.compile(gradc.value_and_grad(function, (0, 1)))(x, y, np.float32(3.0))
    exact = ((np.float64(x) ** 3 + np.float64(y) ** 3) / 2) ** (1 / 3)
    np.testing.assert_allclose(value, np.sum(exact), rtol=1e-6)
    np.testing.assert_allclose(slopes[0], (np.float64(x) / exact) ** 2 / 2, rtol=3e-5)
