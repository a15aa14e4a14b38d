"""The derivatives a user asks for, against formulas in NumPy, alone and nested in one another."""

from __future__ import annotations

import numpy as np
import pytest

import gradc
from tests.comparing import assert_same_bits

X = np.array([0.3, -1.2, 2.0])


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def rosenbrock_gradient(x):
    out = np.zeros_like(x)
    out[1:] += 200 * (x[1:] - x[:-1] ** 2)
    out[:-1] += -400 * x[:-1] * (x[1:] - x[:-1] ** 2) - 2 * (1 - x[:-1])
    return out


def rosenbrock_hessian(x):
    n = len(x)
    out = np.zeros((n, n))
    for i in range(n - 1):
        out[i, i] += 1200 * x[i] ** 2 - 400 * x[i + 1] + 2
        out[i + 1, i + 1] += 200
        out[i, i + 1] -= 400 * x[i]
        out[i + 1, i] -= 400 * x[i]
    return out


def polar(x):
    return np.stack([x[0] * np.cos(x[1]), x[0] * np.sin(x[1])])


POINT = np.array([2.0, 0.5])
POLAR_JACOBIAN = np.array(
    [[np.cos(0.5), -2 * np.sin(0.5)], [np.sin(0.5), 2 * np.cos(0.5)]],
)


@pytest.mark.parametrize("form", [lambda f: gradc.compile(f).grad, gradc.grad])
def test_grad(form) -> None:
    np.testing.assert_allclose(form(rosenbrock)(X), rosenbrock_gradient(X), rtol=1e-13)


def test_value_and_grad() -> None:
    value, gradient = gradc.value_and_grad(rosenbrock)(X)
    assert value == pytest.approx(rosenbrock(X), rel=1e-14)
    np.testing.assert_allclose(gradient, rosenbrock_gradient(X), rtol=1e-13)


def test_wrt_by_position_name_and_tuple() -> None:
    def f(x, y, z):
        return x * y + y * z

    compiled = gradc.compile(f)
    assert compiled.grad(2.0, 3.0, 4.0) == 3.0
    assert compiled.grad(2.0, 3.0, 4.0, wrt=-1) == 3.0
    assert compiled.grad(2.0, 3.0, 4.0, wrt="y") == 6.0
    assert compiled.grad(2.0, 3.0, 4.0, wrt=(0, "y")) == (3.0, 6.0)
    assert compiled.grad(2.0, 3.0, 4.0, wrt=(1,)) == (6.0,)
    assert compiled.grad(2.0, 3.0, 4.0, argnums=(0, 2)) == (3.0, 3.0)
    assert gradc.grad(f, argnums=1)(2.0, 3.0, 4.0) == 6.0
    assert gradc.grad(f, wrt="z")(2.0, 3.0, z=4.0) == 3.0


def test_wrt_and_argnums_are_one_thing() -> None:
    with pytest.raises(TypeError, match="the same thing"):
        gradc.grad(rosenbrock, wrt=0, argnums=0)
    with pytest.raises(TypeError, match="the same thing"):
        gradc.compile(rosenbrock).grad(X, wrt=0, argnums=0)


@pytest.mark.parametrize("wrt", [3, "w", 1.5, None])
def test_a_wrt_that_names_nothing(wrt) -> None:
    compiled = gradc.compile(lambda x, y: x * y)
    if wrt is None:
        assert compiled.grad(2.0, 3.0, wrt=None) == 3.0
        return
    with pytest.raises(TypeError, match="wrt"):
        compiled.grad(2.0, 3.0, wrt=wrt)


def test_a_parameter_called_wrt() -> None:
    def f(x, wrt):
        return x * wrt

    with pytest.raises(TypeError, match=r"gradc\.grad"):
        gradc.compile(f).grad(2.0, 3.0)
    assert gradc.grad(f)(2.0, wrt=3.0) == 3.0


