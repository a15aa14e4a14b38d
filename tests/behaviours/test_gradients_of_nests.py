"""The behaviours of Ivy's page on gradients, one test a row of the behaviour table."""

from __future__ import annotations

import numpy as np
import pytest

import gradc


def test_b29_gradients_of_one_entry_of_a_nest_of_results() -> None:
    x = {"a": np.array([1.0, 2.0, 3.0]), "b": np.array([1.0, 2.0, 3.0])}
    y = {"b": np.array([4.0, 5.0, 6.0]), "c": x}

    def func(x, y):
        return {key: np.mean(x[key] + y["b"]) for key in x}

    def first(x, y):
        result = func(x, y)
        return result["a"], result

    (_, ret), gradient = gradc.value_and_grad(first, has_aux=True)(x, y)
    assert ret == {"a": 7.0, "b": 7.0}
    assert gradient["a"].tolist() == [1 / 3, 1 / 3, 1 / 3]
    assert gradient["b"].tolist() == [0, 0, 0]


def test_b30_results_are_any_nest_of_scalars() -> None:
    def func(x):
        return [x * x, {"x": (4 * x + 1, 2 * x + 1)}, (x + 4,)]

    assert gradc.compile(func)(5.0) == [25.0, {"x": (21.0, 11.0)}, (9.0,)]
    assert gradc.jacobian(func)(5.0) == [10.0, {"x": (4.0, 2.0)}, (1.0,)]


def test_b30_a_vector_is_no_value_to_take_a_gradient_of() -> None:
    with pytest.raises(ValueError, match="jacobian"):
        gradc.grad(lambda x: 2 * x)(np.ones(3))


@pytest.mark.parametrize("rank", range(5))
def test_b31_arguments_of_any_rank(rank: int) -> None:
    x = np.arange(1.0, 1.0 + 2**rank).reshape((2,) * rank)
    value, gradient = gradc.value_and_grad(lambda x: np.sum(x * x))(x)
    assert value == np.sum(x * x)
    assert np.shape(gradient) == x.shape
    assert np.all(gradient == 2 * x)


def test_b32_the_same_array_twice_is_two_arguments() -> None:
    x = np.array([1.0, 2.0, 3.0])

    def f(x, y):
        return np.sum(x * y)

    one, other = gradc.grad(f, wrt=(0, 1))(x, x)
    assert one.tolist() == other.tolist() == [1, 2, 3]


def test_b33_an_integer_argument_is_refused() -> None:
    with pytest.raises(TypeError, match="int64"):
        gradc.grad(lambda x: np.mean(x))(np.array([1, 2, 3]))


def test_b34_a_gradient_that_is_infinite_or_nan_stays_so() -> None:
    assert gradc.grad(lambda x: np.sqrt(x))(0.0) == np.inf
    assert np.isnan(gradc.grad(lambda x: np.sqrt(x))(-1.0))


def test_b35_a_rule_that_reads_input_result_and_upstream() -> None:
    @gradc.custom_gradient
    def inter_func(xs):
        ret = np.log1p(np.exp(xs))

        def custom_grad_fn(upstream):
            return upstream * (1 - 10 / (1 + xs))

        return ret, custom_grad_fn

    ret, grad = gradc.value_and_grad(lambda x: np.sum(inter_func(x) ** 2))(50.0)
    assert ret == pytest.approx(2500.0, rel=1e-15)
    assert grad == pytest.approx(80.3921568627451, rel=1e-14)


def test_b36_arguments_are_left_as_they_were() -> None:
    x = np.array([1.0, 2.0, 3.0])
    x.setflags(write=False)
    before = x.tobytes()

    def f(x):
        x[0] = 5.0
        x *= 2
        return np.sum(x * x)

    value, gradient = gradc.value_and_grad(f)(x)
    assert value == 152.0
    assert gradient.tolist() == [0, 16, 24]
    assert x.tobytes() == before


def test_b37_value_and_gradient_come_from_one_graph() -> None:
    f = gradc.compile(lambda x: np.exp(np.sin(x)))
    both = f.ir("x: f64", of="value_and_grad")
    assert [node.op.name for node in both.nodes].count("exp") == 1
    assert f.value_and_grad(0.0) == (1.0, 1.0)
