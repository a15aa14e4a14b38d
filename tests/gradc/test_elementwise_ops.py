"""New elementwise primitives from SymPy's expressions and from functions of numbers."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

import gradc
from tests.comparing import assert_same_bits

x, k = sympy.symbols("x k")
softplus = gradc.custom_op(sympy.log(1 + sympy.exp(k * x)), arguments=("x", "k"), name="soft")


@gradc.custom_op
def mish(x):
    return x * np.tanh(np.log1p(np.exp(x)))


def test_an_expression_is_a_primitive_like_numpy_s() -> None:
    assert softplus(1.0, 2.0) == np.log(1 + np.exp(2.0))
    found = gradc.compile(lambda a, b: softplus(a, b))(np.ones((3, 1)), np.arange(2.0))
    assert found.shape == (3, 2)
    assert softplus.__name__ == "soft"


def test_derivatives_and_stable_rules_follow() -> None:
    assert gradc.compile(softplus)(400.0, 2.0) == 800.0
    assert gradc.grad(softplus, wrt=(0, 1))(400.0, 2.0) == (2.0, 400.0)
    assert gradc.hessian(softplus)(0.0, 1.0) == 0.25
    assert_same_bits(gradc.grad(mish)(np.float32(0)), np.float32(0.6))
    assert gradc.vmap(gradc.grad(mish))(np.zeros(2)) == pytest.approx([0.6, 0.6])


def test_pieces() -> None:
    huber = gradc.custom_op(
        sympy.Piecewise((x**2 / 2, sympy.Abs(x) < 1), (sympy.Abs(x) - sympy.Rational(1, 2), True))
    )
    points = np.array([-3.0, -0.5, 0.0, 0.5, 3.0])
    assert gradc.compile(huber)(points).tolist() == [2.5, 0.125, 0.0, 0.125, 2.5]
    gradient = gradc.grad(lambda x: np.sum(huber(x)))(points)
    assert gradient.tolist() == [-1.0, -0.5, 0.0, 0.5, 1.0]


def test_other_derivatives_can_be_given() -> None:
    with gradc.overrides({mish: lambda upstream, x, output: upstream * output}):
        assert gradc.grad(mish)(1.0) == pytest.approx(mish(1.0))
    own = gradc.custom_op(lambda x: x**3)
    own.def_partials(5 * x)
    assert gradc.grad(own)(2.0) == 10.0


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (lambda x: np.sum(x), "one value for each element"),
        (lambda x: x - np.mean(x), "reduce_sum reads more than one element"),
        (lambda x: x[::-1], "reads more than one element"),
        (lambda x: (x, x), "one value for each element"),
        (3.0, "a SymPy expression or a function, not a float"),
    ],
)
def test_what_is_not_elementwise(body, why) -> None:
    with pytest.raises(gradc.TraceError, match=why):
        gradc.custom_op(body)


def test_symbols_are_arguments() -> None:
    with pytest.raises(gradc.RuleError, match=r"k\*x has the symbol k"):
        gradc.custom_op(k * x, arguments=("x",))
    with pytest.raises(gradc.RuleError, match="2 partial derivatives for 1 arguments"):
        gradc.custom_op(lambda x: x).def_partials(x, x)
