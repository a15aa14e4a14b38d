"""What steers a function is static by itself, and a Python int only where its number is needed."""

from __future__ import annotations

import enum
import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import gradc
from tests.quick_calls import quick, same

X = np.array([0.3, -0.7, 1.1])


class Mode(enum.Enum):
    PLAIN = "plain"
    DOUBLE = "double"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclass
class Layer:
    w: Any
    activation: str
    bias: bool = True


def steered(x: Any, flag: Any) -> Any:
    if flag is True or flag in ("double", Mode.DOUBLE, Level.HIGH, np.cos, b"double"):
        return np.sum(2.0 * x)
    return np.sum(x)


def nested(f: Any, flag: Any, x: Any) -> Any:
    return gradc.grad(f)(x, flag)


@pytest.mark.parametrize(
    ("on", "off"),
    [
        (True, False), ("double", "single"), (Mode.DOUBLE, Mode.PLAIN), (Level.HIGH, Level.LOW),
        (np.cos, np.sin), (b"double", b""), (True, None), (np.cos, functools.partial(np.sin)),
    ],
    ids=repr,
)  # fmt: skip
def test_flags_are_static_in_every_transform(on: Any, off: Any) -> None:
    f = gradc.compile(steered)
    for flag in (on, off):
        factor = 2.0 if flag is on else 1.0
        wanted = np.full(3, factor)
        same(quick(f, X, flag), np.sum(factor * X))
        same(quick(f.grad, X, flag), wanted)
        same(quick(gradc.grad(f), X, flag=flag), wanted)
        same(quick(f.value_and_grad, X, flag)[1], wanted)
        same(f.hessian(X, flag), np.zeros((3, 3)))
        assert f.jvp((X, flag), (X, None))[1] == pytest.approx(factor * X.sum())
        gradients = f.vjp(X, flag)[1](1.0)
        same(gradients[0], wanted)
        assert gradients[1] is None
        assert f.linearize(X, flag)[1](X, None) == pytest.approx(factor * X.sum())
        same(f.hvp((X, flag), X), np.zeros(3))
        same(gradc.vmap(f)(np.stack([X, X]), flag), np.full(2, np.sum(factor * X)))
        if not callable(flag):
            same(gradc.compile(functools.partial(nested, f, flag))(X), wanted)
    assert len([one for one in f.signatures if one.of == "value"]) == 2


def test_a_truth_of_numpy_is_traced() -> None:
    f = gradc.compile(lambda x, flag: np.where(flag, x, -x))
    for flag in (np.True_, np.False_, np.array(True)):
        same(f(X, flag), X if flag else -X)
    assert len(f.signatures) == 1


def test_flags_in_nests_leave_arrays_differentiable() -> None:
    def total(layer: Any) -> Any:
        found = np.sum(layer.w**2) if layer.bias else np.sum(layer.w)
        return np.sin(found) if layer.activation == "sin" else found

    f = gradc.compile(total)
    for activation in ("sin", "plain"):
        layer = Layer(X, activation)
        gradient = quick(f.grad, layer)
        assert (gradient.activation, gradient.bias) == (None, None)
        by_hand = gradc.grad(lambda w, layer=layer: total(Layer(w, layer.activation)))(X)
        same(gradient.w, by_hand)
        tangent = f.jvp((layer,), (Layer(X, activation),))[1]
        assert tangent == pytest.approx(by_hand @ X)
        same(f.hvp((layer,), gradient).w, f.hvp(layer, Layer(gradient.w, activation)).w)
    g = gradc.compile(lambda p: np.sum(p["w"]) if p["kind"] == "sum" else np.prod(p["w"]))
    same(g.grad({"w": X, "kind": "sum"}), {"w": np.ones(3), "kind": None})
    assert g({"kind": "prod", "w": X}) == pytest.approx(np.prod(X))


def test_wrt_of_a_static_argument_says_so() -> None:
    f = gradc.compile(lambda x, mode, n: np.sum(x) * n, static="n")
    for wrt in (1, "mode"):
        with pytest.raises(gradc.TraceError) as error:
            f.grad(X, "fast", 2, wrt=wrt)
        assert str(error.value) == (
            "wrt: mode is static: it steers <lambda>, and there is no derivative by it\n"
            "  mode = 'fast'\n"
            "  help: differentiate by x"
        )
    with pytest.raises(gradc.TraceError, match="wrt: n is static"):
        f.grad(X, "fast", 2, wrt="n")
    with pytest.raises(gradc.TraceError, match="mode is static"):
        gradc.compile(lambda x: gradc.grad(f, wrt="mode")(x, "fast", 2))(X)


