"""The special functions and fences, traced and on plain arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from gradc import special
from gradc.tracing import trace
from gradc.tracing.record.primitives import exactly, stop_gradient
from gradc_ir.interpreter.interpret import interpret

POINTS = np.array([-1e4, -700.0, -40.0, -1.5, -1e-3, 0.0, 1e-3, 0.7, 40.0, 700.0, 1e4])
EXACT: dict[str, Callable[[Any], Any]] = {
    "softplus": lambda x: mpmath.log(1 + mpmath.exp(x)),
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "log_sigmoid": lambda x: -mpmath.log(1 + mpmath.exp(-x)),
    "logit": lambda p: mpmath.log(p / (1 - p)),
    "log1mexp": lambda x: mpmath.log(1 - mpmath.exp(x)),
}


def traced(function: Callable[..., Any], *args: Any) -> np.ndarray:
    (found,) = interpret(trace(function, args).function, args)
    return found


@pytest.mark.parametrize("name", EXACT)
def test_accurate_traced_and_plain(name: str) -> None:
    function = getattr(special, name)
    points = POINTS
    if name == "logit":
        points = np.array([1e-300, 1e-5, 0.2, 0.9, 1 - 1e-9])
    if name == "log1mexp":
        points = -np.abs(POINTS[POINTS != 0])
    plain = function(points)
    np.testing.assert_array_equal(traced(lambda x: function(x), points), plain, strict=True)
    with mpmath.workprec(20000):
        exact = np.array([float(EXACT[name](mpmath.mpf(float(x)))) for x in points])
    np.testing.assert_allclose(plain, exact, rtol=4 * np.finfo(float).eps, atol=0)


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1), -1])
def test_sums_of_exponentials(axis: Any) -> None:
    x = np.array([[1000.0, 1000.0, -5.0], [-1000.0, -1001.0, 2.0]])
    top = x.max(axis=axis, keepdims=True)
    expected = np.log(np.exp(x - top).sum(axis=axis, keepdims=True)) + top
    for keepdims in (False, True):
        wanted = expected if keepdims else np.squeeze(expected, axis)
        found = special.logsumexp(x, axis, keepdims)
        np.testing.assert_allclose(found, wanted, rtol=1e-14)
        again = traced(lambda x, keepdims=keepdims: special.logsumexp(x, axis, keepdims), x)
        np.testing.assert_allclose(again, wanted, rtol=1e-14)
    np.testing.assert_allclose(special.log_softmax(x, axis), x - expected, rtol=1e-14)
    np.testing.assert_allclose(traced(lambda x: special.softmax(x, axis), x), np.exp(x - expected))


def test_dtypes_numbers_and_broadcasting() -> None:
    assert special.softplus(np.float32(1)).dtype == np.float32
    assert special.softplus(1).dtype == np.float64
    assert isinstance(special.sigmoid(0.0), float)
    assert special.logaddexp(np.ones((3, 1)), np.ones(4)).shape == (3, 4)
    x = np.ones((3, 1), np.float32)
    found = traced(lambda x: special.logaddexp(x, [1.0, 2.0]), x)
    assert found.shape == (3, 2)
    assert traced(lambda x: special.softplus(x) * special.sigmoid(2.0), x).dtype == np.float64
    assert traced(lambda x: special.logsumexp(x), np.arange(3)).dtype == np.float64


def test_fences() -> None:
    function = trace(lambda x: exactly(x + 1) - stop_gradient(x), (2.0,)).function
    assert [node.op.name for node in function.body if node.op.scalar == "identity"] == [
        "exactly", "stop_gradient",
    ]  # fmt: skip
    assert exactly(2.5) == stop_gradient(2.5) == 2.5


def test_scipy_ufuncs_are_known_by_name() -> None:
    from scipy.special import expit

    x = np.linspace(-3, 3, 5)
    np.testing.assert_allclose(traced(lambda x: expit(x), x), expit(x), rtol=1e-15)
