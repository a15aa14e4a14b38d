"""Variables: read at every call, differentiated by, set from outside only, safe among threads."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import numpy as np
import pytest

import gradc
from tests.comparing import assert_same_bits
from tests.counting import calls_in
from tests.in_threads import in_threads

X = np.array([1.0, 2.0, 3.0])


@pytest.fixture
def w() -> gradc.Variable:
    return gradc.Variable(np.ones(2), name="w")


def polynomial(w: gradc.Variable) -> Any:
    return lambda x: w[1] * x + w.value[0]


def test_a_new_value_is_read_without_compiling(w: gradc.Variable) -> None:
    f = gradc.compile(polynomial(w))
    assert f(X).tolist() == [2, 3, 4]
    w.value = np.array([10.0, 2.0])
    assert f(X).tolist() == [12, 14, 16]
    assert len(f.signatures) == 1
    assert f.ir(X).names == ("x", "w")


def test_gradients_by_variables_and_arguments(w: gradc.Variable) -> None:
    c = gradc.Variable(2.0, name="c")
    f = gradc.compile(lambda x: c * np.sum(polynomial(w)(x)))
    assert f.grad(X, wrt=w).tolist() == [6, 12]
    assert f.grad(X, wrt=c) == 9
    by_c, by_x, by_w = f.grad(X, wrt=(c, "x", w))
    assert (by_c, by_x.tolist(), by_w.tolist()) == (9, [2, 2, 2], [6, 12])
    w.value = np.array([0.0, 3.0])
    c.value = 1
    value, (by_w, by_x) = gradc.value_and_grad(f, wrt=[w, -1])(X)
    assert (value, by_w.tolist(), by_x.tolist()) == (18, [3, 6], [3, 3, 3])
    assert len([each for each in f.signatures if each.of == "grad"]) == 3


def test_every_derivative_in_both_forms(w: gradc.Variable) -> None:
    w.value = np.array([0.5, 2.0])

    def f(x):
        return np.sum(np.exp(w[0] * x) + w[1] ** 2 * x)

    def same(w, x):
        return np.sum(np.exp(w[0] * x) + w[1] ** 2 * x)

    v = np.array([1.0, -1.0])
    for form in (f, gradc.compile(f)):
        for derivative in (gradc.grad, gradc.jacobian, gradc.hessian):
            assert_same_bits(derivative(form, wrt=w)(X), derivative(same)(w.value, X))
        assert_same_bits(gradc.hvp(form, (X,), v, wrt=w), gradc.hvp(same, (w.value, X), v))
        value, tangent = gradc.jvp(form, (X,), (v,), wrt=w)
        assert (value, tangent) == gradc.jvp(same, (w.value, X), (v, None))
        value, pullback = gradc.vjp(form, X, wrt=(0, w))
        by_w, by_x = gradc.vjp(same, w.value, X)[1](2.0)
        for found, wanted in zip(pullback(2.0), (by_x, by_w), strict=True):
            assert_same_bits(found, wanted)


def test_wrt_of_vjp_and_jvp_without_variables() -> None:
    def f(x, y):
        return x * y

    assert gradc.vjp(f, 2.0, 3.0, wrt=1)[1](1.0) == 2
    assert gradc.vjp(f, 2.0, 3.0, wrt=("y",))[1](1.0) == (2,)
    assert gradc.jvp(f, (2.0, 3.0), (5.0,), wrt="y") == (6, 10)
    nested = gradc.compile(lambda x: gradc.vjp(f, x, 3.0, wrt="x")[1](1.0) + x)
    assert nested(2.0) == 5
    with pytest.raises(gradc.ShapeError, match="1 entries of wrt but 2 tangents"):
        gradc.jvp(f, (2.0, 3.0), (5.0, 1.0), wrt=1)
    with pytest.raises(gradc.TraceError, match="'z' is none of the 2 primals"):
        gradc.jvp(f, (2.0, 3.0), (5.0,), wrt="z")


@pytest.mark.parametrize("compiled", [False, True])
def test_derivatives_nest(w: gradc.Variable, compiled: bool) -> None:
    w.value = np.array([2.0, 3.0])

    def cubes(x):
        return np.sum((w.value * x) ** 3)

    def inner(x):
        return np.sum(gradc.grad(cubes, wrt=w)(x))

    def pushed(x):
        return gradc.jvp(cubes, (x,), (np.ones(2),), wrt=w)[1]

    for form in (inner, pushed):
        form = gradc.compile(form) if compiled else form
        assert gradc.grad(form, wrt=w)(2.0).tolist() == [96, 144]
        assert gradc.grad(form)(2.0) == 3 * 3 * 2**2 * (2**2 + 3**2)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_value_read_outside_is_a_number(compiled: bool) -> None:
    """Traced or not, a derivative by w is of what the function itself reads of w."""
    w = gradc.Variable(3.0)

    def f(x):
        outside = w.value
        return gradc.grad(lambda x: outside * w.value * x, wrt=w)(x)

    assert (gradc.compile(f) if compiled else f)(5.0) == 15


def test_through_loops_vmap_and_rules(w: gradc.Variable) -> None:
    def steps(x):
        return gradc.fori_loop(0, 3, lambda i, carry: carry * w[0] + w[1], x)

    w.value = np.array([2.0, 1.0])
    assert gradc.grad(steps, wrt=w)(1.0).tolist() == [3 * 4 + 2 * 2 + 1, 7]
    points = gradc.vmap(steps)
    assert points(X).tolist() == [15, 23, 31]
    total = gradc.grad(lambda x: np.sum(points(x)), wrt=w)
    assert total(X).tolist() == [3 * 4 * 6 + 3 * (2 * 2 + 1), 21]

    @gradc.custom_gradient
    def rule(x):
        def gradient(upstream, variables):
            assert [one.shape for one in variables] == [(2,)]
            return 10 * upstream, [np.stack([100 * upstream, 1000 * upstream])]

        return x * w[0] + w[1], gradient

    assert gradc.grad(rule, wrt=(0, w))(1.0)[1].tolist() == [100, 1000]


def test_in_nests_objects_and_classes() -> None:
    @dataclasses.dataclass
    class Layer:
        weights: gradc.Variable
        bias: gradc.Variable

        def __call__(self, x):
            return x @ self.weights.value + self.bias.value

    layers = {name: Layer(gradc.Variable(np.eye(2)), gradc.Variable(np.zeros(2))) for name in "ab"}

    def f(x):
        return np.sum(layers["b"](layers["a"](x)) ** 2)

    x = np.array([1.0, 2.0])
    found = gradc.grad(f, wrt=(layers["a"].weights, layers["b"].bias))(x)
    assert [each.tolist() for each in found] == [[[2, 4], [4, 8]], [2, 4]]
    layers["b"].bias.value = np.ones(2)
    assert gradc.grad(f, wrt=layers["b"].bias)(x).tolist() == [4, 6]
    layers["b"] = layers["a"]
    assert gradc.grad(f, wrt=layers["b"].bias)(x).tolist() == [4, 8]


def test_a_method_and_an_option(w: gradc.Variable) -> None:
    class Model:
        @gradc.compile
        def loss(self, x):
            return np.sum(w[0] * x) + w[1]

    assert Model().loss.grad(X, wrt=w).tolist() == [6, 1]
    scaled = gradc.compile(lambda x, by: np.sum(w[0] * x) * by, static="by", stable=False)
    assert scaled.grad(X, by=3, wrt=w).tolist() == [18, 0]


def test_what_is_not_read_has_a_zero_gradient(w: gradc.Variable) -> None:
    assert gradc.grad(lambda x: x * x, wrt=(w, 0))(3.0)[0].tolist() == [0, 0]


def test_the_sizes_of_arguments_may_change(w: gradc.Variable) -> None:
    f = gradc.compile(lambda x: np.sum(polynomial(w)(x)))
    assert [f.grad(np.ones(n), wrt=w).tolist() for n in (3, 4, 5)] == [[3, 3], [4, 4], [5, 5]]
    assert len(f.signatures) == 2


ASSIGNMENTS = {
    "w.value = x": lambda w, x: setattr(w, "value", x),
    "w += x": lambda w, x: w.__iadd__(x),
    "w[0] = x": lambda w, x: w.__setitem__(0, x),
    "w.value[0] = x": lambda w, x: w.value.__setitem__(0, x),
}


@pytest.mark.parametrize("how", ASSIGNMENTS)
def test_assignment_in_traced_code_is_refused(w: gradc.Variable, how: str) -> None:
    def f(x):
        if how == "w.value = x":
            w.value = x
        elif how == "w[0] = x":
            w[0] = x
        elif how == "w.value[0] = x":
            w.value[0] = x
        else:
            same = w
            same += x
        return x

    with pytest.raises(gradc.TraceError) as error:
        gradc.compile(f)(1.0)
    assert "set it outside: w.value = step(x)" in str(error.value)
    assert "test_variables.py" in str(error.value)


def test_set_values_keep_shape_and_dtype(w: gradc.Variable) -> None:
    with pytest.raises(gradc.ShapeError) as shape:
        w.value = np.ones(3)
    assert "it holds f64[2], the new value has shape (3,)" in str(shape.value)
    with pytest.raises(gradc.DTypeError) as dtype:
        w.value = np.ones(2, np.float32)
    assert "write value.astype(np.float64)" in str(dtype.value)
    with pytest.raises(gradc.DTypeError, match="the value of a Variable"):
        gradc.Variable("text")
    single = gradc.Variable(np.float32(2))
    single.value = 3
    assert_same_bits(single.value, np.float32(3))


def test_it_is_an_array_outside(w: gradc.Variable) -> None:
    given = np.array([3.0, 4.0])
    w.value = given
    given[0] = 7.0
    assert w.value.tolist() == [3, 4]
    with pytest.raises(ValueError, match="read-only"):
        w.value[0] = 1.0
    w *= 2.0
    w[0] = 5.0
    assert (w + 1).tolist() == [6, 9]
    assert (np.sum(w), np.hypot(w, w).shape, len(w), w.shape, w.sum()) == (13, (2,), 2, (2,), 13)
    assert gradc.grad(lambda w: np.sum(w * w))(w).tolist() == [10, 16]
    for other in (copy.copy(w), copy.deepcopy(w), pickle.loads(pickle.dumps(w))):
        assert other is not w
        assert other.name == "w"
        assert_same_bits(other.value, w.value)
    assert repr(w) == "gradc.Variable(array([5., 8.]), name='w')"
    assert float(gradc.Variable(2.5)) == 2.5
    assert {w: 1}[w] == 1


def test_threads_read_whole_values_and_lose_no_step() -> None:
    w = gradc.Variable(np.zeros(64))
    f = gradc.compile(lambda x: np.max(w * x) - np.min(w * x))
    spread = []

    def run(sign: int) -> None:
        for _ in range(200):
            spread.append(f(np.ones(64)))
            w.__iadd__(np.full(64, float(sign)))

    in_threads(run, [1, 2, 3, 4])
    assert set(spread) == {0.0}
    assert w.value.tolist() == [2000.0] * 64


def test_wrt_refuses_what_is_no_variable() -> None:
    with pytest.raises(gradc.TraceError, match=r"a gradc\.Variable, or a tuple of them"):
        gradc.grad(lambda x: x, wrt=np.ones(2))  # type: ignore[arg-type]
    with pytest.raises(gradc.DTypeError, match="int64"):
        gradc.grad(lambda x: x, wrt=gradc.Variable(1))(1.0)


def test_graphs_and_kernels_have_it_as_an_input(w: gradc.Variable, tmp_path: Any) -> None:
    f = gradc.compile(lambda x: np.sum(polynomial(w)(x)))
    assert f.ir("x: f64[n]").names == ("x", "w")
    gradient = f.ir("x: f64[n]", of="grad", wrt=(w, "x"))
    assert gradient.names == ("w", "x")
    assert [str(type_) for type_ in gradient.result_types] == ["f64[2]", "f64[n]"]
    assert "func @" in f.dump(X, of="grad", wrt=w)
    f.export("poly", spec="x: f64[n]", wrt=w, out=tmp_path)
    header = (tmp_path / "poly.h").read_text()
    assert "poly(w: f64[2], x: f64[n]) -> (y: f64)" in header
    assert "poly_vg(w: f64[2], x: f64[n]) -> (y: f64, g_w: f64[2])" in header


def test_a_survey_sees_it(w: gradc.Variable) -> None:
    found = gradc.compile(polynomial(w)).support(X)
    assert found.ok
    assert found.reverse


@pytest.mark.parametrize("read", [lambda m: m, lambda m: m.value])
def test_a_mask_is_known_by_its_elements(read: Any) -> None:
    mask = gradc.Variable(np.array([True, False, True]), name="mask")
    f = gradc.compile(lambda x: np.sum(x[read(mask)]))
    assert f(X) == 4
    mask.value = np.array([True, True, True])
    assert f(X) == 6


def test_a_call_by_a_variable_goes_straight_to_the_kernel(w: gradc.Variable) -> None:
    f = gradc.compile(lambda x: np.sum(polynomial(w)(x)))
    f.grad(X, wrt=w)
    first = calls_in(lambda: f.grad(X, wrt=w))
    by_argument = calls_in(lambda: f.grad(X))
    assert first < 40 + by_argument
