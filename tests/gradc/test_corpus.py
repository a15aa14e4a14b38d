"""A regression corpus: where other tools gave nan, a wrong zero, or refused.

Each name is a row of the corpus table. Value, first and second derivative are asked for where they
exist, by both modes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import gradc
from tests.comparing import assert_accurate, assert_same_bits

Function = Callable[..., Any]


def first(f: Function, x: Any) -> Any:
    """Return the first derivative of a scalar function, checked to be the same by both modes."""
    reverse = gradc.grad(f)(x)
    forward = gradc.jvp(f, (x,), (1.0,))[1]
    assert_same_bits(forward, reverse)
    return reverse


def second(f: Function, x: Any) -> Any:
    """Return the second derivative of a scalar function, by reverse over reverse."""
    return gradc.grad(gradc.grad(f))(x)


@pytest.mark.parametrize(
    ("f", "x", "value", "slope", "curvature"),
    [
        pytest.param(
            lambda x: np.where(x > 0, np.log(x), 0.0), 0.0, 0.0, 0.0, 0.0, id="f01-log-at-zero"
        ),
        pytest.param(
            lambda x: np.where(x >= 0, x, np.sqrt(-x)), 1.0, 1.0, 1.0, 0.0, id="f02-root-other-side"
        ),
        pytest.param(
            lambda x: np.where(x > 0, x**0.5, 0.0), -1.0, 0.0, 0.0, 0.0, id="f05-power-at-minus-one"
        ),
        pytest.param(
            lambda x: np.where(x > 0, x**0.5, 0.0),
            -3.0,
            0.0,
            0.0,
            0.0,
            id="f05-power-at-minus-three",
        ),
        pytest.param(
            lambda x: np.where(x > 0, np.sqrt(x), 0.0),
            -1.0,
            0.0,
            0.0,
            0.0,
            id="f06-root-at-minus-one",
        ),
        pytest.param(
            lambda x: np.where(x > 0, np.sqrt(x), 0.0), 0.0, 0.0, 0.0, 0.0, id="f06-root-at-zero"
        ),
        pytest.param(
            lambda x: np.where(x > 0, np.sqrt(x), 0.0), 1.0, 1.0, 0.5, -0.25, id="f06-root-at-one"
        ),
        pytest.param(
            lambda x: np.where(x == 0, 0, x * np.sqrt(x)),
            0.0,
            0.0,
            0.0,
            0.0,
            id="f08-guarded-at-zero",
        ),
        pytest.param(
            lambda x: 0 * np.sqrt(x), 0.0, 0.0, 0.0, 0.0, id="a-literal-zero-times-a-root"
        ),
    ],
)
def test_branches_that_were_not_taken(
    f: Function, x: float, value: float, slope: float, curvature: float
) -> None:
    assert gradc.compile(f)(x) == value
    assert first(f, x) == slope
    assert second(f, x) == curvature


def test_f03_a_row_of_zeros_under_a_root() -> None:
    def f(x):
        r = np.sqrt((x**2).sum(1))
        return np.sum(np.where(r > 0.5, r, 1))

    x = np.array([[1.0, 2.0], [3.0, 4.0], [0.0, 0.0]])
    found = gradc.grad(f)(x)
    np.testing.assert_allclose(found[:2], x[:2] / np.sqrt((x[:2] ** 2).sum(1))[:, None], rtol=1e-15)
    assert found[2].tolist() == [0, 0]
    assert np.all(np.isfinite(gradc.hessian(f)(x)))


def test_f04_arctan2_at_the_origin() -> None:
    t = np.array([0.0, 1.0, 0.0])

    def f(a):
        return np.sum(np.where(t > 0.5, 0.0, np.arctan2(a, a)))

    a = np.array([3.0, 0.0, -5.0])
    assert gradc.grad(f)(a)[1] == 0.0
    np.testing.assert_allclose(gradc.grad(f)(a), 0, atol=1e-17)
    assert np.all(np.isfinite(gradc.hessian(f)(a)))


def test_f07_the_norm_of_zero() -> None:
    f = lambda y: 0.5 * np.linalg.norm(y - np.array([1.0, 2.0])) ** 2  # noqa: E731
    y = np.array([1.0, 2.0])
    assert gradc.compile(f)(y) == 0.0
    assert gradc.grad(f)(y).tolist() == [0, 0]
    np.testing.assert_allclose(gradc.grad(f)(y + 1.0), [1, 1], rtol=1e-15)


def test_f09_a_power_where_it_is_positive() -> None:
    def f(x):
        d = np.array([0, 1]) * x
        return np.where(d > 0, d**0.5, 0).sum()

    assert gradc.compile(f)(1.0) == 1.0
    assert first(f, 1.0) == 0.5
    assert second(f, 1.0) == -0.25


def test_f09_a_sum_over_where_it_is_positive() -> None:
    def f(x):
        d = np.array([0, 1]) * x
        return (d**0.5)[d > 0].sum()

    assert gradc.compile(f)(1.0) == 1.0
    assert first(f, 1.0) == 0.5
    assert second(f, 1.0) == -0.25
    assert gradc.compile(f)(-1.0) == 0.0
    assert first(f, -1.0) == 0.0


@pytest.mark.parametrize("x", [-40.0, 40.0, -800.0, 800.0, 0.0])
def test_f10_log_of_one_plus_exp(x: float) -> None:
    def f(x):
        return np.log(1 + np.exp(x))

    with mpmath.workdps(400):
        exact = mpmath.mpf(x)
        assert_accurate(gradc.compile(f)(x), mpmath.log(1 + mpmath.exp(exact)))
        slope = 1 / (1 + mpmath.exp(-exact))
        assert_accurate(first(f, x), slope)
        assert_accurate(second(f, x), slope * (1 - slope))


def test_f10_log_of_one_plus_exp_in_single_precision() -> None:
    x = np.float32(100)
    found = gradc.value_and_grad(lambda x: np.log(1 + np.exp(x)))(x)
    assert_same_bits(found[0], x)
    assert_same_bits(found[1], np.float32(1))


@pytest.mark.parametrize("x", [[1000.0, 1000.0], [-1000.0, -1001.0], [0.0, -800.0]])
def test_f12_log_of_a_sum_of_exponentials(x: list[float]) -> None:
    def f(x):
        return np.log(np.sum(np.exp(x)))

    x = np.array(x)
    shifted = np.exp(x - x.max())
    softmax = shifted / shifted.sum()
    value, gradient = gradc.value_and_grad(f)(x)
    assert value == pytest.approx(x.max() + np.log(shifted.sum()), rel=1e-15)
    np.testing.assert_allclose(gradient, softmax, rtol=1e-14)
    wanted = np.diag(softmax) - np.outer(softmax, softmax)
    np.testing.assert_allclose(gradc.hessian(f)(x), wanted, rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize(
    ("x", "y"), [(0.0, 0.0), (1000.0, 999.0), (-1000.0, -1000.0), (0.0, -800.0)]
)
def test_f14_log_of_a_sum_of_two_exponentials(x: float, y: float) -> None:
    def f(x, y):
        return np.log(np.exp(x) + np.exp(y))

    value, (by_x, by_y) = gradc.value_and_grad(f, wrt=(0, 1))(x, y)
    with mpmath.workdps(500):
        assert_accurate(value, mpmath.log(mpmath.exp(x) + mpmath.exp(y)))
        assert_accurate(by_x, 1 / (1 + mpmath.exp(mpmath.mpf(y) - x)))
        assert_accurate(by_y, 1 / (1 + mpmath.exp(mpmath.mpf(x) - y)))


@pytest.mark.parametrize(
    ("f", "x", "slope"),
    [
        pytest.param(np.abs, 0.0, 0.0, id="abs-at-zero"),
        pytest.param(np.abs, -0.0, 0.0, id="abs-at-minus-zero"),
        pytest.param(lambda x: x**2 / x, -0.5, 1.0, id="square-over-itself"),
        pytest.param(lambda x: np.maximum(x, 0.0), 0.0, 0.5, id="maximum-at-a-tie"),
        pytest.param(lambda x: np.clip(x, 0.0, 1.0), 0.0, 1.0, id="clip-at-its-end"),
        pytest.param(np.sign, 0.0, 0.0, id="sign-at-zero"),
    ],
)
def test_f14_conventions(f: Function, x: float, slope: float) -> None:
    assert gradc.grad(lambda x: f(x))(x) == slope


def test_f15_assignment_of_traced_values() -> None:
    def f(b):
        c = np.zeros(2)
        c[0] = b[0] * b[0]
        c[1] = b[1] * b[0] + b[2]
        return c

    b = np.array([1.0, 2.0, 2.0])
    assert gradc.compile(f)(b).tolist() == [1, 4]
    for mode in ("forward", "reverse"):
        assert gradc.jacobian(f, mode=mode)(b).tolist() == [[2, 0, 0], [2, 1, 1]]
    second = gradc.jacobian(gradc.jacobian(f))(b)
    assert second[0].tolist() == [[2, 0, 0], [0, 0, 0], [0, 0, 0]]
    assert second[1].tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]


def test_f16_assignment_into_a_block() -> None:
    def f(a):
        b = np.zeros((4, 4))
        b[:2, :2] = a
        return b.sum()

    assert gradc.grad(f)(np.eye(2)).tolist() == [[1, 1], [1, 1]]


def test_f17_assignment_in_a_loop() -> None:
    def f(p):
        res = np.zeros(5)
        for m in range(5):
            res[m] = np.sum(p[m] * p[0])
        return np.sum(res * np.arange(1.0, 6.0))

    def vectorised(p):
        return np.sum((p @ p[0]) * np.arange(1.0, 6.0))

    p = np.random.default_rng(0).normal(size=(5, 3))
    np.testing.assert_allclose(gradc.grad(f)(p), gradc.grad(vectorised)(p), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(
        gradc.hessian(f)(p), gradc.hessian(vectorised)(p), rtol=1e-13, atol=1e-14
    )


def test_f19_the_gradient_of_a_product_of_eight_takes_few_multiplications() -> None:
    def f(x):
        product = x[0]
        for i in range(1, 8):
            product = product * x[i]
        return product

    x = np.arange(1.0, 9.0)
    compiled = gradc.compile(f)
    np.testing.assert_allclose(compiled.grad(x), 40320.0 / x, rtol=1e-15)
    graph = compiled.ir("x: f64[8]", of="value_and_grad")
    assert [node.op.name for node in graph.nodes].count("mul") <= 19


def test_f20_a_difference_of_squares_is_exactly_zero() -> None:
    def f(x, y):
        return y**2 - x**2

    random = np.random.default_rng(0).normal(size=1000)
    for x in (0.1, random):
        assert np.all(gradc.compile(f)(x, x) == 0.0)


def test_f21_nan_from_constants() -> None:
    def f(x):
        a = np.zeros(1) / np.zeros(1)
        return np.isnan(a + 0 * x)

    assert gradc.compile(f)(np.ones(1)).tolist() == [True]


def test_f22_a_masked_shift() -> None:
    def f(scores, mask):
        x = scores + (-1e30 * (1 - mask))
        return x - x.max()

    scores = np.array([0.7, 0.5], dtype=np.float32)
    mask = np.ones(2, dtype=np.float32)
    assert_same_bits(gradc.compile(f)(scores, mask), f(scores, mask))
    assert gradc.compile(f)(scores, mask)[1] == np.float32(0.5) - np.float32(0.7)


def test_f23_a_custom_gradient_called_with_keywords() -> None:
    @gradc.custom_gradient
    def product(x, y):
        return x * y, lambda upstream: (100 * upstream, 200 * upstream)

    assert gradc.grad(lambda x, y: product(x=x, y=y), wrt=(0, 1))(2.0, 3.0) == (100.0, 200.0)
    assert gradc.grad(lambda x, y: product(y=x, x=y), wrt=(0, 1))(2.0, 3.0) == (200.0, 100.0)
    assert gradc.grad(product, wrt=(0, 1))(y=3.0, x=2.0) == (100.0, 200.0)