def test_has_aux() -> None:
    def f(x):
        return np.sum(x * x), {"double": 2 * x, "count": 3}

    (value, aux), gradient = gradc.value_and_grad(f, has_aux=True)(X)
    assert value == pytest.approx(np.sum(X * X))
    assert_same_bits(aux["double"], 2 * X)
    assert aux["count"] == 3
    assert_same_bits(gradient, 2 * X)
    gradient, aux = gradc.grad(f, has_aux=True)(X)
    assert_same_bits(gradient, 2 * X)
    (_, aux), _ = gradc.compile(f).value_and_grad(X, has_aux=True)
    assert_same_bits(aux["double"], 2 * X)
    with pytest.raises(ValueError, match="has_aux"):
        gradc.value_and_grad(rosenbrock, has_aux=True)(X)


def test_jvp() -> None:
    tangent = np.array([1.0, -0.5])
    for value, pushed in (
        gradc.jvp(polar, (POINT,), (tangent,)),
        gradc.compile(polar).jvp((POINT,), (tangent,)),
    ):
        np.testing.assert_allclose(value, polar(POINT), rtol=1e-15)
        np.testing.assert_allclose(pushed, POLAR_JACOBIAN @ tangent, rtol=1e-14)


def test_vjp() -> None:
    cotangent = np.array([1.0, -0.5])
    for value, pullback in (gradc.vjp(polar, POINT), gradc.compile(polar).vjp(POINT)):
        np.testing.assert_allclose(value, polar(POINT), rtol=1e-15)
        (pulled,) = pullback(cotangent)
        np.testing.assert_allclose(pulled, cotangent @ POLAR_JACOBIAN, rtol=1e-14)
        (again,) = pullback(2 * cotangent)
        np.testing.assert_allclose(again, 2 * pulled, rtol=1e-15)


def test_a_pullback_keeps_its_values() -> None:
    x = np.array([1.0, 2.0])
    _, pullback = gradc.vjp(lambda x: x * x, x)
    x[:] = 100.0
    assert pullback(np.ones(2))[0].tolist() == [2.0, 4.0]


def test_vjp_of_nests() -> None:
    def f(p, k):
        return {"a": p["x"] * p["y"], "b": p["x"] + k}

    value, pullback = gradc.vjp(f, {"x": 2.0, "y": 3.0}, 5)
    assert value == {"a": 6.0, "b": 7.0}
    pulled, none = pullback({"a": 1.0, "b": 10.0})
    assert pulled == {"x": 13.0, "y": 2.0}
    assert none is None
    with pytest.raises(ValueError, match="cotangent"):
        pullback(1.0)


def test_linearize() -> None:
    value, push = gradc.linearize(polar, POINT)
    np.testing.assert_allclose(value, polar(POINT), rtol=1e-15)
    for tangent in np.eye(2):
        np.testing.assert_allclose(push(tangent), POLAR_JACOBIAN @ tangent, rtol=1e-14)
    with pytest.raises(ValueError, match="tangent"):
        push(np.ones(3))


@pytest.mark.parametrize("mode", ["forward", "reverse", "auto"])
def test_jacobian(mode: str) -> None:
    found = gradc.jacobian(polar, mode=mode)(POINT)
    np.testing.assert_allclose(found, POLAR_JACOBIAN, rtol=1e-14)
    np.testing.assert_allclose(gradc.compile(polar).jacobian(POINT, mode=mode), found, rtol=1e-15)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_jacobian_of_nests(mode: str) -> None:
    def f(p):
        return {"s": np.sum(p["a"]) * p["b"], "v": p["a"] * p["b"]}

    found = gradc.jacobian(f, mode=mode)({"a": np.array([1.0, 2.0]), "b": 3.0})
    assert found["s"]["a"].tolist() == [3, 3]
    assert found["s"]["b"] == 3
    assert found["v"]["a"].tolist() == [[3, 0], [0, 3]]
    assert found["v"]["b"].tolist() == [1, 2]


def test_hessian_and_hvp() -> None:
    wanted = rosenbrock_hessian(X)
    vector = np.array([1.0, 2.0, -1.0])
    compiled = gradc.compile(rosenbrock)
    for found in (gradc.hessian(rosenbrock)(X), compiled.hessian(X)):
        np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-12)
    for found in (gradc.hvp(rosenbrock, (X,), vector), compiled.hvp((X,), vector)):
        np.testing.assert_allclose(found, wanted @ vector, rtol=1e-13)
    nested = gradc.jacobian(gradc.grad(rosenbrock))(X)
    np.testing.assert_allclose(nested, wanted, rtol=1e-13, atol=1e-12)


