"""What the tests of linear algebra share: matrices to try, and the check of one function."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

import numpy as np
import pytest

from gradc.testing import check_grads
from gradc.tracing import trace
from gradc_ir.interpreter.interpret import interpret

DTYPES = (np.float64, np.float32)
each_dtype = pytest.mark.parametrize(
    "dtype", [np.float64, pytest.param(np.float32, marks=pytest.mark.slow)]
)


def general(*shape: int, seed: int = 0) -> np.ndarray:
    """Return random matrices, square ones far enough from singular ones."""
    x = np.random.default_rng(seed).normal(size=shape)
    if len(shape) > 1 and shape[-1] == shape[-2]:
        x = x + 2 * np.eye(shape[-1])
    return x


def positive(*shape: int, seed: int = 0) -> np.ndarray:
    """Return random positive definite matrices."""
    x = np.random.default_rng(seed).normal(size=shape)
    return x @ np.swapaxes(x, -1, -2) / max(shape[-1], 1) + np.eye(shape[-1])


def symmetric(x: Any) -> Any:
    """Return the symmetric part, of traced matrices too."""
    return (x + np.swapaxes(x, -1, -2)) / 2


def to_orders(cases: Iterable[Any], second: Collection[Any]) -> list[Any]:
    """Return cases with the order up to which derivatives are checked.

    Second derivatives of those that are not among ``second`` are slow: they are of the same code.
    """
    found = []
    for case in cases:
        if case in second:
            found.append(pytest.param(case, 2))
        else:
            found += [pytest.param(case, 1), pytest.param(case, 2, marks=pytest.mark.slow)]
    return found


def flat(result: Any) -> list[Any]:
    """Return the arrays of a nest of results."""
    if isinstance(result, tuple | list):
        return [leaf for part in result for leaf in flat(part)]
    return [np.asarray(result)]


def recorded(function: Callable[..., Any], *args: Any) -> list[Any]:
    """Trace with these arguments, interpret the graph, and return its results."""
    traced = trace(function, args)
    hidden = [capture.read() for capture in traced.captures]
    return list(interpret(traced.function, [*map(np.asarray, args), *hidden]))


def assert_function(
    function: Callable[..., Any],
    *args: Any,
    dtype: Any = np.float64,
    order: int = 2,
    accuracy: float = 2000,
) -> None:
    """Compare values, shapes and dtypes with NumPy's, and derivatives with differences.

    ``accuracy`` is a tolerance in units of rounding; ``order=0`` checks the value only. First
    derivatives are checked in both modes, second ones for float64.
    """
    given = [np.asarray(x).astype(dtype) if np.asarray(x).dtype.kind == "f" else x for x in args]
    with np.errstate(all="ignore"):
        expected = flat(function(*given))
    found = recorded(function, *given)
    assert [x.shape for x in found] == [x.shape for x in expected]
    assert [x.dtype for x in found] == [x.dtype for x in expected]
    for have, want in zip(found, expected):
        if want.dtype.kind != "f":
            np.testing.assert_array_equal(have, want)
            continue
        tolerance = accuracy * np.finfo(want.dtype if dtype is np.float64 else dtype).eps
        np.testing.assert_allclose(have, want, rtol=tolerance, atol=tolerance)
    if order:
        check_grads(function, given, order=order if dtype is np.float64 else 1)
