"""Policies about derivatives that are no plain numbers, in both modes, traced too."""

from __future__ import annotations

import numpy as np
import pytest

import gradc
from gradc.calls.apply_policies import ApplyPolicies
from gradc.calls.policies import Policies
from gradc.derivatives import vjp
from gradc.tracing import trace
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.verify import verify

X = np.array([1.0, 2.0, 3.0])


def double(y, z):
    return 2 * y


def dot(a, b):
    return np.sum(a * b)


def roots(x):
    return np.sum(np.sqrt(x))


def test_unconnected_in_reverse_mode() -> None:
    assert gradc.grad(double, wrt=(0, 1))(1.0, 5.0) == (2.0, 0.0)
    gradient = gradc.grad(double, wrt=(0, 1), unconnected="none")
    assert gradient(1.0, 5.0) == (2.0, None)
    assert gradc.vjp(double, 1.0, 5.0, unconnected="none")[1](1.0) == (2.0, None)
    assert gradc.value_and_grad(double, wrt=1, unconnected="none")(1.0, 5.0) == (2.0, None)
    for ask in (
        lambda: gradc.grad(double, wrt=1, unconnected="raise")(1.0, 5.0),
        lambda: gradc.vjp(double, 1.0, 5.0, unconnected="raise")[1](1.0),
    ):
        with pytest.raises(gradc.UnconnectedGradientError, match="does not depend on z"):
            ask()


def test_unconnected_in_forward_mode() -> None:
    assert gradc.jvp(double, (1.0, 5.0), (None, 1.0), unconnected="none") == (2.0, None)
    assert gradc.jvp(double, (1.0, 5.0), (1.0, 1.0), unconnected="none") == (2.0, 2.0)
    assert gradc.jvp(double, (1.0, 5.0), (None, 1.0)) == (2.0, 0.0)
    with pytest.raises(gradc.UnconnectedGradientError, match="no argument that has a tangent"):
        gradc.jvp(double, (1.0, 5.0), (None, 1.0), unconnected="raise")


def test_unconnected_leaves_of_nests() -> None:
    gradient = gradc.grad(lambda p: p["a"] ** 2, unconnected="none")
    assert gradient({"a": 3.0, "b": np.ones(2)}) == {"a": 6.0, "b": None}


def test_paths_through_control_flow() -> None:
    def f(x, y, z):
        carried = gradc.fori_loop(0, 3, lambda i, s: (s[0] + s[1], s[1], s[2] * z), (x, y, 1.0))
        return gradc.cond(x > 0, lambda: carried[0], lambda: carried[1])

    gradient = gradc.grad(f, wrt=(0, 1, 2), unconnected="none")
    assert gradient(1.0, 2.0, 3.0) == (1.0, 3.0, None)


