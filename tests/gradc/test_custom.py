"""Gradients of one's own in the graph: one node a call, arity, captured arrays, NumPy functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.autodiff.open_calls import OpenCalls
from gradc.custom.custom_gradient import custom_gradient
from gradc.custom.numpy_gradients import overrides, register_gradient
from gradc.derivatives import jvp, vjp
from gradc.tracing import trace
from gradc.tracing.core.stand_ins import overrides_for, overrides_key
from gradc_ir.errors import GradientArityError, ShapeError, TraceError
from gradc_ir.interpreter.interpret import interpret


def value_and_gradients(fn: Callable[..., Any], *args: Any) -> tuple[Any, ...]:
    """Return value and gradients by the interpreter, after comparing both modes."""
    traced = trace(fn, args)
    arrays = [np.asarray(a) for a in args] + [capture.read() for capture in traced.captures]
    wrt = [i for i, array in enumerate(arrays) if array.dtype.kind == "f"]
    found = interpret(OpenCalls()(vjp(traced.function, wrt, "ones")), arrays)
    pushed = OpenCalls()(jvp(traced.function, wrt))
    tangents = [np.full_like(arrays[i], 0.5 + i) for i in wrt]
    forward = interpret(pushed, [*arrays, *tangents])[1]
    reverse = sum(np.sum(t * g) for t, g in zip(tangents, found[1:], strict=True))
    np.testing.assert_allclose(forward, reverse, rtol=1e-12)
    return found


@custom_gradient
def log1pexp(x):
    e = np.exp(x)

    def grad(upstream):
        return upstream * (1 - 1 / (1 + e))

    return np.log(1 + e), grad


def test_a_call_is_one_node_with_its_body_and_its_rule() -> None:
    function = trace(lambda x: np.sin(log1pexp(2 * x)), (0.3,)).function
    (call,) = [node for node in function.nodes if node.op.name == "call"]
    assert call.attributes["name"] == "log1pexp"
    assert call.attributes["jvp"] is None
    assert len(call.operands) == 1
    # what the rule reads of the function is expressed in the function's arguments
    assert "exp" in {node.op.name for node in call.attributes["vjp"].nodes}


def test_the_seed_s_example() -> None:
    assert value_and_gradients(log1pexp, 100.0) == (100.0, 1.0)
    value, gradient = value_and_gradients(lambda x: np.sin(log1pexp(2 * x)), 0.3)
    inner = np.log(1 + np.exp(0.6))
    assert value == pytest.approx(np.sin(inner))
    assert gradient == pytest.approx(np.cos(inner) * 2 / (1 + np.exp(-0.6)))


def test_plain_numbers_give_plain_values() -> None:
    assert log1pexp(0.0) == np.log(2.0)
    assert log1pexp(np.zeros(2)).tolist() == [np.log(2.0)] * 2


def product_with(gradient: Callable[..., Any]) -> Any:
    @custom_gradient
    def product(x, y):
        return x * y, gradient

    return product


def test_the_number_of_gradients() -> None:
    def grad(upstream):
        return upstream

    with pytest.raises(GradientArityError) as error:
        trace(product_with(grad), (2.0, 3.0))
    line = grad.__code__.co_firstlineno
    assert str(error.value) == (
        "the gradient of product returned 1 gradient, but product has 2 arguments\n"
        f"  test_custom.py:{line} in grad\n"
        "      def grad(upstream):\n"
        "  expected: x, y\n"
        "  help: return one gradient for each argument, in their order; None for a zero gradient"
    )
    for count in (0, 3):
        with pytest.raises(GradientArityError, match=f"returned {count} gradients, .* 2 arguments"):
            trace(product_with(lambda upstream, n=count: (upstream,) * n), (2.0, 3.0))


def test_none_is_a_zero_gradient_and_numbers_are_spread() -> None:
    product = product_with(lambda upstream: (None, upstream * 5))
    assert value_and_gradients(product, 2.0, 3.0) == (6.0, 0.0, 5.0)

    @custom_gradient
    def total(x):
        return np.sum(x), lambda upstream: upstream * 2

    assert value_and_gradients(total, np.ones(3))[1].tolist() == [2, 2, 2]


def test_a_gradient_of_the_wrong_shape() -> None:
    @custom_gradient
    def scaled(x, s):
        return x * s, lambda upstream: (upstream * s, upstream * x)

    with pytest.raises(ShapeError, match="wrong shape") as error:
        trace(scaled, (np.ones(3), 2.0))
    assert "f64[3] for an argument of type f64" in str(error.value)


def test_a_function_that_returns_no_gradient() -> None:
    @custom_gradient
    def square(x):
        return x * x

    with pytest.raises(TraceError, match="has to return its value and a gradient function"):
        trace(square, (2.0,))
    with pytest.raises(TraceError, match="takes a function, not a float"):
        custom_gradient(2.0)  # type: ignore[arg-type]


def test_nests_keywords_and_other_arguments() -> None:
    @custom_gradient
    def weighted(p, *, axis, scale):
        def grad(upstream):
            return {"a": upstream * 10, "b": upstream * 100}, None, upstream * 1000

        return np.sum(p["a"] + p["b"], axis=axis) * scale, grad

    def loss(a, b, s):
        return weighted({"a": a, "b": b}, scale=s, axis=0)

    found = value_and_gradients(loss, np.ones(2), np.ones(2), 3.0)
    assert found[0] == 12.0
    assert [g.tolist() for g in found[1:]] == [[10, 10], [100, 100], 1000]


def test_methods_have_no_gradient_of_self() -> None:
    class Scaled:
        factor = 3.0

        @custom_gradient
        def __call__(self, x):
            return self.factor * x, lambda upstream: upstream * 5

    scaled = Scaled()
    assert value_and_gradients(lambda x: scaled.__call__(x), 2.0) == (6.0, 5.0)


def test_several_results_have_several_upstreams() -> None:
    @custom_gradient
    def both(x, y):
        def grad(of_sum, of_product):
            return of_sum + of_product * y, of_sum * 7

        return (x + y, x * y), grad

    def loss(x, y):
        s, p = both(x, y)
        return s + 10 * p

    assert value_and_gradients(loss, 2.0, 3.0) == (65.0, 31.0, 7.0)


WEIGHTS = np.array([1.0, 2.0])


def test_variables_are_given_to_a_gradient_that_asks() -> None:
    @custom_gradient
    def linear(x):
        def grad(upstream, variables):
            assert len(variables) == 1
            ones = np.ones_like(x)
            by_weights = [np.sum(upstream * ones), np.sum(upstream * x)]
            return upstream * WEIGHTS[1], [np.stack(by_weights)]

        return WEIGHTS[1] * x + WEIGHTS[0], grad

    x = np.array([1.0, 2.0, 3.0])
    value, by_x, by_weights = value_and_gradients(lambda x: np.sum(linear(x)), x)
    assert value == 15.0
    assert by_x.tolist() == [2, 2, 2]
    assert by_weights.tolist() == [3, 6]


def test_variables_are_none_when_there_are_none() -> None:
    @custom_gradient
    def double(x):
        def grad(upstream, variables=None):
            assert variables is None
            return upstream * 3, []

        return 2 * x, grad

    assert value_and_gradients(double, 5.0) == (10.0, 3.0)


def test_the_wrong_number_of_gradients_of_variables() -> None:
    @custom_gradient
    def linear(x):
        return WEIGHTS[0] * x, lambda upstream, variables: (upstream, [])

    with pytest.raises(GradientArityError) as error:
        trace(linear, (1.0,))
    assert "returned 0 gradients of variables, but linear reads 1 array from outside" in str(
        error.value
    )


def test_captured_values_have_no_gradient_of_their_own() -> None:
    def loss(x):
        square = x * x

        @custom_gradient
        def scaled(y):
            return y * square, lambda upstream: upstream * square

        return scaled(x)

    # 3 x² would be the whole derivative; the rule knows of x² as a constant
    assert value_and_gradients(loss, 2.0) == (8.0, 4.0)


def test_higher_orders_differentiate_the_rule() -> None:
    traced = trace(log1pexp, (0.0,)).function
    gradient = vjp(traced, [0], "ones")
    second = OpenCalls()(jvp(gradient, [0]))
    assert interpret(second, [0.0, 1.0])[3] == 0.25


def test_a_rule_for_a_function_of_numpy() -> None:
    def loss(x):
        return np.sqrt(x) * 3

    replacement = {np.sqrt: lambda upstream, x: 10 * upstream}
    with overrides(replacement):
        assert value_and_gradients(loss, 4.0) == (6.0, 30.0)
        with overrides({np.sqrt: None}):
            assert value_and_gradients(loss, 4.0) == (6.0, 0.75)
        key = overrides_key()
    assert value_and_gradients(loss, 4.0) == (6.0, 0.75)
    assert overrides_key() != key
    assert overrides_for(np.sqrt) is None


def test_a_registered_rule_sees_upstream_result_and_arguments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gradc.tracing.core.stand_ins.registered", {})

    @register_gradient(np.arctan2)
    def rule(upstream, y, x, output):
        return upstream * output * 100, upstream * np.arctan2(y, x)

    value, by_y, by_x = value_and_gradients(lambda y, x: np.arctan2(y, x), 1.0, 1.0)
    assert (by_y, by_x) == (value * 100, value)
    assert value == np.pi / 4


def test_only_numpy_s_functions_are_overridden() -> None:
    with pytest.raises(TraceError) as error:
        register_gradient(product_with, lambda upstream, x: upstream)
    assert str(error.value) == (
        "product_with is not a function of NumPy\n"
        "  help: give a function of your own its gradient with @gradc.custom_gradient"
    )


def _by_a_returned_gradient(x):
    @custom_gradient
    def f(x):
        return np.tanh(x), lambda u: u * (1 - _by_a_returned_gradient(x) ** 2)

    return f(x)


def _by_vjp(x):
    @custom_gradient
    def f(x):
        return np.tanh(x)

    f.def_vjp(lambda u, x: u * (1 - _by_vjp(x) ** 2))
    return f(x)


def _by_partials(x):
    @custom_gradient
    def f(x):
        return np.tanh(x)

    f.def_partials(lambda x: 1 - _by_partials(x) ** 2)
    return f(x)


@pytest.mark.parametrize("helper", [_by_a_returned_gradient, _by_vjp, _by_partials])
def test_a_rule_may_reach_the_helper_that_made_it(helper: Any) -> None:
    """Each call of the helper makes another function: tracing its rules came to no end."""
    first, second = gradc.grad(helper), gradc.grad(gradc.grad(helper))
    t = np.tanh(0.5)
    np.testing.assert_allclose(first(0.5), 1 - t * t, rtol=1e-14)
    np.testing.assert_allclose(second(0.5), -2 * t * (1 - t * t), rtol=1e-14)
