"""What ``gradc.compile`` promises: calls, nests, dtypes, static arguments, captures, sizes."""

from __future__ import annotations

import dataclasses
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.reports.dump import STAGES
from gradc_ir.text.parser import parse_function
from tests.comparing import assert_same_bits

# -- calls -----------------------------------------------------------------------------------------


def test_a_lambda_can_be_dumped_at_every_stage() -> None:
    f = gradc.compile(lambda x: np.sum(np.exp(x)))
    assert parse_function(f.dump("x: f64[n]", of="grad")) == f.ir("x: f64[n]", of="grad")
    for stage in STAGES:
        assert f.dump("x: f64[n]", of="value_and_grad", stage=stage)


def test_with_and_without_arguments_it_is_a_decorator() -> None:
    @gradc.compile
    def plain(x):
        """Double."""
        return x + x

    @gradc.compile(fast=True)
    def fast(x):
        return x + x

    assert plain(2.0) == fast(2.0) == 4.0
    assert plain.__name__ == "plain"
    assert plain.__doc__ == "Double."
    assert repr(plain) == "<gradc.compile plain(x)>"


def test_positional_keyword_and_default_arguments() -> None:
    @gradc.compile
    def f(x, scale=2.0, *, shift=0.5):
        return x * scale + shift

    assert f(3.0) == 6.5
    assert f(3.0, 4.0) == 12.5
    assert f(x=3.0, scale=4.0, shift=1.0) == 13.0
    assert f(3.0, shift=0.0) == 6.0
    assert f.grad(3.0, 5.0) == 5.0
    assert f.grad(3.0, scale=5.0, wrt="scale") == 3.0
    assert f.grad(3.0, shift=1.0, wrt="shift") == 1.0


def test_star_arguments() -> None:
    @gradc.compile
    def f(*xs, **named):
        return xs[0] * xs[1] + named["a"] * named["b"]

    assert f(2.0, 3.0, a=4.0, b=5.0) == 26.0
    assert f.grad(2.0, 3.0, a=4.0, b=5.0, wrt=1) == 2.0
    assert f.grad(2.0, 3.0, a=4.0, b=5.0, wrt="b") == 4.0


def test_python_s_own_error_for_arguments_that_do_not_bind() -> None:
    @gradc.compile
    def f(x):
        return x

    with pytest.raises(TypeError, match="missing a required argument: 'x'"):
        f()
    with pytest.raises(TypeError, match="too many positional arguments"):
        f(1.0, 2.0)


def test_results_are_numpy_s() -> None:
    @gradc.compile
    def f(x):
        return np.sum(x), x > 0, x[:1]

    total, positive, first = f(np.array([1.0, -2.0]))
    assert type(total) is np.float64
    assert positive.dtype == np.bool_
    assert first.shape == (1,)


def test_a_method() -> None:
    class Model:
        def __init__(self, scale: float) -> None:
            self.scale = scale

        @gradc.compile(static="self")
        def value(self, x):
            return self.scale * x

    assert Model(3.0).value(2.0) == 6.0
    assert Model(4.0).value(2.0) == 8.0


def test_a_lambda_a_partial_and_a_callable_object() -> None:
    import functools

    class Double:
        def __call__(self, x):
            return 2 * x

    def power(n, x):
        return x**n

    assert gradc.compile(lambda x: 2 * x)(3.0) == 6.0
    assert gradc.compile(functools.partial(power, 3))(2.0) == 8.0
    assert gradc.grad(functools.partial(power, 3))(2.0) == 12.0
    assert gradc.compile(Double())(3.0) == 6.0


# -- nests -----------------------------------------------------------------------------------------

Point = namedtuple("Point", "x y")


@dataclasses.dataclass
class Weights:
    w: Any
    b: Any


def test_nests_in_and_out() -> None:
    @gradc.compile
    def f(p, t, q):
        return {"sum": p["w"] + t[0], "point": Point(q.x * 2, q.y), "list": [t[1], (p["b"],)]}

    found = f({"w": 1.0, "b": 2.0}, (3.0, 4.0), Point(5.0, 6.0))
    assert found == {"sum": 4.0, "point": Point(10.0, 6.0), "list": [4.0, (2.0,)]}
    assert isinstance(found["point"], Point)


