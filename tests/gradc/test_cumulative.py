"""Running sums, products and extremes: NumPy's bits in any size, and derivatives with zeros."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.testing import check_grads
from gradc.tracing import trace
from gradc_ir.errors import GradcError
from gradc_ir.interpreter.interpret import interpret
from tests.comparing import assert_same_bits

DTYPES = (np.float64, np.float32, np.int64, np.int32, np.bool_)
NAN, INF = np.nan, np.inf


def random(*shape: int, dtype: Any = np.float64) -> np.ndarray:
    return (np.random.default_rng(0).normal(size=shape) * 2).astype(dtype)


def assert_like_numpy(function: Callable[..., Any], x: np.ndarray) -> None:
    """Interpreted and compiled, a function gives NumPy's bits."""
    with np.errstate(all="ignore"):
        expected = function(x.copy())
    (interpreted,) = interpret(trace(function, (x,)).function, [x])
    assert_same_bits(interpreted, np.asarray(expected))
    assert_same_bits(np.asarray(gradc.compile(function)(x)), np.asarray(expected))


RUNNING: dict[str, Callable[[Any], Any]] = {
    "cumsum": lambda x: np.cumsum(x),
    "cumsum of columns": lambda x: x.cumsum(axis=0),
    "cumsum in another dtype": lambda x: np.cumsum(x, 1, dtype=np.float32),
    "cumprod": lambda x: np.cumprod(x),
    "cumprod of rows": lambda x: x.cumprod(-1),
    "nancumsum": lambda x: np.nancumsum(x, 0),
    "nancumprod": lambda x: np.nancumprod(x, 1),
    "cumulative_sum": lambda x: np.cumulative_sum(x, axis=1, include_initial=True),
    "cumulative_prod": lambda x: np.cumulative_prod(x, axis=0, include_initial=True),
    "add": lambda x: np.add.accumulate(x),
    "multiply": lambda x: np.multiply.accumulate(x, axis=1),
    "maximum": lambda x: np.maximum.accumulate(x, axis=1),
    "minimum": lambda x: np.minimum.accumulate(x, axis=0),
    "fmax": lambda x: np.fmax.accumulate(x, axis=1),
    "fmin": lambda x: np.fmin.accumulate(x, axis=1),
}


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.__name__)
@pytest.mark.parametrize("name", RUNNING)
def test_values(name: str, dtype: Any) -> None:
    assert_like_numpy(RUNNING[name], random(3, 40, dtype=dtype))


# NumPy does not say which of 0.0 and -0.0 is larger
@pytest.mark.parametrize("name", sorted(RUNNING.keys() - {"maximum", "minimum", "fmax", "fmin"}))
def test_special_values(name: str) -> None:
    assert_like_numpy(RUNNING[name], np.array([[-0.0, 1, NAN, 0, 2], [-0.0, -0.0, 3, -INF, INF]]))


@pytest.mark.parametrize("dtype", DTYPES[:4], ids=lambda d: d.__name__)
@pytest.mark.parametrize("function", [np.cumsum, np.cumprod], ids=lambda f: f.__name__)
def test_one_function_serves_every_size(function: Any, dtype: Any) -> None:
    compiled = gradc.compile(lambda x: function(x))
    for size in (5, 0, 1, 300):
        x = random(size, dtype=dtype)
        assert_same_bits(compiled(x), function(x))


def test_initial_elements_in_any_size() -> None:
    compiled = gradc.compile(lambda x: np.cumulative_sum(x, include_initial=True))
    for size in (5, 0, 1):
        x = random(size)
        assert_same_bits(compiled(x), np.cumulative_sum(x, include_initial=True))


@pytest.mark.parametrize("name", sorted(RUNNING.keys() - {"cumsum in another dtype"}))
def test_gradients(name: str) -> None:
    function = RUNNING[name]
    check_grads(function, (random(2, 4),))
    check_grads(lambda x: np.sin(function(x)), (random(2, 4),), order=2)


def test_gradients_of_sums_of_logs() -> None:
    check_grads(lambda x: np.logaddexp.accumulate(x), (random(5),), order=2)