def test_zero_is_a_connection_and_disconnected_is_none() -> None:
    for fence, found in ((gradc.stop_gradient, 0.0), (gradc.disconnected, None)):
        gradient = gradc.grad(
            lambda x, y, fence=fence: fence(x) * y, wrt=(0, 1), unconnected="none"
        )
        assert gradient(3.0, 2.0) == (found, 3.0)
    assert gradc.grad(lambda x: x * gradc.disconnected(x))(3.0) == 3.0
    assert gradc.jvp(lambda x: x * gradc.disconnected(x), (3.0,), (1.0,)) == (9.0, 3.0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_not_finite_as_zero_is_counted(dtype) -> None:
    x = np.array([0.0, 4.0], dtype)
    gradient = gradc.grad(roots, nonfinite="zero")
    assert gradient(x).tolist() == [0.0, 0.25]
    assert gradient(x).dtype == dtype
    assert gradient.replaced == 2
    assert gradc.grad(roots)(x).tolist() == [np.inf, 0.25]
    value, pullback = gradc.vjp(roots, x, nonfinite="zero")
    assert value == 2.0
    assert pullback(dtype(1))[0].tolist() == [0.0, 0.25]
    assert gradc.jvp(roots, (x,), (np.ones_like(x),), nonfinite="zero") == (2.0, 0.0)


def test_not_finite_as_an_error_names_op_and_line() -> None:
    for ask in (
        lambda: gradc.grad(roots, nonfinite="raise")(np.array([0.0, 4.0])),
        lambda: gradc.vjp(roots, np.array([0.0, 4.0]), nonfinite="raise")[1](1.0),
        lambda: gradc.jvp(roots, (np.zeros(1),), (np.ones(1),), nonfinite="raise"),
    ):
        with pytest.raises(gradc.NonFiniteError, match="div makes the first inf") as error:
            ask()
        assert "return np.sum(np.sqrt(x))" in str(error.value)
    assert gradc.grad(roots, nonfinite="raise")(np.array([4.0])).tolist() == [0.25]
    with pytest.raises(gradc.TraceError, match="needs numbers"):
        gradc.compile(lambda x: gradc.grad(roots, nonfinite="raise")(x))(X)


def test_one_array_given_twice() -> None:
    assert [g.tolist() for g in gradc.grad(dot, wrt=(0, 1))(X, X)] == [[1, 2, 3], [1, 2, 3]]
    same = gradc.grad(dot, wrt=(0, 1), aliases="same")
    assert [g.tolist() for g in same(X, X)] == [[2, 4, 6], [2, 4, 6]]
    assert [g.tolist() for g in same(X, X.copy())] == [[1, 2, 3], [1, 2, 3]]
    assert gradc.jvp(dot, (X, X), (X, None), aliases="same") == (14.0, 28.0)
    nested = gradc.grad(lambda xs: np.sum(xs[0] * xs[1]), aliases="same")([X, X])
    assert [g.tolist() for g in nested] == [[2, 4, 6], [2, 4, 6]]
    primals, tangents = ({"a": X, "b": 1.0}, X), ({"a": X, "b": 0.0}, None)
    found = gradc.jvp(lambda p, x: np.sum(p["a"] * x) * p["b"], primals, tangents, aliases="same")
    assert found == (14.0, 28.0)
    pulled = gradc.vjp(dot, X, X, aliases="same")[1](1.0)
    assert [g.tolist() for g in pulled] == [[2, 4, 6], [2, 4, 6]]


def test_integers_as_floats() -> None:
    whole = np.array([1, 2, 3])
    gradient = gradc.grad(lambda x: np.mean(x), int_args="float")(whole)
    assert gradient.tolist() == [1 / 3] * 3
    assert gradient.dtype == np.float64
    assert gradc.grad(lambda x: x**2, int_args="float")(3) == 6.0
    assert gradc.vjp(lambda x: x**2, 3, int_args="float")[1](1.0) == (6.0,)
    assert gradc.jvp(lambda x: x**2, (3,), (1.0,), int_args="float") == (9.0, 6.0)
    with pytest.raises(TypeError, match="floating point"):
        gradc.grad(lambda x: np.mean(x))(whole)


def test_policies_in_traced_code() -> None:
    def f(x):
        by_x, by_y = gradc.grad(
            lambda x, y: np.sum(np.sqrt(x)), wrt=(0, 1), unconnected="none", nonfinite="zero"
        )(x, x)
        assert by_y is None
        a, b = gradc.grad(dot, wrt=(0, 1), aliases="same")(x, x)
        _, pullback = gradc.vjp(dot, x, x, aliases="same")
        _, tangent = gradc.jvp(roots, (x,), (np.ones_like(x),), nonfinite="zero")
        return by_x, a, b, *pullback(1.0), tangent

    found = gradc.compile(f)(np.array([0.0, 4.0]))
    assert [x.tolist() for x in found] == [[0.0, 0.25], *[[0.0, 8.0]] * 4, 0.0]


def test_the_options_of_a_compiled_function_hold() -> None:
    fast = gradc.compile(roots, fast=True)
    assert gradc.grad(fast, nonfinite="zero")(np.array([0.0, 4.0])).tolist() == [0.0, 0.25]

    @gradc.compile(stable=False)
    def naive(x):
        return np.log(1 + np.exp(x))

    assert np.isnan(gradc.grad(naive, aliases="same")(800.0))
    assert gradc.grad(naive, nonfinite="zero")(800.0) == 0.0


def test_variables_have_policies_too() -> None:
    w, unused = gradc.Variable(np.ones(3)), gradc.Variable(2.0)
    gradient = gradc.grad(lambda x: np.sum(w * x), wrt=(w, unused), unconnected="none")
    by_w, by_unused = gradient(X)
    assert by_w.tolist() == X.tolist()
    assert by_unused is None


def test_a_pass_applies_them_to_a_derivative() -> None:
    traced = trace(dot, [X, X]).function
    plain = vjp(traced, (0, 1), seeds="ones")
    policies = Policies(nonfinite="zero", aliases="same", unconnected="none")
    policed = ApplyPolicies("dot", policies, (True, False), groups=(0, 0))
    made = policed(plain)
    verify(made)
    assert made.name == "dot"
    bad = np.array([np.inf, 1.0, np.nan])
    results, count = policed.unpacked(interpret(made, [X, bad]))
    assert count == 4
    # the second one is that of the first, as they are one array
    assert [g.tolist() for g in results[1:]] == [[0.0, 1.0, 0.0]] * 2
    alone = ApplyPolicies("dot", policies, (True, False))
    results, count = alone.unpacked(interpret(alone(plain), [X, X]))
    assert (results[2], count) == (None, 0)


def test_static_arguments_under_policies() -> None:
    @gradc.compile(static="how")
    def f(x, how):
        return np.sqrt(x) if how == "root" else x**2

    assert gradc.grad(f, nonfinite="zero")(0.0, "root") == 0.0
    assert gradc.vjp(f, 3.0, "square", unconnected="none")[1](1.0) == (6.0,)


def test_a_pullback_under_policies_keeps_what_it_needs() -> None:
    x = X.copy()
    _, pullback = gradc.vjp(lambda x: np.sum(x**2), x, nonfinite="zero")
    x[:] = 0.0
    assert pullback(1.0)[0].tolist() == [2.0, 4.0, 6.0]


@pytest.mark.parametrize("policy", ["unconnected", "nonfinite", "aliases", "int_args"])
def test_other_choices_are_refused(policy: str) -> None:
    with pytest.raises(ValueError, match=f"{policy}='sometimes' is no policy"):
        gradc.grad(double, **{policy: "sometimes"})
    with pytest.raises(gradc.PolicyError):
        gradc.jvp(double, (1.0, 2.0), (1.0, 1.0), **{policy: "sometimes"})
