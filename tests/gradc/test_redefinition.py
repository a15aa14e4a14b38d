"""What is defined anew, in a notebook or by a reload, is what the next call computes."""

from __future__ import annotations

import importlib
import linecache
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.runtime import families, quick_call, specialize
from gradc_codegen.calls import door

X = np.arange(3.0)
Run = Callable[[str], dict[str, Any]]


@pytest.fixture
def cell() -> Run:
    """Return what runs a cell of a notebook, all in one namespace."""
    names: dict[str, Any] = {"np": np, "gradc": gradc, "__name__": "__main__"}

    def run(source: str) -> dict[str, Any]:
        name = f"<cell {len(linecache.cache)}>"
        linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
        exec(compile(source, name, "exec"), names)
        return names

    return run


@pytest.mark.parametrize(
    ("before", "use", "after"),
    [
        ("def h(x): return x * 2", "h(x)", "def h(x): return x * 3"),
        ("def k(x): return x * 2\ndef h(x): return k(x)", "h(x)", "def k(x): return x * 3"),
        ("h = lambda x: x * 2", "h(x)", "h = lambda x: x * 3"),
        ("class A:\n  def m(self, x): return x * 2", "A().m(x)",
         "class A:\n  def m(self, x): return x * 3"),
        ("class A:\n  w = 2.0", "x * A.w", "class A:\n  w = 3.0"),
        ("class A:\n  def m(self, x): return x * 2", "A().m(x)", "A.m = lambda self, x: x * 3"),
        ("class A:\n  w = 2.0\na = A()", "x * a.w", "a.w = 3.0"),
        ("class A:\n  def m(self, x): return x * 2\na = A()", "a.m(x)",
         "A.m = lambda self, x: x * 3"),
        ("class A:\n  @property\n  def w(self): return 2.0\na = A()", "x * a.w",
         "A.w = property(lambda self: 3.0)"),
        ("w = np.full(3, 2.0)", "x * w", "w = np.full(3, 3.0)"),
        ("w = np.full(3, 2.0)", "x * w", "w[:] = 3.0"),
        ("w = np.full(3, 2.0)", "x * w", "w = np.full(3, 3.0, np.float32)"),
        ("w = np.full(3, 2.0)", "x * w", "w = 3.0"),
        ("w = np.full(3, 2, np.int8)", "x * w.astype(float)", "w[:] = 3"),
        ("w = 2.0", "x * w", "w = 3.0"),
        ("c = {'a': [2.0]}", "x * c['a'][0]", "c['a'][0] = 3.0"),
        ("c = {'a': np.full(3, 2.0)}", "x * c['a']", "c['a'] = np.full(3, 3.0)"),
        ("s = {1, 2}", "x * len(s)", "s.add(3)"),
        ("import collections\nc = collections.OrderedDict(w=np.full(3, 2.0))", "x * c['w']",
         "c['w'][:] = 3"),
        ("import collections\nc = collections.deque([np.full(3, 2.0)])", "x * c[0]",
         "c[0][:] = 3"),
        ("import types\nc = types.SimpleNamespace(w=np.full(3, 2.0))", "x * c.w", "c.w[:] = 3"),
        ("class A:\n  __slots__ = ('w',)\na = A()\na.w = np.full(3, 2.0)", "x * a.w", "a.w[:] = 3"),
        ("class A:\n  __slots__ = ('w',)\n  def m(self): return self.w\na = A()\na.w = 2.0",
         "x * a.m()", "a.w = 3.0"),
        ("import enum\nclass M(enum.Enum):\n  A = 2\n  B = 3\nm = M.A", "x * m.value", "m = M.B"),
        ("import enum\nclass M(enum.Enum):\n  A = 2", "x * M.A.value",
         "class M(enum.Enum):\n  A = 3"),
        ("from numpy import sin as s", "s(x)", "from numpy import cos as s"),
        ("import operator\no = operator.add", "o(x, 1.0)", "o = operator.mul"),
        ("import functools\nh = functools.partial(np.multiply, 2.0)", "h(x)",
         "h = functools.partial(np.multiply, 3.0)"),
        ("import functools\n@functools.cache\ndef h(n): return n * 2.0", "x * h(1)",
         "def h(n): return n * 3.0"),
        ("h = gradc.compile(lambda x: x * 2)", "h(x)", "h = gradc.compile(lambda x: x * 3)"),
        ("def h(x, by=2.0): return x * by", "h(x)", "h.__defaults__ = (3.0,)"),
        ("def h(x): return x * 2\ndef k(x): return x * 3", "h(x)", "h.__code__ = k.__code__"),
    ],
)  # fmt: skip
def test_a_name_is_bound_anew(cell: Run, before: str, use: str, after: str) -> None:
    cell(before)
    names = cell(f"def plain(x): return {use}\nf = gradc.compile(plain)\n"
                 "g = gradc.compile(lambda x: np.sum(plain(x)))")  # fmt: skip
    for again in (before, after, after):
        if again == after:
            cell(after)
        for _ in range(2):
            np.testing.assert_allclose(names["f"](X), names["plain"](X), rtol=1e-15)
        step = 1e-6
        slope = (np.sum(names["plain"](X + step)) - np.sum(names["plain"](X - step))) / (2 * step)
        np.testing.assert_allclose(np.sum(names["g"].grad(X)), slope, rtol=1e-8)