def test_a_gradient_has_the_nest_of_its_argument() -> None:
    def f(weights, x):
        return np.sum(weights.w * x) + weights.b

    found = gradc.compile(f).grad(Weights(np.ones(3), 2.0), np.arange(3.0))
    assert isinstance(found, Weights)
    assert found.w.tolist() == [0, 1, 2]
    assert found.b == 1.0
    both = gradc.grad(f, wrt=("weights", "x"))(Weights(np.ones(3), 2.0), np.arange(3.0))
    assert isinstance(both, tuple)
    assert both[1].tolist() == [1, 1, 1]


def test_another_nest_compiles_anew() -> None:
    f = gradc.compile(lambda p: sum(p.values()) if isinstance(p, dict) else p[0])
    assert f({"a": 1.0, "b": 2.0}) == 3.0
    assert f([5.0]) == 5.0
    assert f({"a": 1.0}) == 1.0
    assert len(f.signatures) == 3


# -- dtypes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int32])
def test_a_dtype_stays_what_it_is(dtype) -> None:
    f = gradc.compile(lambda x: x * 2 + 1)
    x = np.array([1, 2, 3], dtype=dtype)
    assert_same_bits(f(x), x * 2 + 1)


def test_python_numbers_are_weak_and_numpy_numbers_are_not() -> None:
    x = np.ones(2, dtype=np.float32)
    for f in (
        lambda x: x * 2.0,
        lambda x: x * np.float64(2),
        lambda x: x + np.arange(2),
        lambda x: 1 / x,
        lambda x: x**2,
        lambda x: np.where(x > 0, x, 0.0),
    ):
        assert gradc.compile(f)(x).dtype == f(x).dtype


def test_dtypes_mix_as_in_numpy() -> None:
    arrays = {
        kind: np.array([1, 2, 3], dtype=kind)
        for kind in (np.float64, np.float32, np.int64, np.int32, np.bool_)
    }
    f = gradc.compile(lambda x, y: (x * y, x > y, np.maximum(x, y)))
    for x in arrays.values():
        for y in arrays.values():
            for found, want in zip(f(x, y), (x * y, x > y, np.maximum(x, y)), strict=True):
                assert_same_bits(found, want)


def test_a_list_of_numbers_is_a_nest() -> None:
    assert gradc.compile(lambda x: x[0] * x[1])([2.0, 3.0]) == 6.0


def test_other_byte_orders_and_layouts() -> None:
    f = gradc.compile(lambda x: np.sum(x * x))
    x = np.arange(12.0).reshape(3, 4)
    want = f(x)
    for other in (x.astype(">f8"), np.asfortranarray(x), x[:, ::-1][:, ::-1], x.T.copy().T):
        assert f(other) == want
    strided = np.arange(24.0)[::2].reshape(3, 4)
    assert f(strided) == np.sum(strided * strided)


@pytest.mark.parametrize("dtype", [np.float16, np.complex128, np.uint8, np.int16])
def test_other_dtypes_are_refused_with_the_cast_to_write(dtype) -> None:
    with pytest.raises(gradc.DTypeError, match=np.dtype(dtype).name):
        gradc.compile(lambda x: x)(np.ones(2, dtype))


def test_a_masked_array_is_refused() -> None:
    with pytest.raises(gradc.DTypeError, match="masked"):
        gradc.compile(lambda x: x)(np.ma.masked_array([1.0, 2.0], mask=[True, False]))


# -- static arguments ------------------------------------------------------------------------------


def test_static_arguments_steer() -> None:
    @gradc.compile(static=("how", 2))
    def f(x, how, times):
        for _ in range(times):
            x = np.sin(x) if how == "sin" else x * 2
        return x

    assert f(1.0, "double", 3) == 8.0
    assert f(1.0, "sin", 1) == np.sin(1.0)
    assert f(1.0, how="double", times=2) == 4.0
    assert f.grad(1.0, "double", 3) == 8.0


def test_a_default_flag_is_static() -> None:
    @gradc.compile
    def f(x, double=False, name=None):
        return 2 * x if double else x

    assert f(3.0) == 3.0


