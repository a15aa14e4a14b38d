"""The behaviours of tf.autodiff.ForwardAccumulator's reference page, one test or more a row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradc
from gradc.compat.tf import ForwardAccumulator, GradientTape
from tests.comparing import assert_same_bits
from tests.scratch import scratch_bytes

both_dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])

# -- B18: columns by forward mode, rows by reverse mode --------------------------------------------

# targets -> value, gradient by the kernel, gradient by the bias
REGRESSIONS = {
    "a column": ([[1.0], [-1.0]], 52.0, [28.0, 72.0], 20.0),
    # the page prints the targets flat: taken literally they broadcast (2, 1) against (2,) to
    # (2, 2), which sums four squares instead of two
    "flat, as printed": ([1.0, -1.0], 104.0, [60.0, 140.0], 40.0),
}
regressions = pytest.mark.parametrize("targets", REGRESSIONS)


def regression(targets: str, dtype: Any) -> tuple[Any, Any, Any, float, list[float], float]:
    given, value, by_kernel, by_bias = REGRESSIONS[targets]
    x = np.array([[2.0, 3.0], [1.0, 4.0]], dtype)
    target = np.array(given, dtype)

    def loss(kernel, bias):
        return np.sum((x @ kernel + bias - target) ** 2.0)

    return loss, np.ones((2, 1), dtype), np.zeros(1, dtype), value, by_kernel, by_bias


@both_dtypes
@regressions
def test_b18_columns_by_forward_mode_rows_by_reverse(targets: str, dtype: Any) -> None:
    loss, kernel, bias, value, by_kernel, by_bias = regression(targets, dtype)
    found, (kernel_grad, bias_grad) = gradc.value_and_grad(loss, wrt=(0, 1))(kernel, bias)
    assert_same_bits(found, dtype(value))
    assert_same_bits(kernel_grad, np.array(by_kernel, dtype)[:, None])
    assert_same_bits(bias_grad, np.array([by_bias], dtype))
    for column, want in zip(np.eye(2, dtype=dtype)[:, :, None], by_kernel, strict=True):
        assert gradc.jvp(loss, (kernel, bias), (column, None)) == (value, want)
    assert gradc.jvp(loss, (kernel, bias), (None, np.ones(1, dtype))) == (value, by_bias)


@both_dtypes
@regressions
def test_b18_as_the_page_writes_it(targets: str, dtype: Any) -> None:
    loss, kernel, bias, value, by_kernel, by_bias = regression(targets, dtype)
    kernel_fprop = []
    for column in np.eye(2, dtype=dtype)[:, :, None]:
        with ForwardAccumulator(kernel, column) as acc:
            kernel_fprop.append(acc.jvp(loss(acc.primals, bias)))
    with ForwardAccumulator(bias, np.ones(1, dtype)) as acc:
        bias_fprop = acc.jvp(loss(kernel, acc.primals))
    with GradientTape() as tape:
        watched = tape.watch((kernel, bias))
        found = loss(*watched)
    kernel_grad, bias_grad = tape.gradient(found, watched)
    np.testing.assert_allclose(kernel_grad, np.stack(kernel_fprop)[:, np.newaxis])
    np.testing.assert_allclose(bias_grad, bias_fprop[np.newaxis])
    assert (kernel_fprop, bias_fprop, float(found)) == (by_kernel, by_bias, value)
    assert kernel_grad.dtype == bias_fprop.dtype == dtype


# -- B19 to B21: primals and tangents --------------------------------------------------------------


def product(p):
    return np.sum(p["w"]) * p["b"]


PRIMAL = {"w": np.ones(3), "b": 2.0}


def test_b19_a_tangent_of_another_shape_names_the_leaf_and_both_shapes() -> None:
    tangent = {"w": np.ones(4), "b": 1.0}
    with pytest.raises(ValueError, match=r"of p\.w has shape \(4,\), p\.w has \(3,\)"):
        gradc.jvp(product, (PRIMAL,), (tangent,))
    nested = gradc.compile(lambda p, t: gradc.jvp(product, (p,), (t,))[1])
    with pytest.raises(ValueError, match=r"of p\.w is f64\[4\], p\.w is f64\[3\]"):
        nested(PRIMAL, tangent)
    with pytest.raises(ValueError, match=r"primals\.w has shape \(4,\), primals\.w has \(3,\)"):
        ForwardAccumulator(PRIMAL, tangent)


def test_b19_a_tangent_of_another_nest() -> None:
    with pytest.raises(ValueError, match="nest of p"):
        gradc.jvp(product, (PRIMAL,), ({"w": np.ones(3)},))
    with pytest.raises(ValueError, match="nest of the primals"):
        ForwardAccumulator(PRIMAL, {"w": np.ones(3)})
    with pytest.raises(ValueError, match="1 primals but 2 tangents"):
        gradc.jvp(product, (PRIMAL,), (PRIMAL, PRIMAL))


@pytest.mark.parametrize("same", [np.ones(2), gradc.Variable(np.ones(2))])
def test_b20_the_same_primal_twice_names_both_paths(same: Any) -> None:
    with pytest.raises(ValueError, match=r"primals\[0\] and primals\[1\]\.a are the same") as error:
        ForwardAccumulator([same, {"a": same}], [np.ones(2), {"a": np.ones(2)}])
    assert "with the sum of the two tangents" in str(error.value)
    # TensorFlow's own message still holds the braces of its format
    assert "{}" not in str(error.value)


def test_b21_what_is_left_out_has_a_zero_tangent() -> None:
    def f(x, y):
        return x * y

    assert gradc.jvp(f, (2.0, 3.0), (1.0, None)) == (6.0, 3.0)
    assert gradc.jvp(f, (2.0, 3.0), (None, 1.0)) == (6.0, 2.0)
    assert gradc.jvp(f, (2.0, 3.0), (0.5,), wrt="x") == (6.0, 1.5)
    with ForwardAccumulator(2.0, 0.5) as acc:
        assert acc.jvp(f(acc.primals, 3.0)) == 1.5


# -- B22 to B24: nesting ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "first", "second"),
    [
        (np.float32, 4.4417057, 10.094786),
        (np.float64, 4.441705472000592, 10.094785163637711),
    ],
)
def test_b22_forward_over_forward(dtype: Any, first: float, second: float) -> None:
    def f(x):
        return x ** dtype(3.5)

    def pushed(x):
        return gradc.jvp(f, (x,), (dtype(1),))[1]

    tolerance = 4 * float(np.finfo(dtype).eps)
    with (
        ForwardAccumulator(dtype(1.1), dtype(1)) as outer,
        ForwardAccumulator(outer.primals, dtype(1)) as inner,
    ):
        primal_out = f(inner.primals)
    inner_jvp = inner.jvp(primal_out)
    nested = gradc.jvp(pushed, (dtype(1.1),), (dtype(1),))
    for one, other in (nested, (inner_jvp.value, outer.jvp(inner_jvp))):
        assert one.dtype == other.dtype == dtype
        assert one == pytest.approx(first, rel=tolerance)
        assert other == pytest.approx(second, rel=tolerance)


def test_b23_no_perturbation_confusion() -> None:
    def f(x):
        return x * gradc.jvp(lambda y: x + y, (1.0,), (1.0,))[1]

    def g(x):
        return x * gradc.grad(lambda y: x + y)(1.0)

    for function in (f, g):
        assert gradc.jvp(function, (1.0,), (1.0,))[1] == 1.0
        assert gradc.grad(function)(1.0) == 1.0


def test_b23_nested_in_either_order_is_the_same_number() -> None:
    def f(x, y):
        return x**2 * y**3

    def by_x(x, y):
        return gradc.jvp(f, (x, y), (1.0, None))[1]

    def by_y(x, y):
        return gradc.jvp(f, (x, y), (None, 1.0))[1]

    one = gradc.jvp(by_x, (2.0, 3.0), (None, 1.0))[1]
    other = gradc.jvp(by_y, (2.0, 3.0), (1.0, None))[1]
    assert one == other == 108.0


def test_b23_recorders_see_only_what_is_within_them() -> None:
    with ForwardAccumulator(1.0, 1.0) as outer:
        x = outer.primals
        with ForwardAccumulator(x, 1.0) as inner:
            y = x + inner.primals
        z = x * inner.jvp(y)
    assert (inner.jvp(y).value, outer.jvp(z), outer.jvp(y)) == (2.0, 2.0, 2.0)
    assert inner.jvp(z) is None
    # the page: reversing the collection "will not work"
    assert inner.jvp(outer.jvp(y)) is None


def cubes(v):
    return np.sum(v**3.0)


@both_dtypes
def test_b24_hessian_vector_product_forward_over_reverse(dtype: Any) -> None:
    v = np.array([1.0, 2.0], dtype=dtype)
    direction = np.array([1.0, 0.0], dtype=dtype)
    backward, product = gradc.jvp(gradc.grad(cubes), (v,), (direction,))
    assert_same_bits(backward, np.array([3, 12], dtype=dtype))
    assert_same_bits(product, np.array([6, 0], dtype=dtype))
    assert_same_bits(gradc.hvp(cubes, (v,), direction), np.array([6, 0], dtype=dtype))
    with ForwardAccumulator(gradc.Variable(v), direction) as acc:
        with GradientTape() as tape:
            watched = tape.watch(acc.primals)
            y = cubes(watched)
        backward = tape.gradient(y, watched)
    assert_same_bits(backward.value, np.array([3, 12], dtype=dtype))
    assert_same_bits(acc.jvp(backward), np.array([6, 0], dtype=dtype))


def chain(x):
    return np.sum(gradc.fori_loop(0, 500, lambda i, y: np.sin(y) * x, x))


def test_b24_forward_over_reverse_holds_no_more_than_reverse_over_reverse() -> None:
    def reverse_over_reverse(x, v):
        return gradc.grad(lambda x: np.sum(gradc.grad(chain)(x) * v))(x)

    forward = gradc.compile(chain).ir("x: f64[16]", of="hvp")
    reverse = gradc.compile(reverse_over_reverse).ir("x: f64[16], v: f64[16]")
    assert 0 < scratch_bytes(forward) <= scratch_bytes(reverse)


# -- B25 to B28 ------------------------------------------------------------------------------------


def doubled(y, z):
    return 2 * y


# policy -> what it gives for the argument that nothing depends on
UNCONNECTED = {"zero": 0.0, "none": None}


@pytest.mark.parametrize("policy", UNCONNECTED)
def test_b25_an_unconnected_argument(policy: str) -> None:
    want = UNCONNECTED[policy]
    assert gradc.grad(doubled, wrt=(0, 1), unconnected=policy)(1.0, 5.0) == (2.0, want)
    assert gradc.jvp(doubled, (1.0, 5.0), (None, 1.0), unconnected=policy) == (2.0, want)
    assert gradc.vjp(doubled, 1.0, 5.0, unconnected=policy)[1](1.0) == (2.0, want)
    with GradientTape(persistent=True) as tape:
        y, z = tape.watch((1.0, 5.0))
        doubled_y = doubled(y, z)
    gradient = tape.gradient(doubled_y, [y, z], unconnected_gradients=policy)
    assert gradient == [2.0, want]
    with ForwardAccumulator(5.0, 1.0) as acc:
        found = acc.jvp(doubled(np.float64(1.0), acc.primals), unconnected_gradients=policy)
    assert found == want


def test_b25_the_defaults() -> None:
    assert gradc.grad(doubled, wrt=1)(1.0, 5.0) == 0.0
    assert gradc.jvp(doubled, (1.0, 5.0), (None, 1.0))[1] == 0.0
    assert gradc.grad(lambda y, z: np.sum(y), wrt="z")(1.0, np.ones(3)).tolist() == [0, 0, 0]
    # TensorFlow's default is none
    with ForwardAccumulator(5.0, 1.0) as acc:
        assert acc.jvp(np.float64(1.0)) is None


def test_b25_raising_and_a_policy_that_is_none() -> None:
    for ask in (
        lambda policy: gradc.grad(doubled, wrt=(0, 1), unconnected=policy)(1.0, 5.0),
        lambda policy: gradc.jvp(doubled, (1.0, 5.0), (None, 1.0), unconnected=policy),
        lambda policy: gradc.vjp(doubled, 1.0, 5.0, unconnected=policy)[1](1.0),
    ):
        with pytest.raises(gradc.UnconnectedGradientError, match="z"):
            ask("raise")
        with pytest.raises(ValueError, match="'nothing' is no policy"):
            ask("nothing")
    with pytest.raises(ValueError, match="'nothing' is no policy"):
        ForwardAccumulator(5.0, 1.0).jvp(1.0, unconnected_gradients="nothing")


@both_dtypes
def test_b26_a_second_call_returns_the_same_bits_and_compiles_nothing(dtype: Any) -> None:
    f = gradc.compile(lambda x: np.sum(np.sin(x) * np.exp(x)))
    x, tangent = np.linspace(-1, 1, 1001, dtype=dtype), np.linspace(2, 3, 1001, dtype=dtype)
    first = f.jvp((x,), (tangent,))
    second = f.jvp((x,), (tangent,))
    assert_same_bits(second[0], first[0])
    assert_same_bits(second[1], first[1])
    assert [each.of for each in f.signatures] == ["jvp"]
    with ForwardAccumulator(x, tangent) as acc:
        y = np.sum(np.sin(acc.primals) * np.exp(acc.primals))
    assert_same_bits(acc.jvp(y), acc.jvp(y))


def long_chain(length: int) -> Any:
    return gradc.compile(
        lambda x: np.sum(gradc.fori_loop(0, length, lambda i, y: np.sin(y) + x, x))
    )


def test_b27_forward_mode_holds_no_intermediates() -> None:
    forward = {
        length: scratch_bytes(long_chain(length).ir("x: f64[n]", of="jvp"), 64)
        for length in (10, 10_000)
    }
    assert forward[10] == forward[10_000]
    reverse = {
        length: scratch_bytes(long_chain(length).ir("x: f64[n]", of="grad"), 64)
        for length in (10, 10_000)
    }
    assert reverse[10_000] > 100 * reverse[10]  # which holds every step


@both_dtypes
def test_b28_the_tangent_has_dtype_and_shape_of_the_value(dtype: Any) -> None:
    for x in (dtype(2), np.ones((3, 1), dtype), np.ones(0, dtype)):
        value, tangent = gradc.jvp(lambda x: x * 2.0, (x,), (np.ones_like(x),))
        with ForwardAccumulator(x, np.ones_like(x)) as acc:
            recorded = acc.primals * 2.0
        for one, other in ((value, tangent), (recorded.value, acc.jvp(recorded))):
            assert np.asarray(one).dtype == np.asarray(other).dtype == dtype
            assert np.shape(one) == np.shape(other) == np.shape(x)