def test_a_python_int_is_static_where_its_number_is_needed() -> None:
    f = gradc.compile(lambda x, n: np.sum(x[:n]) + np.zeros(n + 1).size)
    parts = gradc.compile(lambda x, i: [x, 2.0 * x][i] * 1.0)
    window = gradc.grad(lambda x, n: np.sum(x.reshape(n, -1)[0]))
    for n in (1, 2):
        assert f(X, n) == pytest.approx(X[:n].sum() + n + 1)
        same(f.grad(X, n), np.array([1.0, n == 2, 0.0]))
    for i in (0, 1, 0):
        same(quick(parts, X, i), [X, 2.0 * X][i])
    same(window(np.ones(4), 2), np.array([1.0, 1.0, 0.0, 0.0]))
    assert [one.reason for one in f.signatures if one.of == "value"] == ["first call", "n is 2"]
    inside = gradc.compile(lambda x, n: gradc.grad(lambda y, m: np.sum(y[:m]))(x, n))
    same(inside(X, 2), np.array([1.0, 1.0, 0.0]))
    with pytest.raises(gradc.TraceError, match="length would not be known"):
        f(X, np.array(1))


def test_a_python_int_is_traced_elsewhere() -> None:
    f = gradc.compile(lambda x, n: gradc.fori_loop(0, n, lambda i, c: c * x, 1.0) + n * x)
    for n in (1, 3, np.int64(5)):
        assert f(2.0, n) == 2.0**n + n * 2.0
    assert len(f.signatures) == 1
    written = gradc.compile(lambda x, n: sum(x for _ in range(n)))
    assert [written(2.0, n) for n in (0, 1, 3, np.int64(5))] == [0, 2, 6, 10]
    assert len(written.signatures) == 1


def test_many_values_of_a_flag_are_said_once(
    monkeypatch: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GRADC_LOG", "compile")
    monkeypatch.setenv("GRADC_DISABLE_JIT", "1")
    f = gradc.compile(lambda x, name: x * len(name))
    for i in range(20):
        assert f(2.0, "x" * i) == 2.0 * i
    lines = capsys.readouterr().err.splitlines()
    assert len([line for line in lines if "name has had 17 values" in line]) == 1


# -- forms of numbers ------------------------------------------------------------------------------

FORMS: list[Any] = [float, np.float64, np.array]


def test_one_kernel_for_all_forms_of_numbers() -> None:
    f = gradc.compile(lambda a, b, x: np.sin(a) * b + x * a**2 + np.where(a > b, a, b))
    wanted = quick(f, 0.5, 2.0, X)
    for a in FORMS:
        for b in FORMS:
            same(f(a(0.5), b(2.0), X), wanted)
    assert [one.reason for one in f.signatures] == ["first call"]
    g = gradc.compile(lambda k, x: x * k + k // 2)
    for k in (int, np.int64, np.array):
        same(g(k(3), X), X * 3 + 1)
    assert len(g.signatures) == 1


def test_weakness_counts_where_it_changes_a_dtype() -> None:
    narrow = X.astype(np.float32)
    f = gradc.compile(lambda a, b, x: (a * b) * x)
    for first in FORMS:
        for second in FORMS:
            same(f(first(0.5), second(2.0), narrow), (first(0.5) * second(2.0)) * narrow)
    assert len(f.signatures) == 4
    assert "NumPy's, which does not yield" in f.signatures[1].reason
    same(f(0.5, 2.0, X), X)


def test_weakness_in_loops_and_branches() -> None:
    narrow = X.astype(np.float32)

    def looped(a: Any, x: Any) -> Any:
        total = gradc.fori_loop(0, 3, lambda i, c: c * a + 1.0, 0.5)
        chosen = gradc.cond(total > 1.0, lambda: a, lambda: total)
        return x * chosen

    f = gradc.compile(looped)
    for x in (narrow, X, narrow):
        for form in (*FORMS, *FORMS[::-1]):
            found = f(form(1.5), x)
            wanted = np.float32 if form is float and x is narrow else np.float64
            assert found.dtype == wanted
    assert len(f.signatures) == 3


def test_what_python_asks_of_a_number_is_of_its_form() -> None:
    f = gradc.compile(lambda a, x: x if isinstance(a, np.floating) else -x)
    same(f(1.0, X), -X)
    same(f(np.float64(1.0), X), X)
    same(f(1.0, X), -X)
    g = gradc.compile(lambda a, x: x if isinstance(a, float) else -x)
    for a in (1.0, np.float64(1.0)):
        same(g(a, X), X)
    assert len(g.signatures) == 1
    power = gradc.compile(lambda a: a**-1 + a**0.5)
    for a in (2.0, np.float64(2.0), 4.0):
        assert power(a) == pytest.approx(1 / a + np.sqrt(a))
    truth = gradc.compile(lambda a, b: (a > 0) + (b > 0))
    same(truth(1.0, 2.0), np.int64(2))
    assert truth(np.float64(1.0), np.float64(2.0)) == 1