def test_an_unknown_static_name_and_an_unhashable_static_value() -> None:
    with pytest.raises(gradc.TraceError, match="no parameter 'z'"):
        gradc.compile(lambda x: x, static="z")
    with pytest.raises(gradc.TraceError, match="hashable"):
        gradc.compile(lambda x, how: x, static="how")(1.0, {})


# -- captured arrays -------------------------------------------------------------------------------

scale = np.array([1.0, 2.0])


def test_a_captured_array_is_read_at_every_call() -> None:
    f = gradc.compile(lambda x: np.sum(x * scale))
    before = scale.copy()
    try:
        assert f(np.ones(2)) == 3.0
        scale[0] = 10.0
        assert f(np.ones(2)) == 12.0
        assert f.grad(np.ones(2)).tolist() == [10.0, 2.0]
        scale[1] = 5.0
        assert f.grad(np.ones(2)).tolist() == [10.0, 5.0]
    finally:
        scale[:] = before


def test_a_captured_name_that_is_bound_anew() -> None:
    weights = np.array([1.0, 2.0])

    def loss(x):
        return np.sum(x * weights)

    f = gradc.compile(loss)
    assert f(np.ones(2)) == 3.0
    weights = np.array([3.0, 4.0])
    assert f(np.ones(2)) == 7.0


def test_a_captured_array_of_another_size_or_dtype() -> None:
    weights = np.ones(3)

    def f(x):
        return np.sum(x) * np.sum(weights)

    compiled = gradc.compile(f)
    assert compiled(np.ones(2)) == 6.0
    weights = np.ones(5)
    assert compiled(np.ones(2)) == 10.0
    weights = np.ones(4, dtype=np.float32)
    assert compiled(np.ones(2)) == 8.0


# -- sizes -----------------------------------------------------------------------------------------


def test_a_second_size_makes_a_symbolic_kernel() -> None:
    f = gradc.compile(lambda x: np.sum(x * x))
    for size in (3, 5, 8, 0, 1000):
        x = np.arange(float(size))
        assert f(x) == np.sum(x * x)
    specs = [signature.spec for signature in f.signatures]
    assert specs == ["x: f64[3]", "x: f64[n]"]
    assert "first call" in f.signatures[0].reason
    assert "second size" in f.signatures[1].reason
    assert all(signature.native for signature in f.signatures)
    assert str(f.signatures[1]).startswith("value(x: f64[n])  native")


def test_only_the_size_that_changed_is_a_symbol() -> None:
    f = gradc.compile(lambda x, w: x @ w)
    for rows in (2, 4, 7):
        x, w = np.ones((rows, 3)), np.arange(3.0)
        assert f(x, w).tolist() == [3.0] * rows
    assert [s.spec for s in f.signatures] == ["x: f64[2,3], w: f64[3]", "x: f64[n,3], w: f64[3]"]


def test_size_one_broadcasts_and_has_a_kernel_of_its_own() -> None:
    f = gradc.compile(lambda x, y: x + y)
    y = np.arange(4.0)
    assert f(np.ones(4), y).tolist() == [1, 2, 3, 4]
    assert f(np.ones(1), y).tolist() == [1, 2, 3, 4]
    assert f(np.ones(4), np.ones(1)).tolist() == [2, 2, 2, 2]


def test_sizes_forced_equal_are_checked_equal() -> None:
    f = gradc.compile(lambda x, y: np.sum(x * y))
    assert f(np.ones(3), np.ones(3)) == 3
    assert f(np.ones(5), np.ones(5)) == 5
    assert len(f.signatures) == 2
    with pytest.raises(gradc.ShapeError, match=r"6.*7|7.*6"):
        f(np.ones(6), np.ones(7))


def test_a_size_needed_as_a_number_means_one_kernel_per_size() -> None:
    @gradc.compile
    def f(x):
        return sum({i: x[i] * i for i in range(len(x))}.values())

    for size in (2, 3, 5):
        x = np.arange(float(size))
        assert f(x) == np.sum(x * x)
    assert len(f.signatures) == 3
    assert "one kernel per size" in f.signatures[-1].reason


