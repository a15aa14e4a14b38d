"""Calls that go by plans read what is outside at every call, and see what is in force."""

from __future__ import annotations

import inspect
import sys
import threading
from typing import Any

import numpy as np
import pytest

import gradc
from gradc_codegen.calls import layout
from tests.quick_calls import quick, same

pytestmark = pytest.mark.skipif(not layout.is_known(), reason="calls go through ctypes here")

X = np.array([0.3, -0.7, 1.1])

# -- what is read from outside ---------------------------------------------------------------------

W = np.array([1.0, 2.0, 3.0])
FACTOR = 2.0
LAYERS = {"a": [W, 3.0]}


class Model:
    def __init__(self) -> None:
        self.w = np.array([1.0, 2.0, 3.0])
        self.by = 2.0

    @property
    def scaled(self) -> Any:
        return self.w * self.by

    @gradc.compile
    def loss(self, x: Any) -> Any:
        return np.sum(self.scaled * x)


def test_what_is_captured_is_read_at_every_call(monkeypatch: Any) -> None:
    f = gradc.compile(lambda x: np.sum(x * W) * FACTOR * LAYERS["a"][1] + np.sum(LAYERS["a"][0]))
    module = sys.modules[__name__]

    def check() -> None:
        wanted = np.sum(X * W) * FACTOR * LAYERS["a"][1] + np.sum(LAYERS["a"][0])
        for _ in range(4):
            np.testing.assert_allclose(f(X), wanted, rtol=1e-15)

    check()
    quick(f, X)
    monkeypatch.setattr(module, "W", W * 3)
    check()
    W[:] = 7.0
    check()
    monkeypatch.setattr(module, "FACTOR", 5)
    check()
    monkeypatch.setattr(module, "W", np.ones((2, 3)))
    check()
    monkeypatch.setattr(module, "W", 4.0)
    check()
    monkeypatch.setitem(LAYERS, "a", [np.ones(2), 9.0])
    check()


MASK = np.array([True, False, True])


def test_what_decides_shapes_is_compared_by_its_elements(monkeypatch: Any) -> None:
    def f(x: Any) -> Any:
        return np.sum(x[MASK] ** 2)

    compiled = gradc.compile(f)
    module = sys.modules[__name__]

    def check() -> None:
        for _ in range(4):
            assert compiled(X) == f(X)

    check()
    quick(compiled, X)
    with monkeypatch.context() as changed:
        changed.setattr(module, "MASK", MASK.copy())
        quick(compiled, X)
        MASK[1] = True
        check()
        for mask in (MASK[::-1], np.array([0, 2]), np.zeros(3, bool), [True, True, False]):
            changed.setattr(module, "MASK", mask)
            check()
    MASK[1] = False
    quick(compiled, X)


TABLE: Any = ((1.0, 2.0, 3.0), (4.0, ("a", 5.0)))


def test_what_is_in_tuples_is_compared_where_it_may_change(monkeypatch: Any) -> None:
    def f(x: Any) -> Any:
        return np.sum(x * TABLE[0][1]) + TABLE[1][1][1]

    compiled = gradc.compile(f)

    def check() -> None:
        for _ in range(4):
            np.testing.assert_allclose(compiled(X), f(X), rtol=1e-15)

    check()
    quick(compiled, X)
    one = 1.0  # an equal tuple that is another object
    monkeypatch.setattr(sys.modules[__name__], "TABLE", ((one, 2.0, 3.0), (4.0, ("a", 5.0))))
    check()
    monkeypatch.setattr(sys.modules[__name__], "TABLE", ((1.0, 7.0, 3.0), (4.0, ("a", 5.0))))
    check()
    inside = [3.0, 6.0]
    monkeypatch.setattr(sys.modules[__name__], "TABLE", (inside, (4.0, ("a", 5.0))))
    check()
    quick(compiled, X)
    inside[1] = 8.0
    check()


