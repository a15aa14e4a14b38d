"""What the stable rules make of whole expressions, before and after differentiation."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

import gradc
from gradc.derivatives import vjp
from gradc.pipeline import derive
from gradc.requests.request import Request
from gradc.rules import EXACT, STABLE, Simplify, Stabilise
from gradc.rules.verify.accuracy import graph_of
from gradc.rules.verify.meaning import sides
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.types import DType, Type
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.passes import Canonicalize
from tests.counting import calls_in

VECTOR = Type(DType.F64, (4,))
MATRIX = Type(DType.F64, (4, 3))


def function(body: Any, *types: Type) -> Function:
    with Builder() as builder:
        params = [builder.param(i, type_) for i, type_ in enumerate(types)]
        return builder.function("f", params, [body(*params)])


def forms(equation: str) -> tuple[Function, Function]:
    points = {name: np.zeros(4) for name in "xyz"}
    left, right = sides(equation)
    return graph_of(left, equation, points), graph_of(right, equation, points)


# Written with sigmoid spelled out, since inner forms are rewritten first.
BECOMES = [
    # differences, which rules of softmax and of cancellation look for
    "log(div(exp(?x), gamma(add(1, exp(?y))))) => sub(add(?x, 0), lgamma(add(1, exp(?y))))",
    "log(div(?x, exp(?z))) => sub(log(?x), ?z)",
    "log(div(1, add(1, exp(neg(?x))))) => neg(softplus(neg(?x)))",
    "neg(log(div(1, add(exp(neg(?x)), 1)))) => softplus(neg(?x))",
    "log(add(exp(mul(2, ?x)), 1)) => softplus(mul(2, ?x))",
    "sub(1, div(1, add(1, exp(?x)))) => sigmoid(?x)",
    "mul(?y, sub(1, div(1, add(1, exp(?x))))) => mul(?y, sigmoid(?x))",
    "div(exp(?x), add(exp(?x), 1)) => sigmoid(?x)",
    "div(exp(neg(?x)), add(1, exp(neg(?x)))) => sigmoid(neg(?x))",
    "div(exp(?x), power(add(1, exp(?x)), 2)) => sigmoid_derivative(?x)",
    "mul(div(?y, add(1, exp(?x))), exp(?x)) => mul(?y, sigmoid(?x))",
    "div(mul(?y, exp(?x)), add(1, exp(?x))) => mul(?y, sigmoid(?x))",
    "mul(div(1, add(1, exp(?x))), exp(?x)) => sigmoid(?x)",
    "mul(neg(div(?y, add(1, exp(mul(-2, ?x))))), exp(mul(-2, ?x))) => "
    "neg(mul(?y, sigmoid(mul(-2, ?x))))",
    "div(div(1, add(1, exp(neg(?x)))), sub(1, div(1, add(1, exp(neg(?x)))))) => exp(?x)",
    "log(sub(1, div(1, add(1, exp(neg(?x)))))) => neg(softplus(?x))",
    "mul(div(1, add(1, exp(neg(?x)))), sub(1, div(1, add(1, exp(neg(?x)))))) => "
    "sigmoid_derivative(?x)",
    "log(sub(1, exp(neg(?x)))) => log1mexp(neg(?x))",
    "log(add(add(exp(?x), exp(?y)), exp(?z))) => logaddexp(logaddexp(?x, ?y), ?z)",
    "log(add(add(exp(?x), 1), exp(?y))) => logaddexp(softplus(?x), ?y)",
    "div(sub(exp(mul(2, ?x)), 1), add(exp(mul(2, ?x)), 1)) => tanh(?x)",
    "div(sub(exp(?x), div(1, exp(?x))), add(exp(?x), div(1, exp(?x)))) => tanh(?x)",
    "sub(softplus(?x), ?x) => softplus(neg(?x))",
    "select(lt(0, ?x), add(?x, log(add(1, exp(neg(?x))))), log(add(1, exp(?x)))) => softplus(?x)",
    "select(lt(30, ?x), ?x, log(add(1, exp(?x)))) => select(lt(30, ?x), ?x, softplus(?x))",
    "log(add(1, exp(minimum(?x, 30)))) => softplus(minimum(?x, 30))",
    "exp(sub(?x, softplus(?x))) => sigmoid(?x)",
]


@pytest.mark.parametrize("equation", BECOMES)
def test_form_becomes_the_stable_one(equation: str) -> None:
    left, right = forms(equation)
    ordered = Canonicalize()
    assert str(ordered(Stabilise()(left))) == str(ordered(Simplify(EXACT)(right)))


def test_rules_look_through_broadcasts() -> None:
    def body(x: Value, y: Value) -> Value:
        return build.log(1 + build.broadcast(build.exp(x), (4, 3), (0,))) * y

    found = Stabilise()(function(body, VECTOR, MATRIX))
    assert "softplus" in {node.op.name for node in found.nodes}
    assert "log" not in {node.op.name for node in found.nodes}


@pytest.mark.parametrize("keep", [False, True])
def test_log_sum_exp_along_an_axis(keep: bool) -> None:
    def body(x: Value) -> Value:
        total = build.reduce_sum(build.exp(2 * x), (1,))
        if keep:
            total = build.reshape(total, (4, 1))
        return build.log(total)

    found = Stabilise()(function(body, MATRIX))
    assert "logsumexp" in {node.op.name for node in found.nodes}
    value = interpret(found, [np.full((4, 3), 1000.0)])[0]
    np.testing.assert_allclose(value.ravel(), 2000 + np.log(3), rtol=1e-15)


def test_softmax_is_shifted_once() -> None:
    def body(x: Value) -> Value:
        e = build.exp(x)
        return e / build.broadcast(build.reduce_sum(e, (1,)), (4, 3), (0,))

    found = Stabilise()(function(body, MATRIX))
    assert Stabilise()(found) == found
    value = interpret(found, [np.array([[1000.0, 1000.0, -1000.0]] * 4)])[0]
    np.testing.assert_array_equal(value, [[0.5, 0.5, 0.0]] * 4)


def test_a_fence_stops_rules() -> None:
    def body(x: Value) -> Value:
        return build.log(build.apply("exactly", 1 + build.exp(x)))

    left = function(body, VECTOR)
    assert Stabilise()(left) == left


def test_compensated_sums_survive() -> None:
    def body(a: Value, b: Value) -> Value:
        total = a + b
        part = total - a
        return (a - (total - part)) + (b - part)

    left = function(body, VECTOR, VECTOR)
    assert Stabilise()(left) == left


def test_five_thousand_nodes_take_little_time() -> None:
    def calls(turns: int) -> int:
        def body(x: Value) -> Value:
            for _ in range(turns):
                x = build.log(1 + build.exp(x)) * 0.5 - 1.01
            return x

        long = function(body, VECTOR)
        return calls_in(lambda: Stabilise()(long))

    assert calls(1000) < 12 * calls(100)


def test_log_mean_exp_and_log_softmax_do_not_overflow() -> None:
    x = np.array([[1000.0, 1000.5, 1000.25]])

    def log_mean_exp(x: Any) -> Any:
        return np.log(np.mean(np.exp(x), axis=1))

    def log_softmax(x: Any) -> Any:
        e = np.exp(x)
        return np.log(e / e.sum(axis=1, keepdims=True))

    expected = 1000 + np.log(np.mean(np.exp(x - 1000)))
    np.testing.assert_allclose(gradc.compile(log_mean_exp)(x), [expected], rtol=1e-15)
    shifted = x - x.max()
    expected = shifted - np.log(np.exp(shifted).sum())
    np.testing.assert_allclose(gradc.compile(log_softmax)(x), expected, rtol=1e-14)


def test_nested_log_one_minus_exp() -> None:
    """d/da log(1 - exp(F)), F = log(1 - exp(-(x/b)**a)), where NumPy finds -inf."""

    def survival(a: Any, x: Any) -> Any:
        inner = np.log(1 - np.exp(-(x**a)))
        return np.log(1 - np.exp(inner))

    found = gradc.grad(survival)(1.0, 50.0)
    assert found == pytest.approx(-195.60115027140730, rel=1e-12)


def test_derivatives_of_what_stays_a_quotient_are_finite() -> None:
    """x / exp(x) is kept as it is; its derivative is not inf / inf."""

    def body(x: Value) -> Value:
        return (x + 1) / build.exp(x)

    function_ = function(body, VECTOR)
    points = np.array([1.0, 30.0, 600.0, 800.0])
    pulled = Stabilise()(vjp(function_, [0]))
    _, gradient = interpret(pulled, [points, np.ones(4)])
    with mpmath.workprec(300):
        expected = [float(-mpmath.mpf(x) * mpmath.exp(-mpmath.mpf(x))) for x in points]
    np.testing.assert_allclose(gradient, expected, rtol=1e-13)


def test_softplus_after_differentiation_keeps_its_form() -> None:
    traced = forms("log(add(1, exp(?x))) => softplus(?x)")[0]
    found = derive(traced, Request(of="jvp", wrt=(0,)))
    names = {node.op.name for node in found.nodes}
    assert {"softplus", "sigmoid"} <= names
    assert not {"exp", "log", "div"} & names


def test_every_stable_rule_is_reached_through_the_list() -> None:
    assert len({rule.name for rule in STABLE}) == len(STABLE)


def test_a_mean_of_powers_has_each_weight_once() -> None:
    def mean(x: float, p: float) -> Any:
        return (0.5 * x**p + 0.5) ** (1 / p)

    np.testing.assert_allclose(gradc.compile(mean)(3.0, 2.0), mean(3.0, 2.0), rtol=1e-15)


@pytest.mark.parametrize("form", [float, lambda x: np.array([x])])
def test_the_factor_of_fewer_terms_stays_in_a_difference_of_products(form: Any) -> None:
    """Whatever the order of the terms, a small weight is not lost in one less it."""

    def growth(f: Any, p: Any, b: Any) -> Any:
        return np.sum(p * np.log(1 + b * f) + (1 - p) * np.log(1 - f))

    f, p, b = 0.25, 1e-100, 2.0
    slope = gradc.grad(growth, 2)(form(f), form(p), form(b))
    assert float(np.sum(slope)) == pytest.approx(p * f / (1 + b * f), rel=1e-15)