def test_gradients_of_running_extremes_go_to_the_first_best() -> None:
    x = np.array([1.0, 3, 2, 3, 4, NAN, 5])
    weights = 10.0 ** np.arange(7)
    for name, wanted in [
        ("maximum", [1, 1110, 0, 0, 10000, 1100000, 0]),
        ("fmax", [1, 1110, 0, 0, 110000, 0, 1000000]),
        ("minimum", [11111, 0, 0, 0, 0, 1100000, 0]),
        ("fmin", [1111111, 0, 0, 0, 0, 0, 0]),
    ]:
        total = gradc.compile(lambda x: getattr(np, name).accumulate(x) @ weights)  # noqa: B023
        np.testing.assert_array_equal(total.grad(x), wanted)


# -- products with zeros ---------------------------------------------------------------------------

ZEROS = [[2.0, 3, 4, 5], [0.0, 3, 4, 5], [2.0, 0, 4, 0], [0.0, 0, 4, 0]]


def products(x: np.ndarray, without: tuple[int, ...]) -> np.ndarray:
    """Return the derivatives of running products in some elements, by leaving these out."""
    kept = np.array([1.0 if i in without else number for i, number in enumerate(x)])
    return np.where(np.arange(x.size) >= max(without), np.cumprod(kept), 0.0)


@pytest.mark.parametrize("row", ZEROS, ids=str)
def test_running_products_with_zeros(row: list[float]) -> None:
    x = np.array(row)
    weights = np.array([1.0, 10, 100, 1000])
    total = gradc.compile(lambda x: np.sum(weights * np.cumprod(x)))
    wanted = [weights @ products(x, (i,)) for i in range(4)]
    np.testing.assert_allclose(total.grad(x), wanted)
    pushed = [total.jvp((x,), (direction,))[1] for direction in np.eye(4)]
    np.testing.assert_allclose(pushed, wanted)
    second = [[0 if i == j else weights @ products(x, (i, j)) for j in range(4)] for i in range(4)]
    np.testing.assert_allclose(total.hessian(x), second)


def test_gradient_of_a_product_is_linear_in_its_size() -> None:
    function = gradc.compile(lambda x: np.prod(x))
    x = np.linspace(0.9, 1.1, 4001)
    np.testing.assert_allclose(function.grad(x), np.prod(x) / x, rtol=1e-12)


# -- what meets no cotangent stays zero ------------------------------------------------------------

MASKED = [
    (lambda x: np.cumprod(x)[0], [1.0, INF, NAN], [1, 0, 0]),
    (lambda x: np.cumprod(x)[1], [3.0, 2, NAN], [2, 3, 0]),
    (lambda x: np.cumsum(x)[1], [1.0, 2, NAN], [1, 1, 0]),
    (lambda x: np.max(np.cumprod(x)), [1.0, 2, -INF], [2, 1, 0]),
    (lambda x: np.sum(np.where(x > 0, np.cumprod(x), 0.0)), [2.0, 3, -INF], [4, 2, 0]),
    (lambda x: np.cumprod(np.where(x < 5, x, 1 / (x - 5)))[1], [2.0, 3, 5], [3, 2, 0]),
]  # fmt: skip


@pytest.mark.parametrize(("function", "at", "wanted"), MASKED)
def test_masked(function: Any, at: Any, wanted: Any) -> None:
    np.testing.assert_array_equal(gradc.compile(function).grad(np.array(at)), wanted)


def test_running_sums_of_several_axes_are_an_error() -> None:
    with pytest.raises(GradcError, match="needs axis="):
        gradc.compile(lambda x: np.cumulative_sum(x))(random(2, 2))


@pytest.mark.parametrize("name", ["maximum", "fmin", "logaddexp"])
def test_any_length_is_one_kernel(name: str) -> None:
    function = getattr(np, name)
    compiled = gradc.compile(lambda x: function.accumulate(x, axis=-1))
    for length in (9, 7, 30, 2, 1):
        x = random(length)
        x[length // 2] = np.nan
        np.testing.assert_allclose(compiled(x), function.accumulate(x), rtol=1e-14)
    assert len(compiled.signatures) <= 3
    rows = random(3, 12)
    np.testing.assert_allclose(compiled(rows), function.accumulate(rows, axis=-1), rtol=1e-14)


def test_slopes_of_a_fall_from_the_highest_point() -> None:
    def fall(x):
        return np.max(np.maximum.accumulate(x) - x)

    check_grads(fall, (random(40),), order=2)