def test_methods_read_their_instance() -> None:
    model, other = Model(), Model()
    other.w = np.ones(3)
    for _ in range(4):
        for one in (model, other):
            same(one.loss(X), np.sum(one.scaled * X))
            same(one.loss.grad(X), one.scaled * 1.0)
            value, gradient = one.loss.value_and_grad(X)
            same((value, gradient), (np.sum(one.scaled * X), one.scaled))
        model.w[0] += 1.0
    quick(model.loss, X)
    model.by = 3.0
    same(model.loss(X), np.sum(model.w * 3.0 * X))
    other.w = np.ones(4)
    with pytest.raises((gradc.GradcError, ValueError)):
        other.loss(X)
    assert inspect.signature(model.loss) == inspect.signature(lambda x: 0).replace(
        parameters=list(inspect.signature(Model.loss).parameters.values())[1:],
        return_annotation="Any",
    )


def test_a_variable_is_read_anew() -> None:
    w = gradc.Variable(np.ones(3))
    f = gradc.compile(lambda x: np.sum(x * w.value))
    for k in range(5):
        w.value = np.full(3, float(k))
        same(f(X), np.sum(X * float(k)))


def test_a_closure() -> None:
    by = 2.0

    def scaled(x: Any) -> Any:
        return x * by

    f = gradc.compile(scaled)
    for new in (2.0, 2.0, 2.0, 3.0, 3.0, 3.0, np.ones(3), np.full(3, 2.0), 4):
        by = new
        same(f(X), X * new)


# -- what is in force ------------------------------------------------------------------------------


def test_overrides_are_seen_by_calls_that_go_by_plans() -> None:
    f = gradc.compile(lambda x: np.sum(np.sin(x)))
    rule = {np.sin: lambda upstream, x: upstream * 100.0}
    for _ in range(4):
        np.testing.assert_allclose(f.grad(X), np.cos(X))
        with gradc.overrides(rule):
            for _ in range(3):
                same(f.grad(X), np.full(3, 100.0))
            with gradc.overrides({np.sin: None}):
                np.testing.assert_allclose(f.grad(X), np.cos(X))
        np.testing.assert_allclose(f.grad(X), np.cos(X))


def test_overrides_of_one_thread_are_not_those_of_another() -> None:
    f = gradc.compile(lambda x: np.sum(np.sin(x)))
    for _ in range(3):
        np.testing.assert_allclose(f.grad(X), np.cos(X))
    found: list[Any] = []
    with gradc.overrides({np.sin: lambda upstream, x: upstream * 100.0}):
        for _ in range(3):
            same(f.grad(X), np.full(3, 100.0))
        other = threading.Thread(target=lambda: found.append(f.grad(X)))
        other.start()
        other.join()
    np.testing.assert_allclose(found, [np.cos(X)])


def test_a_call_in_a_trace_is_traced() -> None:
    f = gradc.compile(lambda x: np.sum(x * x))
    for _ in range(3):
        f(X)
        f.grad(X)
    g = gradc.compile(lambda x: f(x) + np.sum(f.grad(x)) + f(X))
    for _ in range(3):
        np.testing.assert_allclose(g(X), 2 * f(X) + 2 * np.sum(X), rtol=1e-15)
        np.testing.assert_allclose(g.grad(X), 2 * X + 2, rtol=1e-15)


def test_threads_while_another_traces() -> None:
    f = gradc.compile(lambda x: np.sum(np.sort(x)) * 2.0)
    wanted = [f(X * k) for k in range(4)]
    wrong: list[Any] = []
    over = threading.Event()

    def call(k: int) -> None:
        x = X * k
        while not over.is_set():
            if f(x) != wanted[k]:
                wrong.append(k)

    threads = [threading.Thread(target=call, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for k in range(5):
        gradc.compile(lambda x, k=k: np.sum(np.cumsum(x) * k)).grad(X)
    over.set()
    for thread in threads:
        thread.join()
    assert not wrong