def test_the_compiled_function_itself(cell: Run) -> None:
    for by in (2, 3):
        names = cell(f"@gradc.compile\ndef f(x): return x * {by}")
        np.testing.assert_array_equal(names["f"](X), X * by)


def test_code_that_a_reload_puts_into_the_function_there_is(cell: Run) -> None:
    names = cell("def f(x, by=2.0): return x * by\nc = gradc.compile(f)")
    np.testing.assert_array_equal(names["c"](X), X * 2)
    cell("def new(x, y, by=5.0): return x + y + by")
    names["f"].__code__ = names["new"].__code__
    names["f"].__defaults__ = names["new"].__defaults__
    np.testing.assert_array_equal(names["c"](X, X), 2 * X + 5)
    with pytest.raises(gradc.TraceError, match="missing a required argument: 'y'"):
        names["c"](X)


def test_a_module_that_is_reloaded(tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    file = tmp_path / "reloaded_layers.py"
    file.write_text("SCALE = 2.0\ndef act(x):\n    return x * SCALE\n")
    layers = importlib.import_module("reloaded_layers")
    function = gradc.compile(lambda x: layers.act(x) + layers.SCALE)
    np.testing.assert_array_equal(function(X), X * 2 + 2)
    file.write_text("SCALE = 30.0\ndef act(x):\n    return x * SCALE + 1\n")
    importlib.reload(layers)
    np.testing.assert_array_equal(function(X), X * 30 + 31)
    layers.SCALE = 4.0
    np.testing.assert_array_equal(function(X), X * 4 + 5)


def test_a_closure_cell_that_changes() -> None:
    by: Any = 2.0

    def plain(x):
        return x * by

    function = gradc.compile(plain)
    for new in (3.0, np.ones(3), np.full(3, 5.0), 3, np.float32(2), True):
        by = new
        found, wanted = function(X), plain(X)
        np.testing.assert_array_equal(found, wanted)
        assert found.dtype == wanted.dtype


def test_many_shapes_and_static_arguments_do_not_pile_up(monkeypatch: Any) -> None:
    monkeypatch.setattr(specialize, "_MOST_SHAPES", 8)
    monkeypatch.setattr(specialize, "_MOST_KERNELS", 4)
    monkeypatch.setattr(door, "MOST_PLANS", 8)
    monkeypatch.setattr(quick_call, "_MOST_KINDS", 8)
    monkeypatch.setattr(families, "_MOST_GROUPS", 4)
    unrolled = gradc.compile(lambda x: sum(x[i] * i for i in range(len(x))))
    general = gradc.compile(lambda x: np.sum(x * x))
    steered = gradc.compile(lambda x, n: x * n, static="n")
    for n in (*range(2, 20), *range(2, 20)):
        x = np.arange(float(n))
        np.testing.assert_array_equal(unrolled(x), np.sum(x * x))
        np.testing.assert_array_equal(general(x), np.sum(x * x))
        np.testing.assert_array_equal(steered(X, n), X * n)
    assert len(general.signatures) == 2
    for function in (unrolled, general, steered):
        learner = function._learners["__call__"]
        assert len(learner.plans) <= 8
        assert len(learner._met) <= 8
        assert len(function._families) <= 4
        for family in function._families.all():
            assert len(family._made) <= 4
            assert len(family._by_shapes) <= 8
            assert len(family._seen) <= 8