def test_hessian_by_several_arguments() -> None:
    def f(x, y):
        return x * x * y + y * y

    (xx, xy), (yx, yy) = gradc.hessian(f, wrt=(0, 1))(3.0, 5.0)
    assert (xx, xy, yx, yy) == (10.0, 6.0, 6.0, 2.0)
    assert gradc.hvp(f, (3.0, 5.0), (1.0, 2.0), wrt=(0, 1)) == (22.0, 10.0)


def test_derivatives_of_any_order() -> None:
    f = lambda x: np.sin(2 * x)  # noqa: E731 - the derivatives below have no better name
    x = 0.7
    for order, wanted in enumerate(
        [np.sin(1.4), 2 * np.cos(1.4), -4 * np.sin(1.4), -8 * np.cos(1.4), 16 * np.sin(1.4)]
    ):
        g = f
        for _ in range(order):
            g = gradc.grad(g)
        assert gradc.compile(g)(x) == pytest.approx(wanted, rel=1e-14)


def test_modes_nest_in_every_way() -> None:
    def f(x):
        return np.sum(np.exp(x) * np.sin(x))

    x, v = np.array([0.1, 0.2]), np.array([1.0, -2.0])
    second = 2 * np.exp(x) * np.cos(x) * v
    forward_reverse = gradc.jvp(gradc.grad(f), (x,), (v,))[1]
    reverse_forward = gradc.grad(lambda x: gradc.jvp(f, (x,), (v,))[1])(x)
    reverse_reverse = gradc.grad(lambda x: np.sum(gradc.grad(f)(x) * v))(x)
    by_pullback = gradc.grad(lambda x: np.sum(gradc.vjp(f, x)[1](1.0)[0] * v))(x)
    by_linearize = gradc.grad(lambda x: gradc.linearize(f, x)[1](v))(x)
    for found in (forward_reverse, reverse_forward, reverse_reverse, by_pullback, by_linearize):
        np.testing.assert_allclose(found, second, rtol=1e-14)


def test_a_gradient_inside_traced_code() -> None:
    @gradc.compile
    def step(x, rate):
        return x - rate * gradc.grad(rosenbrock)(x)

    np.testing.assert_allclose(step(X, 1e-3), X - 1e-3 * rosenbrock_gradient(X), rtol=1e-14)


def test_transforms_inside_traced_code() -> None:
    def every(x, v):
        value, pushed = gradc.jvp(polar, (x,), (v,))
        _, pullback = gradc.vjp(polar, x)
        return {
            "value": value,
            "jvp": pushed,
            "vjp": pullback(v)[0],
            "linearize": gradc.linearize(polar, x)[1](v),
            "jacobian": gradc.jacobian(polar)(x),
            "hessian": gradc.hessian(rosenbrock)(x),
            "hvp": gradc.hvp(rosenbrock, (x,), v),
            "both": gradc.value_and_grad(rosenbrock)(x),
        }

    v = np.array([1.0, -0.5])
    found = gradc.compile(every)(POINT, v)
    np.testing.assert_allclose(found["value"], polar(POINT), rtol=1e-15)
    np.testing.assert_allclose(found["jvp"], POLAR_JACOBIAN @ v, rtol=1e-14)
    np.testing.assert_allclose(found["vjp"], v @ POLAR_JACOBIAN, rtol=1e-14)
    np.testing.assert_allclose(found["linearize"], POLAR_JACOBIAN @ v, rtol=1e-14)
    np.testing.assert_allclose(found["jacobian"], POLAR_JACOBIAN, rtol=1e-14)
    np.testing.assert_allclose(found["hessian"], rosenbrock_hessian(POINT), rtol=1e-13)
    np.testing.assert_allclose(found["hvp"], rosenbrock_hessian(POINT) @ v, rtol=1e-13)
    np.testing.assert_allclose(found["both"][1], rosenbrock_gradient(POINT), rtol=1e-13)


