"""The behaviours of tf.autodiff.ForwardAccumulator's reference page, one test a row."""

from __future__ import annotations

import numpy as np
import pytest

import gradc
from tests.comparing import assert_same_bits

X = np.array([[2.0, 3.0], [1.0, 4.0]])


def loss(kernel, bias, targets):
    return np.sum((X @ kernel + bias - targets) ** 2.0)


@pytest.mark.parametrize(
    ("targets", "value", "kernel_grad", "bias_grad"),
    [
        (np.array([[1.0], [-1.0]]), 52.0, [28.0, 72.0], 20.0),
        # what the page prints, taken literally, broadcasts (2, 1) against (2,) to (2, 2)
        (np.array([1.0, -1.0]), 104.0, [60.0, 140.0], 40.0),
    ],
)
def test_b18_columns_by_forward_mode_rows_by_reverse(
    targets, value, kernel_grad, bias_grad
) -> None:
    kernel, bias = np.ones((2, 1)), np.zeros(1)
    found, (by_kernel, by_bias) = gradc.value_and_grad(loss, wrt=(0, 1))(kernel, bias, targets)
    assert found == value
    assert by_kernel.tolist() == [[kernel_grad[0]], [kernel_grad[1]]]
    assert by_bias.tolist() == [bias_grad]
    primals = (kernel, bias, targets)
    columns = [
        gradc.jvp(loss, primals, (np.array(column), None, None))[1]
        for column in ([[1.0], [0.0]], [[0.0], [1.0]])
    ]
    assert columns == kernel_grad
    assert gradc.jvp(loss, primals, (None, np.ones(1), None)) == (value, bias_grad)


def test_b19_tangents_have_the_nest_and_the_shapes_of_the_primals() -> None:
    def f(p):
        return np.sum(p["w"]) * p["b"]

    primal = {"w": np.ones(3), "b": 2.0}
    with pytest.raises(ValueError, match="p") as error:
        gradc.jvp(f, (primal,), ({"w": np.ones(4), "b": 1.0},))
    assert "(4,)" in str(error.value)
    assert "(3,)" in str(error.value)
    with pytest.raises(ValueError, match="nest"):
        gradc.jvp(f, (primal,), ({"w": np.ones(3)},))


def test_b21_none_is_a_zero_tangent() -> None:
    assert gradc.jvp(lambda x, y: x * y, (2.0, 3.0), (1.0, None)) == (6.0, 3.0)
    assert gradc.jvp(lambda x, y: x * y, (2.0, 3.0), (None, 1.0)) == (6.0, 2.0)


@pytest.mark.parametrize(
    ("dtype", "first", "second"),
    [
        (np.float32, 4.4417057, 10.094786),
        (np.float64, 4.441705472000592, 10.094785163637711),
    ],
)
def test_b22_forward_over_forward(dtype, first: float, second: float) -> None:
    def f(x):
        return x ** dtype(3.5)

    def pushed(x):
        return gradc.jvp(f, (x,), (dtype(1),))[1]

    inner, outer = gradc.jvp(pushed, (dtype(1.1),), (dtype(1),))
    assert inner.dtype == outer.dtype == dtype
    tolerance = 4 * float(np.finfo(dtype).eps)
    assert inner == pytest.approx(first, rel=tolerance)
    assert outer == pytest.approx(second, rel=tolerance)


def test_b23_no_perturbation_confusion() -> None:
    def f(x):
        return x * gradc.jvp(lambda y: x + y, (1.0,), (1.0,))[1]

    def g(x):
        return x * gradc.grad(lambda y: x + y)(1.0)

    for function in (f, g):
        assert gradc.jvp(function, (1.0,), (1.0,))[1] == 1.0
        assert gradc.grad(function)(1.0) == 1.0


def test_b23_nested_in_either_order_is_the_same_number() -> None:
    def f(x, y):
        return x**2 * y**3

    def by_x(x, y):
        return gradc.jvp(f, (x, y), (1.0, None))[1]

    def by_y(x, y):
        return gradc.jvp(f, (x, y), (None, 1.0))[1]

    one = gradc.jvp(by_x, (2.0, 3.0), (None, 1.0))[1]
    other = gradc.jvp(by_y, (2.0, 3.0), (1.0, None))[1]
    assert one == other == 108.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_b24_hessian_vector_product_forward_over_reverse(dtype) -> None:
    def f(v):
        return np.sum(v**3.0)

    v = np.array([1.0, 2.0], dtype=dtype)
    direction = np.array([1.0, 0.0], dtype=dtype)
    backward, product = gradc.jvp(gradc.grad(f), (v,), (direction,))
    assert_same_bits(backward, np.array([3, 12], dtype=dtype))
    assert_same_bits(product, np.array([6, 0], dtype=dtype))
    assert_same_bits(gradc.hvp(f, (v,), direction), np.array([6, 0], dtype=dtype))


def test_b25_an_unconnected_argument_has_a_zero_gradient() -> None:
    assert gradc.grad(lambda y, z: 2 * y, wrt=1)(1.0, 5.0) == 0.0
    assert gradc.jvp(lambda y, z: 2 * y, (1.0, 5.0), (None, 1.0))[1] == 0.0
    assert gradc.grad(lambda y, z: np.sum(y), wrt="z")(1.0, np.ones(3)).tolist() == [0, 0, 0]


def test_b26_a_second_call_returns_the_same_bits_and_compiles_nothing() -> None:
    f = gradc.compile(lambda x: np.sum(np.sin(x) * np.exp(x)))
    x, tangent = np.linspace(-1, 1, 1001), np.linspace(2, 3, 1001)
    first = f.jvp((x,), (tangent,))
    compilations = len(f.signatures)
    second = f.jvp((x,), (tangent,))
    assert_same_bits(second[0], first[0])
    assert_same_bits(second[1], first[1])
    assert len(f.signatures) == compilations == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_b28_the_tangent_has_dtype_and_shape_of_the_value(dtype) -> None:
    for x in (dtype(2), np.ones((3, 1), dtype), np.ones(0, dtype)):
        value, tangent = gradc.jvp(lambda x: x * 2.0, (x,), (np.ones_like(x),))
        assert np.asarray(value).dtype == np.asarray(tangent).dtype == dtype
        assert np.shape(value) == np.shape(tangent) == np.shape(x)
