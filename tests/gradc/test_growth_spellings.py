"""Sums of powers of 1 + r, such as annuities, in any spelling: one function of r and n."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import gradc

Function = Callable[[Any, Any], Any]

SPELLINGS: dict[str, Function] = {
    "annuity factor": lambda r, n: r / (1 - (1 + r) ** -n),
    "present value": lambda r, n: (1 - (1 + r) ** -n) / r,
    "of an inverse": lambda r, n: (1 - 1 / (r + 1) ** n) / r,
    "of a quotient": lambda r, n: ((1 + r) ** n - 1) / (r * (1 + r) ** n),
    "future value": lambda r, n: 100 * ((r + 1) ** n - 1) / r,
    "sinking fund": lambda r, n: r / ((1 + r) ** n - 1),
    "payment": lambda r, n: 1000 * r * (1 + r) ** n / ((1 + r) ** n - 1),
    "monthly": lambda r, n: (r / 16) / (1 - (1 + r / 16) ** (-16 * n)),
    "in advance": lambda r, n: (1 + r) * (1 - (1 + r) ** -n) / r,
}
POINTS = [(1e-15, 12.0), (1e-7, 360.0), (0.003, 300.0), (0.05, 30.0), (0.8, 0.7), (3.0, 20.0)]


@pytest.mark.parametrize("name", SPELLINGS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_value_and_slopes(name: str, dtype: Any) -> None:
    function = SPELLINGS[name]
    both = gradc.compile(gradc.value_and_grad(function, (0, 1)))
    eps = float(np.finfo(dtype).eps)
    with mpmath.workdps(60):
        for point in POINTS:
            r, n = map(dtype, point)
            value, slopes = both(r, n)
            exact = mpmath.mpf(float(r)), mpmath.mpf(float(n))
            wanted = [function(*exact)]
            wanted += [mpmath.diff(function, exact, order) for order in ((1, 0), (0, 1))]
            # an exponential magnifies the rounding of its exponent
            room = 24 + 4 * abs(float(n * np.log1p(r)))
            found = [float(each) for each in (value, *slopes)]
            np.testing.assert_allclose(found, [float(each) for each in wanted], rtol=room * eps)


def test_edges() -> None:
    def function(x: Any, y: Any) -> Any:
        return ((1 + x) ** y - 1) / x

    both = gradc.compile(gradc.value_and_grad(function, (0, 1)))
    # no rate; an exponent that underflows; a power of zero and of a negative number
    for x, y, value, by_x in (
        (0.0, 3.0, 3.0, 3.0),
        (1e-300, 1e-20, 1e-20, -0.5e-20),
        (-1.0, 2.0, 1.0, 1.0),
        (-1.0, 1.0, 1.0, 0.0),
        (-3.0, 3.0, 3.0, -3.0),
    ):
        found, slopes = both(x, y)
        np.testing.assert_allclose([found, slopes[0]], [value, by_x], rtol=1e-15)


def test_growth_that_overflows_has_no_share() -> None:
    payment = gradc.compile(gradc.value_and_grad(SPELLINGS["payment"], (0, 1)))
    value, slopes = payment(0.5, 1e4)
    np.testing.assert_allclose([value, *slopes], [500, 1000, 0], atol=1e-300)
    sinking = gradc.compile(gradc.grad(SPELLINGS["sinking fund"], (0, 1)))
    np.testing.assert_array_equal(sinking(0.5, 1e4), (0, 0))