def test_the_largest_of_no_elements_is_refused_at_every_size() -> None:
    f = gradc.compile(lambda x: np.max(x) * 2)
    for size in (3, 5, 8):
        assert f(np.arange(float(size))) == 2 * (size - 1)
    for _ in range(2):
        with pytest.raises(gradc.ShapeError, match=r"np\.max of no elements"):
            f(np.zeros(0))
    assert f(np.arange(4.0)) == 6.0
    assert len(f.signatures) == 2


def test_a_number_of_points_means_one_kernel_per_size() -> None:
    f = gradc.compile(lambda x: x * np.linspace(0, 1, len(x)))
    for size in (2, 3, 5):
        np.testing.assert_array_equal(f(np.ones(size)), np.linspace(0, 1, size))


def test_gradients_at_a_second_size() -> None:
    f = gradc.compile(lambda x, y: np.sum(np.exp(x) * y) / len(x))
    for size in (3, 4, 9, 1, 0):
        x, y = np.linspace(0, 1, size), np.linspace(1, 2, size)
        found = f.grad(x, y)
        assert found.shape == (size,)
        np.testing.assert_allclose(found, np.exp(x) * y / max(size, 1), rtol=1e-14)


def test_each_compilation_is_logged(capsys, monkeypatch) -> None:
    monkeypatch.setenv("GRADC_LOG", "compile")
    f = gradc.compile(lambda x: x + 1)
    f(1.0)
    f(2.0)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("gradc: <lambda>: value(x: f64)  native")


def test_an_environment_variable_turns_native_code_off(monkeypatch) -> None:
    monkeypatch.setenv("GRADC_DISABLE_JIT", "1")
    f = gradc.compile(lambda x: np.sum(np.exp(x)))
    value, gradient = f.value_and_grad(np.zeros(3))
    assert value == 3.0
    assert gradient.tolist() == [1, 1, 1]
    assert not f.signatures[0].native
    assert "GRADC_DISABLE_JIT" in f.signatures[0].reason


def test_arguments_are_never_modified() -> None:
    @gradc.compile
    def f(x, p):
        x += 1
        p["a"][0] = 7.0
        p["b"] = p["a"] * 2
        return np.sum(x) + np.sum(p["b"])

    x, p = np.zeros(3), {"a": np.zeros(2)}
    assert f(x, p) == 17.0
    assert f.grad(x, p).tolist() == [1, 1, 1]
    assert f.grad(x, p, wrt=1)["a"].tolist() == [0, 2]
    assert x.tolist() == [0, 0, 0]
    assert p["a"].tolist() == [0, 0]
    assert list(p) == ["a"]


def test_results_do_not_share_memory_with_arguments() -> None:
    x = np.arange(3.0)
    found = gradc.compile(lambda x: (x, x[1:], x.reshape(3, 1)))(x)
    for result in found:
        assert not np.shares_memory(result, x)
        assert result.flags.writeable
    assert not np.shares_memory(found[0], found[1])


def test_bits_of_arithmetic_are_numpy_s_without_stable_rules() -> None:
    def f(x, y):
        return (x + y) - y, x * x - y * y, (x / y) * y, np.sqrt(x * x + y * y)

    random = np.random.default_rng(0)
    x, y = random.normal(size=(2, 1000))
    for found, want in zip(gradc.compile(f, stable=False)(x, y), f(x, y), strict=True):
        assert_same_bits(found, want)


def test_an_array_without_a_name_is_a_constant_and_explain_says_so() -> None:
    class Model:
        weights = np.array([1.0, 2.0])

    def f(x):
        made = np.polynomial.Polynomial([3.0, 4.0]).coef
        return np.sum(x * Model.weights) + x @ made + np.sum(x[np.array([0, 1])])

    text = gradc.compile(f).explain("x: f64[2]")
    listed = [line for line in text.splitlines() if "became a constant" in line]
    line = f.__code__.co_firstlineno + 2
    assert listed == [
        f"  test_compile.py:{line} in f: an array f64[2] reached by no name became a constant: "
        "later changes to it are not seen"
    ]
