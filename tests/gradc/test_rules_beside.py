"""Rules beside a function: reverse, forward, partials; what they are given; whether they agree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.custom.custom_gradient import custom_gradient
from gradc.tracing import trace
from gradc_ir.errors import NoGradientError, RuleError, TraceError
from tests.gradc.test_custom import WEIGHTS, value_and_gradients


def test_a_reverse_rule_is_given_inputs_by_the_signature() -> None:
    @custom_gradient
    def power(x, y=2.0, *, n=3):
        return x**n * y

    @power.def_vjp
    def power_vjp(upstream, x, y, *, n):
        return upstream * 10 * n * y, upstream * x**n

    assert power(3.0) == 54.0
    assert gradc.grad(power)(3.0) == 60.0
    assert gradc.grad(lambda x, y: power(y=y, x=x, n=1), wrt=(0, 1))(3.0, 4.0) == (40.0, 3.0)
    assert gradc.jvp(power, (3.0, 4.0), (1.0, 1.0)) == (108.0, 147.0)


def test_a_forward_rule_has_tangents_and_values_in_their_nests() -> None:
    @custom_gradient
    def both(p, y):
        return {"product": p["a"] * y, "sum": p["a"] + p["b"]}

    @both.def_jvp
    def both_jvp(tangents, p, y, output):
        dp, dy = tangents
        product = dp["a"] * y + output["product"] / y * dy
        return {"product": product, "sum": 10 * dp["a"] + dp["b"]}

    def loss(p, y):
        found = both(p, y)
        return found["product"] + found["sum"]

    by_p, by_y = gradc.grad(loss, wrt=(0, 1))({"a": 2.0, "b": 5.0}, 3.0)
    assert by_p == {"a": 13.0, "b": 1.0}
    assert by_y == 2.0
    tangent = gradc.jvp(loss, ({"a": 2.0, "b": 5.0}, 3.0), ({"a": 1.0, "b": 0.0}, 1.0))[1]
    assert tangent == 15.0


def test_partials_are_of_every_element() -> None:
    @custom_gradient
    def product(x, y):
        return x * y

    @product.def_partials
    def partials(x, y, output):
        return 10 * y, output / y

    x, y = np.ones((3, 1)), np.array([1.0, 2.0])
    by_x, by_y = gradc.grad(lambda x, y: np.sum(product(x, y)), wrt=(0, 1))(x, y)
    assert by_x.tolist() == [[30.0]] * 3
    assert by_y.tolist() == [3.0, 3.0]

    two = custom_gradient(lambda x: (x, x))
    two.def_partials(lambda x: (1.0,))
    with pytest.raises(RuleError, match="2 results: partials are of one"):
        gradc.grad(lambda x: two(x)[0])(1.0)


def test_variables_reach_rules_beside_a_function() -> None:
    @custom_gradient
    def scaled(x):
        return WEIGHTS * x

    @scaled.def_vjp
    def scaled_vjp(upstream, x, variables):
        return np.sum(upstream * variables[0]), [7 * upstream]

    value, by_x, by_weights = value_and_gradients(lambda x: np.sum(scaled(x)), 3.0)
    assert (value, by_x, by_weights.tolist()) == (9.0, 3.0, [7.0, 7.0])

    @custom_gradient
    def pushed(x):
        return WEIGHTS * x

    @pushed.def_jvp
    def pushed_jvp(tangents, x, variables):
        dx, (dw,) = tangents
        return variables[0] * dx + 5 * dw

    value, by_x, by_weights = value_and_gradients(lambda x: np.sum(pushed(x)), 3.0)
    assert (value, by_x, by_weights.tolist()) == (9.0, 3.0, [5.0, 5.0])


def test_rules_are_defined_once_and_before_use() -> None:
    square = custom_gradient(lambda x: x * x)
    square.def_vjp(lambda upstream, x: upstream)
    with pytest.raises(RuleError, match="has a vjp rule already"):
        square.def_vjp(lambda upstream, x: upstream)
    with pytest.raises(RuleError, match="a rule is a function, not a float"):
        square.def_jvp(3.0)  # type: ignore[type-var]
    gradc.grad(square)(1.0)
    with pytest.raises(RuleError, match="has been traced"):
        square.def_jvp(lambda tangents, x: tangents[0])

    both = custom_gradient(lambda x: (x, lambda upstream: upstream))
    both.def_vjp(lambda upstream, x: upstream)
    with pytest.raises(RuleError, match="returns a gradient function, and has another one"):
        gradc.grad(both)(1.0)


def test_wrong_nests_of_tangents() -> None:
    square = custom_gradient(lambda x: x * x)
    square.def_jvp(lambda tangents, x: (tangents[0], 1.0))
    with pytest.raises(RuleError, match="another nest than its value"):
        gradc.jvp(square, (1.0,), (1.0,))


def test_what_is_captured_may_depend_on_the_arguments_alone() -> None:
    def loss(x, factor):
        square = x * x

        @custom_gradient
        def scaled(y):
            return y * square * factor, lambda upstream: upstream * square * factor

        return scaled(x)

    assert gradc.grad(loss)(2.0, 3.0) == 12.0
    with pytest.raises(NoGradientError, match="scaled captures factor"):
        gradc.grad(loss, wrt=1)(2.0, 3.0)
    with pytest.raises(NoGradientError, match="scaled captures"):
        gradc.grad(lambda x: loss(2.0, x) * gradc.fori_loop(0, 2, lambda i, c: loss(c, x), x))(3.0)


def test_a_rule_may_use_its_own_function() -> None:
    @custom_gradient
    def power(x):
        return np.exp(x)

    @power.def_jvp
    def power_jvp(tangents, x):
        return 2 * power(x) * tangents[0]

    f, orders = power, []
    for _ in range(4):
        f = gradc.grad(f)
        orders.append(f(0.0))
    assert orders == [2.0, 4.0, 8.0, 16.0]
    with pytest.raises(NoGradientError, match="power is called in its own rule"):
        gradc.grad(f)(0.0)


def test_weak_numbers_stay_weak() -> None:
    double = custom_gradient(lambda a: (a * 2, lambda upstream: upstream * 2))
    found = gradc.compile(lambda a, x: double(a) * x)(3.0, np.ones(2, np.float32))
    assert found.dtype == np.float32


def test_a_selection_is_no_argument() -> None:
    square = custom_gradient(lambda x: (np.sum(x * x), lambda upstream: 2 * x * upstream))
    with pytest.raises(TraceError, match=r"x\[x > 0\] cannot be an argument of") as error:
        gradc.grad(lambda x: square(x[x > 0]))(np.ones(3))
    assert "np.where(x > 0, x, 0)" in str(error.value)


def test_memory_that_is_shared_is_not_assigned_to() -> None:
    @custom_gradient
    def filled(x):
        x[0] = 5.0
        return np.sum(x), lambda upstream: upstream * np.ones_like(x)

    with pytest.raises(TraceError, match="this array cannot be assigned to") as error:
        gradc.compile(lambda x: filled(x * 1.0))(np.ones(3))
    assert "an argument of a function with derivatives of its own" in str(error.value)

    same = custom_gradient(lambda x: (x[1:], lambda upstream: np.ones(3)))

    def writes_to_the_result(x):
        y = x * 1.0
        z = same(y)
        z[0] = 7.0
        return y

    def writes_to_the_argument(x):
        y = x * 1.0
        z = same(y)
        y[1] = 7.0
        return z

    def writes_to_a_copy(x):
        z = same(x).copy()
        z[0] = 7.0
        return z

    for function in (writes_to_the_result, writes_to_the_argument):
        with pytest.raises(TraceError, match="share memory"):
            gradc.compile(function)(np.ones(3))
    assert gradc.compile(writes_to_a_copy)(np.ones(3)).tolist() == [7.0, 1.0]


@pytest.mark.parametrize(
    "around",
    [
        gradc.grad,
        lambda f: lambda w: gradc.vmap(gradc.grad(f))(np.stack([w, w])),
        lambda f: (
            lambda w: gradc.grad(lambda w: gradc.cond(w[0] > 0, lambda: f(w), lambda: 0.0))(w)
        ),
        lambda f: lambda w: gradc.grad(lambda w: gradc.checkpoint(lambda w: f(w))(w))(w),
        lambda f: lambda w: gradc.grad(lambda w: np.sum(gradc.vmap(lambda x: f(w) * x)(w)))(w),
        lambda f: (
            lambda w: gradc.grad(
                lambda w: gradc.while_loop(lambda c: c < 10, lambda c: c * f(w), 1.0)
            )(w)
        ),
    ],
)
def test_what_is_captured_is_named_wherever_it_is(around: Callable[..., Any]) -> None:
    def loss(w):
        @custom_gradient
        def line(x):
            return w[0] * x, lambda upstream: upstream * w[0]

        return line(3.0)

    with pytest.raises(NoGradientError, match="line captures w, and"):
        around(loss)(np.array([1.0, 2.0]))


def test_variables_come_in_the_order_in_which_they_are_read() -> None:
    three = np.ones(3)

    @custom_gradient
    def total(x):
        value = np.sum(three) * x + np.sum(WEIGHTS)

        def gradient(upstream, variables):
            assert [variable.shape for variable in variables] == [(3,), (2,)]
            return upstream, [None, 2 * upstream]

        return value, gradient

    value, by_x, by_three, by_weights = value_and_gradients(total, 2.0)
    assert (value, by_x) == (9.0, 1.0)
    assert (by_three.tolist(), by_weights.tolist()) == ([0, 0, 0], [2, 2])


def test_zeros_that_stay_zero_do_so_through_rules() -> None:
    @custom_gradient
    def root(x):
        return np.sqrt(x)

    @root.def_vjp
    def root_vjp(upstream, x, output):
        return upstream / (2 * output)

    def loss(x):
        rows = gradc.scan(lambda c, r: (c, np.where(r > 0, root(r), r)), 0.0, x)[1]
        return np.sum(np.where(x > 0, root(x), x)) + np.sum(rows)

    # beside the branch that is taken, the slope of the other one is infinite, or nan
    x = np.array([0.0, 4.0, -1.0])
    assert gradc.grad(loss)(x).tolist() == [2.0, 0.5, 2.0]
    assert gradc.jvp(loss, (x,), (np.ones(3),)) == (2.0, 4.5)
    assert np.all(np.isfinite(gradc.hessian(loss)(x)))
    by_row = gradc.vmap(gradc.grad(lambda x: np.where(x > 0, root(x), x)))(x)
    assert by_row.tolist() == [1.0, 0.25, 1.0]


# -- check=True ------------------------------------------------------------------------------------


def checked(by_vjp: float, by_jvp: float | None = None) -> Any:
    @custom_gradient(check=True)
    def energy(x, y):
        return np.sum(x**2) * y

    @energy.def_vjp
    def energy_vjp(upstream, x, y):
        return upstream * 2 * x * y * by_vjp, upstream * np.sum(x**2)

    if by_jvp is not None:

        @energy.def_jvp
        def energy_jvp(tangents, x, y):
            dx, dy = tangents
            return by_jvp * np.sum(2 * x * dx) * y + dy * np.sum(x**2)

    return energy


@pytest.mark.parametrize(
    "call", [lambda f: f(np.ones(3), 2.0), lambda f: trace(f, (np.ones(3), 2.0))]
)
def test_right_rules_pass_their_check_and_wrong_ones_do_not(call: Callable[..., Any]) -> None:
    call(checked(1))
    call(checked(1, 1))
    for rules, why in [
        ((2,), "energy: its vjp differs from central differences"),
        ((1, 2), "energy: its forward and its reverse mode differ"),
        ((2, 2), "energy: its jvp differs from central differences"),
    ]:
        with pytest.raises(RuleError, match=why) as error:
            call(checked(*rules))
        assert r"argument x: f64[3], along a random direction" in str(error.value)


def test_a_check_needs_a_finite_value() -> None:
    @custom_gradient(check=True)
    def logarithm(x):
        return np.log(-x - 5), lambda upstream: upstream / (x + 5)

    assert logarithm(-6.0) == 0.0
    with pytest.raises(RuleError, match="finite at no random point"):
        trace(logarithm, (-6.0,))
