"""Python's math module and number types in traced code: right values, gradients and types."""

from __future__ import annotations

import collections
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.testing import check_grads

X = np.array([0.5, 1.25, 2.0])
SCALE = 3.0

OF_MATH: dict[str, Callable[[Any], Any]] = {
    "elementary": lambda x: math.sin(x) + math.exp(x) * math.log(x) - math.sqrt(x) + math.atan(x),
    "hyperbolic": lambda x: math.sinh(x) + math.acosh(x + 1) + math.atanh(x / 3) + math.tanh(x),
    "inverse": lambda x: math.asin(x / 3) + math.acos(x / 3) + math.atan2(x, 2) + math.asinh(x),
    "log": lambda x: math.log(x, 10) + math.log(10, x) + math.log2(x) + math.log10(x),
    "small": lambda x: math.log1p(x) + math.expm1(x) + math.cbrt(x) + math.exp2(x),
    "angles": lambda x: math.degrees(x) + math.radians(x) + math.pi * x + math.tau,
    "pow": lambda x: math.pow(x, 3) + math.pow(2, x) + math.fabs(-x) + math.copysign(x, -1),
    "hypot": lambda x: math.hypot(x, 3, 2 * x) + math.hypot(x) + math.dist([x, 0], (1, 2.0)),
    "sums": lambda x: (
        math.fsum([x, 1e16, -1e16, x]) + math.prod([x, x, 3]) + math.prod([x], start=2)
    ),
    "special": lambda x: math.erf(x) + math.erfc(x) + math.gamma(x) + math.lgamma(x + 1),
    "rounding": lambda x: x * (math.floor(x) + math.ceil(x) + math.trunc(x) + round(x)),
    "parts": lambda x: math.modf(x)[0] * 2 + math.fmod(x, 0.7) + math.ldexp(x, 3),
    "questions": lambda x: np.where(math.isclose(x, 5.0), x, 2 * x) + x * math.isfinite(x),
    "known": lambda x: x * math.factorial(4) + math.gcd(4, 6) + math.comb(5, 2),
}


@pytest.mark.parametrize("name", OF_MATH)
def test_math_of_a_number(name: str) -> None:
    function = OF_MATH[name]
    compiled = gradc.compile(function)
    for x in (1.3, np.float64(1.3)):
        np.testing.assert_allclose(compiled(x), function(x), rtol=4e-15)
    check_grads(function, (1.3,))


def test_math_refuses_arrays_and_says_what_else_to_write() -> None:
    with pytest.raises(gradc.TraceError, match="takes numbers, not arrays"):
        gradc.compile(lambda x: math.sin(x))(X)
    with pytest.raises(gradc.TraceError, match=r"gradc\.special\.comb\(n, k\)"):
        gradc.compile(lambda x: math.comb(5, x[0]))(np.array([2, 3]))


def test_a_float_of_a_traced_number_is_weak() -> None:
    single = X.astype(np.float32)
    function = lambda x: x * float(x[0]) * math.sin(x[1])  # noqa: E731
    assert gradc.compile(function)(single).dtype == function(single).dtype == np.float32
    whole = lambda x, n: np.arange(3, dtype=np.int32) * int(x[0]) * bool(n)  # noqa: E731
    assert gradc.compile(whole)(X, 2).dtype == np.int32


def test_number_types_stay_types() -> None:
    def function(x):
        named = {float: 1.0, int: 2.0, bool: 3.0}
        kinds = [type(SCALE) is float, type(len(x)) is int, type(x[0]) is np.float64, int | None]
        assert all(kinds)
        assert isinstance(1.5, int | float)
        assert issubclass(bool, int)
        assert not isinstance(1.5, int)
        match 2.0:
            case int():
                scale = 1.0
            case float():
                scale = 5.0
        zeros = np.zeros(2, dtype=float) + np.ones(2, int) + np.array([True], bool)
        empty = collections.defaultdict(float)
        return (
            np.sum(x) * named[type(len(x))] * scale * np.sum(zeros)
            + empty["a"]
            + float("inf") * 0.0
        )

    plain = lambda x: np.sum(x) * 40.0 + np.nan  # noqa: E731
    np.testing.assert_allclose(gradc.compile(function)(X), plain(X))
