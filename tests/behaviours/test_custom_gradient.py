"""The behaviours of tf.custom_gradient's reference page, one test a row of the behaviour table."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

import gradc
from gradc import testing
from tests.comparing import assert_accurate, assert_same_bits


def log1pexp_naive(x):
    return np.log(1 + np.exp(x))


@gradc.custom_gradient
def log1pexp(x):
    e = np.exp(x)

    def grad(upstream):
        return upstream * (1 - 1 / (1 + e))

    return np.log(1 + e), grad


@gradc.custom_gradient
def bar(x, y):
    def grad(upstream):
        dz_dx = y
        dz_dy = x
        return upstream * dz_dx, upstream * dz_dy

    z = x * y
    return z, grad


@gradc.custom_gradient
def echo(x):
    """Return x with a rule that returns what it is given, to see ``upstream`` from outside."""

    def grad(upstream):
        return upstream

    return np.log(1 + np.exp(x)), grad


def sigmoid(x: float) -> Any:
    with mpmath.workdps(50):
        return 1 / (1 + mpmath.exp(-mpmath.mpf(x)))


@pytest.mark.parametrize("x", [np.float32(100), np.float64(800)])
def test_b01_the_naive_gradient_is_nan_and_gradc_s_is_not(x: Any) -> None:
    with np.errstate(all="ignore"):
        naive = np.exp(x) / (1 + np.exp(x))
        assert np.isnan(naive)
        assert log1pexp_naive(x) == np.inf
    value, gradient = gradc.value_and_grad(log1pexp_naive)(x)
    assert_same_bits(value, x)
    assert_same_bits(gradient, x.dtype.type(1))


def test_b01_in_float64_the_naive_gradient_is_right_at_the_seed_s_100() -> None:
    # the seed's nan is that of float32
    assert np.exp(100.0) / (1 + np.exp(100.0)) == 1.0
    with np.errstate(all="ignore"):
        assert np.isnan(np.exp(710.0) / (1 + np.exp(710.0)))
    assert gradc.grad(log1pexp_naive)(710.0) == 1.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("x", [100.0, 800.0, 1e4])
def test_b02_the_custom_rule_gives_one(x: float, dtype: Any) -> None:
    assert_same_bits(gradc.grad(log1pexp)(dtype(x)), dtype(1))
    assert_same_bits(gradc.compile(log1pexp).grad(dtype(x)), dtype(1))
    assert_same_bits(gradc.grad(echo)(dtype(x)), dtype(1))


@pytest.mark.parametrize("x", [-37.0, -40.0, -100.0, -700.0, -36.0, -1.0, 0.0, 1.0, 40.0, 700.0])
def test_b03_without_a_rule_it_is_better_than_the_seed_s_rule(x: float) -> None:
    with np.errstate(over="ignore"):
        seed = 1 - 1 / (1 + np.exp(x))
    if x <= -37:
        assert seed == 0.0
    assert_accurate(gradc.grad(log1pexp_naive)(x), sigmoid(x))


def test_b03_the_seed_s_figures() -> None:
    gradient = gradc.grad(log1pexp_naive)
    assert_accurate(gradient(-37.0), mpmath.mpf("8.533047625744065e-17"))
    assert_accurate(gradient(-40.0), mpmath.mpf("4.248354255291589e-18"))
    assert_accurate(gradient(-100.0), mpmath.mpf("3.720075976020836e-44"))


def test_b04_no_override_is_needed() -> None:
    gradient = gradc.grad(lambda x: np.log(1 + np.exp(x)))
    assert gradient(100.0) == gradient(800.0) == gradient(1e4) == 1.0
    second = gradc.grad(gradient)
    assert second(0.0) == 0.25
    assert second(800.0) == 0.0


def test_b05_upstream_is_the_gradient_from_everything_downstream() -> None:
    x = 0.3
    value = np.log(1 + np.exp(2 * x))
    found = gradc.grad(lambda x: np.sin(log1pexp(2 * x)))(x)
    assert found == pytest.approx(np.cos(value) * 2 / (1 + np.exp(-2 * x)), rel=1e-14)
    seen = gradc.grad(lambda x: np.sin(echo(2 * x)))(x)
    assert seen == pytest.approx(2 * np.cos(value), rel=1e-14)


def test_b06_as_many_gradients_as_inputs() -> None:
    x = np.float32(2.0)
    y = np.float32(3.0)
    z, (dz_dx, dz_dy) = gradc.value_and_grad(bar, wrt=(0, 1))(x, y)
    assert_same_bits(z, np.float32(6.0))
    assert_same_bits(dz_dx, np.float32(3.0))
    assert_same_bits(dz_dy, np.float32(2.0))


@pytest.mark.parametrize("count", [0, 1, 3])
def test_b06_a_wrong_number_of_gradients_is_an_error(count: int) -> None:
    @gradc.custom_gradient
    def product(x, y):
        return x * y, lambda upstream: (upstream,) * count

    with pytest.raises(ValueError, match="product") as error:
        gradc.grad(product)(2.0, 3.0)
    assert isinstance(error.value, gradc.GradientArityError)
    assert "2" in str(error.value)
    assert str(count) in str(error.value)


def test_b07_nested_inputs_and_outputs() -> None:
    @gradc.custom_gradient
    def both(p):
        def grad(upstream):
            return {"a": 10 * upstream["s"], "b": 100 * upstream["d"]}

        return {"s": p["a"] + p["b"], "d": p["a"] - p["b"]}, grad

    def loss(p):
        q = both(p)
        return q["s"] + 2 * q["d"]

    gradient = gradc.grad(loss)({"a": 1.0, "b": 2.0})
    assert gradient == {"a": 10.0, "b": 200.0}


def test_b07_a_flat_list_of_the_right_length_is_accepted() -> None:
    @gradc.custom_gradient
    def both(p):
        return p["a"] + p["b"], lambda upstream: [10 * upstream, 100 * upstream]

    assert gradc.grad(both)({"a": 1.0, "b": 2.0}) == {"a": 10.0, "b": 100.0}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_b07_each_element_of_a_tuple_has_an_upstream_of_its_nest(dtype: Any) -> None:
    @gradc.custom_gradient
    def parts(p, q):
        def grad(upstream_of_sum, upstream_of_rest):
            by_q = upstream_of_rest["q"] + upstream_of_sum
            return {"a": upstream_of_sum, "b": [upstream_of_rest["ab"], 5.0]}, by_q

        return (p["a"] + q, {"ab": p["a"] * p["b"][0], "q": q}), grad

    def loss(p, q):
        total, rest = parts(p, q)
        return total * 2 + rest["ab"] * 3 + rest["q"] * 4

    p = {"a": dtype(2), "b": [dtype(3), dtype(7)]}
    by_p, by_q = gradc.grad(loss, wrt=(0, 1))(p, dtype(1))
    assert by_p == {"a": 2.0, "b": [3.0, 5.0]}
    assert_same_bits(by_q, dtype(6))


def test_b08_the_second_derivative_differentiates_all_the_rule_reads() -> None:
    @gradc.custom_gradient
    def cube(x):
        def grad(upstream):
            return upstream * 3 * x**2

        return x**3, grad

    first = gradc.grad(cube)
    assert first(2.0) == 12.0
    assert gradc.grad(first)(2.0) == 12.0
    assert gradc.grad(gradc.grad(first))(2.0) == 6.0


def test_b08_the_derivative_of_a_rule_by_its_upstream_alone_is_its_transpose() -> None:
    x = 3.0

    def grad_fn(dy):
        return dy * 2 * x

    assert gradc.transpose(grad_fn, 1.0)(5.0) == (30.0,)
    with pytest.raises(gradc.RuleError, match="square is not linear"):
        gradc.transpose(square, 1.0)


def square(x):
    return x * x


def test_b08_a_rule_with_a_rule_of_its_own_for_its_upstream() -> None:
    @gradc.custom_gradient
    def op(x):
        @gradc.custom_gradient
        def grad_fn(dy):
            def grad_grad_fn(ddy):
                return 1000 * ddy * 2 * x

            return dy * 2 * x, grad_grad_fn

        return x**2, grad_fn

    assert gradc.grad(op)(3.0) == 6.0
    by_dy = gradc.grad(lambda dy, x: gradc.vjp(op, x)[1](dy)[0])
    assert by_dy(1.0, 3.0) == 6000.0


def test_b09_a_fused_gradient_with_a_rule_of_its_own() -> None:
    @gradc.custom_gradient
    def cube(x):
        y, x_grad = x**3, 3 * x**2

        def first_order_gradient(dy):
            @gradc.custom_gradient
            def first_order_custom(unused_x):
                def second_order(ddy):
                    return ddy * 6000 * x

                return x_grad, second_order

            return dy * first_order_custom(x)

        return y, first_order_gradient

    assert cube(2.0) == 8.0
    assert gradc.grad(cube)(2.0) == 12.0
    assert gradc.hessian(cube)(2.0) == gradc.hvp(cube, (2.0,), 1.0) == 12000.0
    for f in (
        cube,
        lambda x: gradc.cond(x > 0, cube, lambda x: x, x),
        lambda x: gradc.scan(lambda c, row: (cube(c), row), x, length=1)[0],
        lambda x: gradc.vmap(cube)(x * np.ones(1))[0],
        gradc.checkpoint(cube),
    ):
        assert gradc.grad(gradc.grad(f))(2.0) == 12000.0
    both = gradc.vmap(gradc.grad(gradc.grad(cube)))(np.array([2.0, 1.0]))
    assert both.tolist() == [12000.0, 6000.0]


def test_b10_the_rule_is_used_compiled_called_and_inside_another_trace() -> None:
    @gradc.custom_gradient
    def double(x):
        return 2 * x, lambda upstream: 3 * upstream

    compiled = gradc.compile(double)
    assert compiled(5.0) == 10.0
    assert compiled.grad(5.0) == 3.0
    assert gradc.grad(double)(5.0) == 3.0
    assert gradc.compile(lambda x: gradc.grad(double)(x))(5.0) == 3.0
    assert gradc.grad(lambda x: np.sum(double(x)))(np.ones(4)).tolist() == [3, 3, 3, 3]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_b10_the_rule_is_used_under_vmap_and_in_loops(dtype: Any) -> None:
    @gradc.custom_gradient
    def double(x):
        return 2 * x, lambda upstream: 3 * upstream

    x = np.ones(4, dtype)
    assert_same_bits(gradc.vmap(gradc.grad(double))(x), np.full(4, 3, dtype))
    assert_same_bits(gradc.grad(lambda x: np.sum(gradc.vmap(double)(x)))(x), np.full(4, 3, dtype))
    compiled = gradc.compile(lambda x: gradc.vmap(gradc.grad(double))(x))
    assert_same_bits(compiled(x), np.full(4, 3, dtype))

    def thrice(x):
        return gradc.fori_loop(0, 3, lambda i, c: double(c), x)

    assert gradc.value_and_grad(thrice)(1.0) == (8.0, 27.0)
    branch = gradc.grad(lambda x: gradc.cond(x > 0, double, lambda x: x, x))
    assert (branch(1.0), branch(-1.0)) == (3.0, 1.0)


def test_b11_variables_reach_the_rule_and_have_gradients() -> None:
    def total(weights, x):
        @gradc.custom_gradient
        def linear_poly(x):
            poly = weights[1] * x + weights[0]

            def grad_fn(dpoly, variables):
                grad_xs = dpoly * weights[1]
                grad_vars = []
                assert variables is not None
                assert len(variables) == 1
                dy_dw = dpoly * np.stack([x**1, x**0])
                grad_vars.append(np.sum(np.reshape(dy_dw, [2, -1]), axis=1))
                return grad_xs, grad_vars

            return poly, grad_fn

        return linear_poly(x)

    weights = np.ones(2, dtype=np.float32)
    x = np.array([1.0, 2.0, 3.0], dtype=np.float32)
    poly, pullback = gradc.vjp(total, weights, x)
    by_weights, by_x = pullback(np.ones(3, dtype=np.float32))
    assert_same_bits(poly, np.array([2, 3, 4], dtype=np.float32))
    assert_same_bits(by_x, np.array([1, 1, 1], dtype=np.float32))
    assert_same_bits(by_weights, np.array([6, 3], dtype=np.float32))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_b11_a_variable_of_the_module_is_a_hidden_input(dtype: Any) -> None:
    weights = gradc.Variable(np.ones(2, dtype), name="weights")

    @gradc.custom_gradient
    def linear_poly(x):
        w = weights.value

        def grad_fn(dpoly, variables):
            (given,) = variables
            # in the order of the seed's rule; the true derivative is the other way round
            by_weights = [np.sum(dpoly * x), np.sum(dpoly)]
            return dpoly * given[1], [np.stack(by_weights)]

        return w[1] * x + w[0], grad_fn

    x = np.array([1, 2, 3], dtype)
    gradient = gradc.grad(lambda x: np.sum(linear_poly(x)), wrt=(0, weights))
    by_x, by_weights = gradient(x)
    assert_same_bits(by_x, np.array([1, 1, 1], dtype))
    assert_same_bits(by_weights, np.array([6, 3], dtype))


def test_b11_captured_without_a_parameter_variables() -> None:
    def total(weights, x):
        @gradc.custom_gradient
        def linear_poly(x):
            return weights[1] * x + weights[0], lambda dpoly: dpoly * weights[1]

        return np.sum(linear_poly(x))

    weights, x = np.ones(2), np.array([1.0, 2.0, 3.0])
    assert gradc.grad(total, wrt="x")(weights, x).tolist() == [1, 1, 1]
    for ask in (
        lambda: gradc.grad(total, wrt=("weights", "x"))(weights, x),
        lambda: gradc.jvp(total, (weights, x), (weights, None)),
    ):
        with pytest.raises(gradc.NoGradientError, match="linear_poly captures weights") as error:
            ask()
        assert "`variables`" in str(error.value)


def test_b12_variables_are_none_when_nothing_is_captured() -> None:
    @gradc.custom_gradient
    def product(x, y):
        def grad(upstream, variables=None):
            assert variables is None
            return upstream * y, upstream * x

        return x * y, grad

    assert gradc.grad(product, wrt=(0, 1))(2.0, 3.0) == (3.0, 2.0)


def test_b13_an_op_without_a_gradient_is_a_lookup_error() -> None:
    def steps(x):
        return np.floor(x) * x

    with pytest.raises(LookupError, match="floor") as error:
        gradc.grad(steps)(2.5)
    assert isinstance(error.value, gradc.NoGradientError)
    assert "return np.floor(x) * x" in str(error.value)
    assert "gradc.stop_gradient" in str(error.value)
    assert "gradc.register_gradient" in str(error.value)


def test_b13_both_ways_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradc.tracing.core.stand_ins.registered", {})

    def steps(x):
        return np.floor(x) * x

    assert gradc.grad(lambda x: gradc.stop_gradient(np.floor(x)) * x)(2.5) == 2.0
    gradc.register_gradient(np.floor, lambda upstream, x: upstream)
    assert gradc.grad(steps)(2.5) == 4.5


def test_b14_stop_gradient_avoids_it_and_the_rule_applies() -> None:
    x = np.array([0.3, 0.5], dtype=np.float32)

    @gradc.custom_gradient
    def test_func_with_stop_grad(x):
        def _inner_func():
            return gradc.stop_gradient(np.floor(x))

        res = _inner_func()

        def grad(upstream):
            return upstream

        return res, grad

    res, pullback = gradc.vjp(test_func_with_stop_grad, x)
    assert_same_bits(res, np.zeros(2, dtype=np.float32))
    assert_same_bits(pullback(np.ones_like(x))[0], np.ones(2, dtype=np.float32))


def test_b15_stop_gradient_contributes_nothing() -> None:
    assert gradc.grad(lambda x: x * gradc.stop_gradient(x))(3.0) == 3.0
    assert gradc.jvp(lambda x: x * gradc.stop_gradient(x), (3.0,), (1.0,)) == (9.0, 3.0)


def test_b16_the_gradient_is_the_rule_s_alone() -> None:
    @gradc.custom_gradient
    def wrong(x):
        return x * x, lambda upstream: 7 * upstream

    assert wrong(3.0) == 9.0
    assert gradc.value_and_grad(wrong)(3.0) == (9.0, 7.0)
    assert gradc.jvp(wrong, (3.0,), (1.0,)) == (9.0, 7.0)
    with pytest.raises(AssertionError, match=r"6\.0|7"):
        testing.check_grads(wrong, (3.0,))
