"""The behaviours of Ivy's page on gradients, one test or more a row of the behaviour table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.compat.ivy import bind_custom_gradient_function, execute_with_gradients
from gradc_ir.interpreter.interpret import interpret, watched
from tests.comparing import assert_same_bits

both_dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@both_dtypes
def test_b29_gradients_of_one_entry_of_a_nest_of_results(dtype: Any) -> None:
    x = {"a": np.array([1.0, 2.0, 3.0], dtype), "b": np.array([1.0, 2.0, 3.0], dtype)}
    y = {"b": np.array([4.0, 5.0, 6.0], dtype), "c": x}

    def func(xs):
        return {key: np.mean(xs[0][key] + xs[1]["b"]) for key in xs[0]}

    def first(xs):
        result = func(xs)
        return result["a"], result

    third = np.full(3, 1 / 3, dtype)
    # the page's call is cut off; the two arguments are those of the page it was taken from
    ret, grads = execute_with_gradients(func, [x, y], xs_grad_idxs=[[0]], ret_grad_idxs=[["a"]])
    (_, same), gradient = gradc.value_and_grad(first, has_aux=True)([x, y])
    for found, by in ((ret, grads), (same, gradient[0])):
        assert found == {"a": 7.0, "b": 7.0}
        assert_same_bits(by["a"], third)
        assert_same_bits(by["b"], np.zeros(3, dtype))  # there is no path from it to ret.a
    none = gradc.grad(lambda x, y: np.mean(x["a"]), unconnected="none")(x, y)
    assert_same_bits(none["a"], third)
    assert none["b"] is None


def nest_of_scalars(x):
    return [x * x, {"x": (4 * x + 1, 2 * x + 1)}, (x + 4,)]


def test_b30_results_are_any_nest_of_scalars() -> None:
    values = [25.0, {"x": (21.0, 11.0)}, (9.0,)]
    assert gradc.compile(nest_of_scalars)(5.0) == values
    assert gradc.jacobian(nest_of_scalars)(5.0) == [10.0, {"x": (4.0, 2.0)}, (1.0,)]
    ret, grads = execute_with_gradients(nest_of_scalars, 5.0)
    assert ret == values
    assert grads == {"0": 10.0, "1_x_0": 4.0, "1_x_1": 2.0, "2_0": 1.0}
    assert execute_with_gradients(lambda x: x * x, 5.0) == (25.0, 10.0)


def test_b30_a_vector_is_no_value_to_take_a_gradient_of() -> None:
    with pytest.raises(ValueError, match=r"gradc\.jacobian.* or choose a cotangent"):
        gradc.grad(lambda x: 2 * x)(np.ones(3))
    with pytest.raises(ValueError, match=r"the gradient of ret\.s\[1\] needs a scalar") as error:
        execute_with_gradients(lambda x: {"s": [np.sum(x), 2 * x]}, np.ones(3))
    assert "gradc.jacobian, or choose a cotangent" in str(error.value)


@both_dtypes
@pytest.mark.parametrize("rank", range(5))
def test_b31_arguments_of_any_rank(rank: int, dtype: Any) -> None:
    x = np.arange(1.0, 1.0 + 2**rank, dtype=dtype).reshape((2,) * rank)
    value, gradient = gradc.value_and_grad(lambda x: np.sum(x * x))(x)
    ret, grads = execute_with_gradients(lambda xs: np.sum(xs["x"] * xs["x"]), {"x": x})
    for found, by in ((value, gradient), (ret, grads["x"])):
        assert_same_bits(found, np.sum(x * x))
        assert_same_bits(by, 2 * x)


@both_dtypes
def test_b32_the_same_array_twice(dtype: Any) -> None:
    x = np.array([1.0, 2.0, 3.0], dtype)

    def f(x0, x1):
        return np.sum(x0 * x1)

    # the page states the rule without numbers; these follow from it: two arguments by default, as
    # in a call of NumPy, and Ivy's one variable, whose derivative both places get, on request
    for aliases, want in (("distinct", x), ("same", 2 * x)):
        found = gradc.grad(f, wrt=(0, 1), aliases=aliases)(x, x)
        pulled = gradc.vjp(f, x, x, aliases=aliases)[1](dtype(1))
        for one in (*found, *pulled):
            assert_same_bits(one, want)
    assert_same_bits(gradc.grad(f)(x, x), x)
    ret, grads = execute_with_gradients(lambda xs: f(*xs), [x, x])
    assert_same_bits(ret, dtype(14))
    assert [grad.tolist() for grad in grads] == [[2, 4, 6], [2, 4, 6]]
    _, grads = execute_with_gradients(lambda xs: f(*xs), [x, x.copy()])
    assert [grad.tolist() for grad in grads] == [[1, 2, 3], [1, 2, 3]]


def test_b33_integers() -> None:
    x = np.array([1, 2, 3])
    with pytest.raises(TypeError, match="int64") as error:
        gradc.grad(np.mean)(x)
    assert "as float: x.astype(np.float64)" in str(error.value).replace("a.astype", "x.astype")
    third = np.full(3, 1 / 3)
    assert_same_bits(gradc.grad(lambda x: np.mean(x), int_args="float")(x), third)
    ret, grads = execute_with_gradients(lambda x: np.mean(x), x)
    assert_same_bits(ret, np.float64(2))
    assert_same_bits(grads, third)


# function -> where its derivative is infinite
SINGULAR: dict[str, Callable[..., Any]] = {"sqrt": np.sqrt, "log": np.log}


@both_dtypes
@pytest.mark.parametrize("name", SINGULAR)
def test_b34_a_gradient_that_is_not_finite(name: str, dtype: Any) -> None:
    f = SINGULAR[name]

    def total(x):
        return np.sum(f(x))

    x = np.array([0.0, 4.0], dtype)
    finite = dtype(0.25)  # the derivative of both at 4
    assert_same_bits(gradc.grad(total)(x), np.array([np.inf, finite], dtype))
    zeroed = gradc.grad(total, nonfinite="zero")
    assert_same_bits(zeroed(x), np.array([0, finite], dtype))
    assert zeroed.replaced == 1
    assert_same_bits(zeroed(x[1:]), np.array([finite], dtype))
    assert zeroed.replaced == 1
    assert_same_bits(gradc.vjp(total, x, nonfinite="zero")[1](dtype(1))[0], zeroed(x))
    with pytest.raises(gradc.NonFiniteError) as error:
        gradc.grad(total, nonfinite="raise")(x)
    assert str(error.value).startswith("div makes the first inf")
    assert "return np.sum(f(x))" in str(error.value)
    assert_same_bits(execute_with_gradients(total, x)[1], np.array([0, finite], dtype))


def test_b34_nan() -> None:
    assert np.isnan(gradc.grad(np.sqrt)(-1.0))
    assert gradc.grad(np.sqrt, nonfinite="zero")(-1.0) == 0.0
    assert execute_with_gradients(np.sqrt, -1.0)[1] == 0.0


@both_dtypes
def test_b35_a_rule_that_reads_input_result_and_upstream(dtype: Any) -> None:
    def custom_grad_fn(*args):
        (xs, _), upstream = args
        args1 = 1 - 10 / (1 + xs)
        # the page returns args[1] * args, a product of two tuples; args1 is meant
        return upstream * args1

    inter_func = bind_custom_gradient_function(lambda x: np.log1p(np.exp(x)), custom_grad_fn)

    @gradc.custom_gradient
    def same_func(xs):
        ret = np.log1p(np.exp(xs))
        return ret, lambda upstream: custom_grad_fn((xs, ret), upstream)

    x = dtype(50)
    tolerance = 4 * float(np.finfo(dtype).eps)
    for inter in (inter_func, same_func):
        ret, grad = execute_with_gradients(lambda x: np.sum(inter(x) ** 2), x)  # noqa: B023
        assert ret.dtype == grad.dtype == dtype
        assert ret == pytest.approx(2500.0, rel=tolerance)
        assert grad == pytest.approx(80.3921568627451, rel=tolerance)
    assert inter_func(50.0) == 50.0


def test_b35_upstream_and_the_result_themselves() -> None:
    upstream = bind_custom_gradient_function(lambda x: x, lambda inputs, upstream: upstream)
    assert execute_with_gradients(lambda x: np.sum(upstream(x) ** 2), 50.0)[1] == 100.0
    result = bind_custom_gradient_function(lambda x: 3 * x, lambda inputs, upstream: inputs[1])
    assert execute_with_gradients(result, 50.0) == (150.0, 150.0)

    def rule(inputs, upstream):
        xs, ret = inputs
        return {"a": upstream[0] * 10 + ret[1], "b": upstream[1] * xs["a"]}

    nested = bind_custom_gradient_function(lambda xs: (xs["a"] * 2, xs["b"]), rule)
    _, grads = execute_with_gradients(lambda xs: sum(nested(xs)), {"a": 3.0, "b": 5.0})
    assert grads == {"a": 15.0, "b": 3.0}


def test_b36_arguments_are_left_as_they_were() -> None:
    x = np.array([1.0, 2.0, 3.0])
    x.setflags(write=False)
    before, attributes, names = x.tobytes(), dir(x), dict(vars(np))

    def f(x):
        x[0] = 5.0
        x *= 2
        return np.sum(x * x)

    value, gradient = gradc.value_and_grad(f)(x)
    ret, grads = execute_with_gradients(f, x)
    for found, by in ((value, gradient), (ret, grads)):
        assert found == 152.0
        assert by.tolist() == [0, 16, 24]
    assert x.tobytes() == before
    assert dir(x) == attributes
    assert all(vars(np)[name] is value for name, value in names.items())
    # there is no tape that outlives a call: the same again, without a trace of the first
    assert gradc.grad(f)(x).tolist() == [0, 16, 24]


def test_b37_value_and_gradient_come_from_one_evaluation() -> None:
    f = gradc.compile(lambda x: np.exp(np.sin(x)))
    both = f.ir("x: f64", of="value_and_grad")
    counts: dict[str, int] = {}

    def count(function: Any, node: Any, operands: Any, results: Any) -> None:
        counts[node.op.name] = counts.get(node.op.name, 0) + 1

    with watched(count):
        value, gradient = interpret(both, [np.float64(0.0)])
    assert (value, gradient) == (1.0, 1.0)
    assert (counts["exp"], counts["sin"], counts["cos"]) == (1, 1, 1)
    assert f.value_and_grad(0.0) == execute_with_gradients(f, 0.0) == (1.0, 1.0)
