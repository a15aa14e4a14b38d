"""Parameters left to their default values: known numbers, unless a derivative is by them."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import gradc

X = np.arange(10.0) ** 2
WIDE = np.float64(2)


def trimmed(x, share=0.2):
    return np.sort(x)[int(share * len(x)) :].mean()


def model(x, a=2.0, n=3, how=None, b=0.5):
    return np.sum(x) * a**n + b if how is None else x[0]


def test_a_default_steers_the_function() -> None:
    f = gradc.compile(trimmed)
    assert f(X) == trimmed(X)
    np.testing.assert_array_equal(f.grad(X), (np.arange(10) >= 2) / 8)
    with pytest.raises(gradc.TraceError, match="a slice cannot begin or end at a traced value"):
        f(X, 0.2)
    assert gradc.compile(trimmed, static="share")(X, 0.3) == trimmed(X, 0.3)


def test_a_default_that_is_given_is_traced() -> None:
    f = gradc.compile(model)
    for args in ((X, 3.0), (X, 4.0), (X, 5.0, 2)):
        assert f(*args) == model(*args)
    assert [each.spec for each in f.signatures] == [
        "x: f64[10], a: f64", "x: f64[10], a: f64, n: i64",
    ]  # fmt: skip
    f(X, b=1.0)
    assert f.signatures[-1].spec == "x: f64[10], b: f64"


@pytest.mark.parametrize("wrt", ["a", 1, -4, "b", 4, (0, 1), ("b", "a"), ("x", -1)])
def test_derivatives_by_a_default(wrt: Any) -> None:
    f, given = gradc.compile(model), (X, 2.0, 3, None, 0.5)
    for of in ("grad", "jacobian", "hessian"):
        found, wanted = (getattr(f, of)(*args, wrt=wrt) for args in ((X,), given))
        assert_close(found, wanted)
    if not isinstance(wrt, tuple):
        assert_close(f.hvp((X,), 2.0, wrt), f.hvp(given, 2.0, wrt))
        inner = gradc.compile(lambda x: gradc.grad(model, wrt=wrt)(x))
        assert_close(inner(X), f.grad(*given, wrt=wrt))


def assert_close(found: Any, wanted: Any) -> None:
    """Compare nests of tuples."""
    if isinstance(wanted, tuple):
        for one, other in zip(found, wanted, strict=True):
            assert_close(one, other)
    else:
        np.testing.assert_allclose(found, wanted, rtol=1e-14)


def test_a_position_counts_parameters_given_or_not() -> None:
    f = gradc.compile(model)
    for wrt in ("n", 2):
        with pytest.raises(gradc.DTypeError, match="with respect to n needs floating point"):
            f.grad(X, wrt=wrt)
    with pytest.raises(gradc.TraceError, match="has 5 parameters, not position 5"):
        f.grad(X, wrt=5)
    with pytest.raises(gradc.TraceError, match="no parameter 'q' to differentiate by"):
        f.grad(X, wrt="q")


def test_tangents_and_cotangents_are_those_of_what_is_given() -> None:
    f = gradc.compile(lambda x, p=3.0: x * p)
    assert f.vjp(2.0)[1](1.0) == (3.0,)
    assert f.vjp(2.0, 3.0)[1](1.0) == (3.0, 2.0)
    assert f.jvp((2.0,), (1.0,)) == (6.0, 3.0)
    assert f.jvp((2.0, 3.0), (None, 1.0)) == (6.0, 2.0)


def test_another_default_is_traced_anew() -> None:
    def f(x, p=2.0, *, q=1):
        return x * p + q

    compiled = gradc.compile(f)
    for p, q in ((2.0, 1), (3.0, 1), (3.0, 2), (np.float64(3), 2), (np.full(10, 3.0), 2)):
        f.__defaults__, f.__kwdefaults__ = (p,), {"q": q}
        for _ in range(2):
            np.testing.assert_array_equal(compiled(X), f(X))
    for element in (4.0, 5.0):  # an array is read at every call
        f.__defaults__[0][:] = element
        np.testing.assert_array_equal(compiled(X), f(X))
    assert len(compiled.signatures) == 5


def test_a_default_yields_to_the_dtype_of_arrays() -> None:
    narrow = X.astype(np.float32)
    assert gradc.compile(lambda x, p=2.0: x * p)(narrow).dtype == np.float32
    assert gradc.compile(lambda x, p=WIDE: x * p)(narrow).dtype == np.float64


def test_static_and_other_forms_of_parameters() -> None:
    f = gradc.compile(lambda how, x, p=2.0: x * p, static=("how", "p"))
    assert f("a", 3.0) == 6.0
    assert f.grad("a", 3.0) == 2.0
    named = gradc.compile(lambda *xs, p=2.0, **more: xs[0] * p + more["xs"])
    assert named(3.0, xs=1.0) == 7.0
    assert named.grad(3.0, xs=1.0, wrt="p") == 3.0
    assert gradc.compile(functools.partial(trimmed, share=0.5))(X) == trimmed(X, 0.5)


def test_graphs_hold_a_default_unless_the_spec_names_it() -> None:
    f = gradc.compile(model)
    assert f.ir("x: f64[n]").names == ("x",)
    assert f.ir("x: f64[n], a: f64").names == ("x", "a")
    assert f.ir("x: f64[n]", of="grad", wrt="b").names == ("x", "b")
    f(X)
    assert f.ir().names == ("x",)
    assert f.ir(of="grad", wrt=1).names == ("x", "a")
    assert f.ir(X, of="grad", wrt="a").names == ("x", "a")
    assert "%a" not in f.dump()
    assert str(f.support("x: f64[n]")).startswith("model(x: f64[n]): supported")
    assert str(f.support("x: f64[n], a: f64")).startswith("model(x: f64[n], a: f64): supported")


def test_kernels_for_c_take_what_the_spec_names(tmp_path: Any) -> None:
    for spec, wrt, inputs in (
        ("x: f64[n]", 0, ""),
        ("x: f64[n], a: f64", 0, ", double a"),
        ("x: f64[n]", "b", ", double b"),
    ):
        gradc.compile(model).export("model", spec, wrt=wrt, out=tmp_path)
        header = (tmp_path / "model.h").read_text()
        assert f"int model(int64_t n, const double *x{inputs}, double *y, void *work);" in header