def test_a_gradient_by_a_value_that_is_captured_by_the_inner_function() -> None:
    def f(x):
        return gradc.grad(lambda y: x * x * y * y)(3.0)

    assert gradc.compile(f)(2.0) == 24.0
    assert gradc.grad(f)(2.0) == 24.0


def test_captured_arrays_are_constants_of_the_derivative() -> None:
    weights = np.array([1.0, 2.0, 3.0])

    def f(x):
        return np.sum(weights * x * x)

    np.testing.assert_allclose(gradc.grad(f)(X), 2 * weights * X, rtol=1e-15)
    np.testing.assert_allclose(gradc.hessian(f)(X), np.diag(2 * weights), rtol=1e-15)


def test_compiled_functions_inside_transforms_and_traces() -> None:
    @gradc.compile
    def square(x):
        return x * x

    @gradc.compile
    def outer(x):
        return square(x) + 1

    assert outer(3.0) == 10.0
    assert gradc.grad(square)(3.0) == 6.0
    assert gradc.grad(gradc.grad(square))(3.0) == 2.0
    assert gradc.grad(lambda x: square(x) * x)(3.0) == 27.0


def test_integer_arguments_stand_by() -> None:
    def f(x, i, flag):
        return np.sum(np.where(flag, x * i, x))

    assert gradc.grad(f)(X, 3, True).tolist() == [3, 3, 3]
    value, pushed = gradc.jvp(f, (X, 3, False), (np.ones(3), None, None))
    assert pushed == 3.0
    assert value == np.sum(X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradients_keep_the_dtype(dtype) -> None:
    def f(x, w):
        return np.mean(np.tanh(x @ w)) * 2.0 + 1

    x, w = np.ones((2, 3), dtype), np.ones(3, dtype)
    value, (by_x, by_w) = gradc.value_and_grad(f, wrt=(0, 1))(x, w)
    assert value.dtype == by_x.dtype == by_w.dtype == dtype
    assert gradc.hessian(f, wrt=1)(x, w).dtype == dtype


def test_a_gradient_with_casts_between_dtypes() -> None:
    def f(x):
        return np.sum(x.astype(np.float64) ** 2)

    found = gradc.grad(f)(np.array([1, 2], dtype=np.float32))
    assert_same_bits(found, np.array([2, 4], dtype=np.float32))


def test_a_function_is_asked_for_not_its_value() -> None:
    with pytest.raises(TypeError, match=r"gradc\.grad\(fn\)\(x\)"):
        gradc.grad(3.0)
    with pytest.raises(TypeError, match="takes a function"):
        gradc.compile(3.0)


def test_the_number_of_tangents_is_that_of_the_arguments() -> None:
    with pytest.raises(ValueError, match="2 primals but 1 tangents"):
        gradc.jvp(lambda x, y: x * y, (1.0, 2.0), (1.0,))
    with pytest.raises(TypeError, match="tuple"):
        gradc.jvp(lambda x: x, 1.0, 1.0)


# -- whole numbers ---------------------------------------------------------------------------------


def scaled(p):
    return p["x"] * np.sin(p["n"])


@pytest.mark.parametrize("how", ["jvp", "linearize", "nested"])
def test_a_tangent_of_a_whole_number_is_no_direction(how: str) -> None:
    """By a whole number nothing has a derivative: to leave its tangent out was a wrong number."""

    def pushed(function, primals, tangents):
        if how == "jvp":
            return gradc.jvp(function, primals, tangents)[1]
        if how == "linearize":
            return gradc.linearize(function, *primals)[1](*tangents)
        inner = gradc.compile(lambda *x: gradc.jvp(function, x, tangents)[1])
        return inner(*primals)

    with pytest.raises(gradc.GradcError, match="the tangent of n is not zero") as error:
        pushed(lambda n: np.sin(n), (3,), (1.0,))
    assert "pass n as float" in str(error.value)
    point = {"x": 2.0, "n": 3}
    assert pushed(scaled, (point,), ({"x": 1.0, "n": 0},)) == np.sin(3)
    with pytest.raises(gradc.GradcError, match=r"the tangent of p\.n is not zero"):
        pushed(scaled, (point,), ({"x": 1.0, "n": 1},))
