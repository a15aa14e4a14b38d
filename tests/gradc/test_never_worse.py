"""No expression is computed less accurately with the stable rules than without them."""

from __future__ import annotations

import os
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.gradc.random_expressions import bits_of, expressions

pytestmark = pytest.mark.slow

EXAMPLES = int(os.environ.get("GRADC_EXAMPLES", "40"))
# The mean of an expression may lose so much: single points lose more where others gain.
ONE_BIT = 1.0

# What some rule made worse once, or could not do.
WORSE_ONCE = [
    "(x - x) + np.arctan(x)",
    "(np.tanh(x) - (x + x)) + (np.abs(2) - np.tanh(x))",
    "np.exp(np.tan(x) - np.expm1(x))",
    "np.log(1 + x) * x / ((1 + x) - 1)",
    "1 / (x * y)",
    "np.hypot(2, x) - np.hypot(x, y)",
    "x - 0.5 - np.hypot(x, 3)",
    "np.log(x / (3 + x))",
    "np.hypot(5, y - 2) * (2 * x / (x / x))",
    pytest.param(
        "np.tan(x / x / (x / x))",
        marks=pytest.mark.xfail(
            strict=False, reason="a constant: equal roundings, left alone, cancel to a slope of 0"
        ),
    ),
    "x / x * (x * x)",
]


def assert_not_worse(text: str, seed: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        found = bits_of(text, seed)
        if found is not None and found.loss > ONE_BIT:
            # a few points decide little
            found = bits_of(text, seed + 1, 40)
            assert found is None or found.loss <= ONE_BIT, f"{text}: {found}"


@settings(max_examples=EXAMPLES, deadline=None, derandomize=EXAMPLES <= 40)
@given(text=expressions(), seed=st.integers(0, 1000))
def test_random_expressions(text: str, seed: int) -> None:
    assert_not_worse(text, seed)


@pytest.mark.parametrize("text", WORSE_ONCE)
@pytest.mark.parametrize("seed", [1, 2])
def test_expressions_that_were_worse_once(text: str, seed: int) -> None:
    assert_not_worse(text, seed)
