"""Differences of values that share no term: their bits of error where the values are close."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import gradc
from gradc.rules.engine import Rule
from gradc.rules.final.close_values import RULES
from gradc.rules.final.difference_of_powers import difference_of_squares
from gradc.rules.verify.proof import prove
from gradc_ir.meaning.ulp_distance import bits_between

NAMES = ("exp", "log", "log1p", "log2", "log10", "sqrt")
NUMPY = {name: getattr(np, name) for name in NAMES}
WIDE: dict[str, Any] = {
    "exp": mpmath.exp, "log": mpmath.log, "sqrt": mpmath.sqrt, "log10": mpmath.log10,
    "log1p": lambda x: mpmath.log(1 + x), "log2": lambda x: mpmath.log(x) / mpmath.log(2),
}  # fmt: skip

BODIES = [
    "y / x - 1",
    "1 - y / x",
    "100 * (x / y) - 100",
    "log(y / x)",
    "2 * log(-3 * x / (-3 * y))",
    "log2(x / y)",
    "log10(x / y)",
    "log(x) - log(y)",
    "log1p(x) - log1p(y)",
    "sqrt(x) - sqrt(y)",
    "exp(x) - exp(y)",
    "exp(-x) - exp(-y)",
    "1 / (1 + exp(-x)) - 1 / (1 + exp(-y))",
    "1 / x - 1 / y",
    "1 / (1 / x - 1 / y)",
    "3 / x**2 - 3 / y**2",
    "x * x - y * y",
    "0.5 * 3 * (y**2 - x**2)",
    "x**3 - y**3",
    "x**4 - y**4",
    "x**2 - 4 * (y / 2)**2",
    "1 - (x / y)**2",
    "1 - x * x / (y * y)",
    "(x / y)**2 - 1",
    "(x - y) / (log(x) - log(y))",
    "(y - x) / log(y / x)",
]
WIDTHS = [0.0, 1e-15, 1e-9, 1e-3, 0.3, 30.0]


def function_of(body: str, names: dict[str, Any]) -> Callable[..., Any]:
    made: Callable[..., Any] = eval(f"lambda x, y: {body}", dict(names))
    return made


def truth(body: str, x: float, y: float) -> float:
    with mpmath.workprec(400):
        return float(function_of(body, WIDE)(mpmath.mpf(x), mpmath.mpf(y)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("body", BODIES)
def test_close_values_lose_no_digits(body: str, dtype: Any) -> None:
    is_nothing_over_nothing = "/ log" in body or "/ (log" in body or "/ (" in body[:5]
    widths = WIDTHS[1:] if dtype == np.float64 else WIDTHS[3:]
    widths = widths if is_nothing_over_nothing else [0.0, *widths]
    near = np.array([1.7, 0.3, 2.9], dtype=dtype)
    x = np.repeat(near, len(widths))
    y = x + np.tile(np.array(widths, dtype=dtype), len(near)) * x
    x, y = np.concatenate([x, y]), np.concatenate([y, x])
    expected = np.array([truth(body, float(a), float(b)) for a, b in zip(x, y)]).astype(dtype)
    computed = gradc.compile(function_of(body, NUMPY))(x, y)
    assert bits_between(computed, expected).max() < 3.2


@pytest.mark.parametrize("rule", [*RULES, difference_of_squares], ids=str)
def test_rules_are_proved(rule: Rule) -> None:
    prove(rule)


@pytest.mark.parametrize("body", BODIES)
def test_special_values_are_those_of_the_plain_difference(body: str) -> None:
    function = function_of(body, NUMPY)
    compiled = gradc.compile(function)
    for x in (0.0, 2.0, -2.0, np.inf):
        for y in (0.0, 3.0, -3.0, np.inf):
            with np.errstate(all="ignore"):
                expected = function(np.float64(x), np.float64(y))
            # which a closed form may have a number for, and logarithms of minus zero
            if np.isnan(expected) or (min(x, y) < 0 and not 0 < abs(x * y) < np.inf):
                continue
            np.testing.assert_allclose(compiled(x, y), expected, rtol=1e-13)


def test_what_is_gathered_is_given_if_its_source_is() -> None:
    x, places = np.array([1.0, 1.0 + 1e-9]), np.array([1, 0])
    found = gradc.compile(lambda x, y: np.log(x[places] / y))(x, x)
    np.testing.assert_allclose(found, np.log1p([1e-9, -1e-9 / (1 + 1e-9)]), rtol=1e-7)
    np.testing.assert_allclose(found, np.log1p((x[places] - x) / x), rtol=1e-15)


@pytest.mark.parametrize("size", [3, 4, 5])
def test_rounded_quotients_have_the_same_bits_whether_sizes_are_known(size: int) -> None:
    def function(x, y):
        # an index at the end of an axis of unknown size is a gather
        return np.log((x / y)[..., 0] / y)

    x = np.random.default_rng(0).uniform(1.0, 1.1, (size, 3))
    several = gradc.compile(function)
    for more in (1, 2):
        several(np.ones((size + more, 3 + more)), 1.05)
    np.testing.assert_array_equal(several(x, 1.05), gradc.compile(function)(x, 1.05))


def test_sigmoids_whose_arguments_share_a_term() -> None:
    def between(a, width):
        return 1 / (1 + np.exp(-(a + width))) - 1 / (1 + np.exp(-a))

    a, width = 12.0, 1e-9
    below = 1 / (1 + np.exp(-a))
    wanted = below * (1 / (1 + np.exp(a + width))) * np.expm1(width)
    np.testing.assert_allclose(gradc.compile(between)(a, width), wanted, rtol=1e-15)
