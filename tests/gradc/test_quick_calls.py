"""Calls that go by plans: as those that go Python's way, for whatever is handed in."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import inspect
import itertools
import os
import pickle
import sys
import threading
from collections import namedtuple
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.runtime import quick_call
from gradc_codegen.calls import layout

pytestmark = pytest.mark.skipif(not layout.is_known(), reason="calls go through ctypes here")

X = np.array([0.3, -0.7, 1.1])


@pytest.fixture
def by_python(monkeypatch: Any) -> Iterator[Callable[[], int]]:
    """Return what counts the calls that went Python's way."""
    count = itertools.count()
    learn = quick_call.QuickCall.learn

    def counted(*args: Any) -> None:
        next(count)
        learn(*args)

    monkeypatch.setattr(quick_call.QuickCall, "learn", counted)
    last = 0

    def since() -> int:
        nonlocal last
        # each look at the counter counts, too
        now = next(count)
        found, last = now - last, now + 1
        return found

    return since


def same(found: Any, wanted: Any) -> None:
    """Check nests of results, classes and bits."""
    assert type(found) is type(wanted)
    if isinstance(wanted, np.ndarray | np.generic):
        assert found.dtype == wanted.dtype
        assert found.shape == wanted.shape
        assert found.tobytes() == wanted.tobytes()
    elif isinstance(wanted, dict):
        assert list(found) == list(wanted)
        for key, part in wanted.items():
            same(found[key], part)
    elif isinstance(wanted, tuple | list):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted):
            same(one, other)
    elif dataclasses.is_dataclass(wanted):
        same(vars(found), vars(wanted))
    else:
        assert found is wanted


def quick(by_python: Callable[[], int], call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return what a call returns Python's way, and see that the third one goes by a plan."""
    wanted = call(*args, **kwargs)
    same(call(*args, **kwargs), wanted)
    by_python()
    same(call(*args, **kwargs), wanted)
    assert by_python() == 0
    return wanted


# -- forms of arguments ----------------------------------------------------------------------------

Pair = namedtuple("Pair", "a b")  # noqa: PYI024


@dataclasses.dataclass
class Layer:
    w: Any
    b: Any


def of_numbers(a: Any, b: Any, c: Any = 2.0, *, k: Any = 1.0) -> Any:
    return a * b + np.sin(c) * k


NUMBERS: list[Any] = [
    1.5, np.float64(1.5), np.array(1.5), 3, True, np.int64(3), np.int32(3), np.float32(1.5),
    np.True_, np.array(3), np.array(True), X, X.astype(np.float32), np.arange(3), X > 0,
    X[:, None], np.zeros((0,)), np.zeros((2, 0)),
]  # fmt: skip


@pytest.mark.parametrize("number", NUMBERS, ids=repr)
def test_every_kind_of_argument(by_python: Any, number: Any) -> None:
    f = gradc.compile(of_numbers)
    quick(by_python, f, number, 2.0)
    quick(by_python, f, 2.0, number, k=np.float64(0.5))
    quick(by_python, f, number, b=number, k=2)
    np.testing.assert_allclose(f(number, 2.0), of_numbers(number, 2.0), rtol=1e-6)


@pytest.mark.parametrize(
    "nest",
    [
        (X, 2.0), [X, 2.0], {"b": X, "a": 2.0}, Pair(X, 2.0), Layer(X, 2.0), (X, None, [2.0, (X,)]),
        {"w": Layer(X, (2.0, np.float64(3.0))), "b": []}, {1: X, 0: 2.0},
    ],
    ids=repr,
)  # fmt: skip
def test_nests_of_arguments_and_results(by_python: Any, nest: Any) -> None:
    def total(p: Any) -> Any:
        return sum(np.sum(leaf * leaf) for leaf in flat(p))

    f = gradc.compile(total)
    quick(by_python, f, nest)
    quick(by_python, f.value_and_grad, nest)
    quick(by_python, gradc.compile(lambda p: p), nest)


def flat(nest: Any) -> list[Any]:
    """Return the leaves of a nest."""
    if isinstance(nest, dict):
        return [leaf for part in nest.values() for leaf in flat(part)]
    if isinstance(nest, tuple | list):
        return [leaf for part in nest for leaf in flat(part)]
    if isinstance(nest, Layer):
        return [*flat(nest.w), *flat(nest.b)]
    return [] if nest is None else [nest]


def test_another_nest_or_class_is_another_call(by_python: Any) -> None:
    f = gradc.compile(lambda p: p["a"] * 2.0)
    for _ in range(3):
        same(f({"a": X}), X * 2)
    same(f({"a": X, "b": 1.0}), X * 2)
    same(f({"b": X, "a": 2.0}), np.float64(4.0))
    with pytest.raises(KeyError):
        f({"b": X})
    same(f({"a": X}), X * 2)


def test_options_are_told_apart() -> None:
    f = gradc.compile(lambda x, y: np.sum(x * x * y))
    y = np.array([1.0, 2.0, 3.0])
    for _ in range(4):
        same(f.grad(X, y), 2 * X * y)
        same(f.grad(X, y, wrt=1), X * X)
        same(f.grad(X, y, wrt="y"), X * X)
        same(f.grad(X, y=y, argnums=1), X * X)
        same(f.grad(X, y, wrt=(0, 1)), (2 * X * y, X * X))
        same(f.jacobian(X, y, mode="reverse"), f.jacobian(X, y, mode="forward"))


def test_static_arguments(by_python: Any) -> None:
    f = gradc.compile(lambda x, n, flag=False: x**n + flag, static=("n", "flag"))
    for n in (2, 3):
        for flag in (True, False):
            same(quick(by_python, f, X, n, flag=flag), X**n + flag)
            same(quick(by_python, f, X, n, flag), X**n + flag)


def test_integers_outside_of_int32() -> None:
    f = gradc.compile(lambda x, k: x * k)
    for _ in range(3):
        for k in (7, -7, -1, 2**31 - 1, -(2**31), 2**31, 2**40, -(2**63)):
            same(f(X, k), X * k)
            same(f(np.arange(3), k), np.arange(3) * k)
        with pytest.raises((gradc.GradcError, OverflowError)):
            f(X, 2**70)


def test_layouts_and_views() -> None:
    f = gradc.compile(lambda x: x * 2.0)
    whole = np.arange(12.0).reshape(3, 4)
    swapped = whole.astype(">f8")
    views = [whole, whole.T, whole[::2], whole[:, ::-1], np.asfortranarray(whole), swapped]
    for _ in range(4):
        for view in views:
            np.testing.assert_array_equal(f(view), view * 2)


class Rows(np.ndarray):
    """A class of arrays of the user's."""


def test_subclasses_go_the_way_they_went() -> None:
    f = gradc.compile(lambda x: x * 2.0)
    for _ in range(3):
        same(f(X), X * 2)
        np.testing.assert_array_equal(np.asarray(f(X.view(Rows))), X * 2)


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


def test_what_is_captured_is_read_at_every_call(by_python: Any, monkeypatch: Any) -> None:
    f = gradc.compile(lambda x: np.sum(x * W) * FACTOR * LAYERS["a"][1] + np.sum(LAYERS["a"][0]))
    module = sys.modules[__name__]

    def check() -> None:
        wanted = np.sum(X * W) * FACTOR * LAYERS["a"][1] + np.sum(LAYERS["a"][0])
        for _ in range(4):
            np.testing.assert_allclose(f(X), wanted, rtol=1e-15)

    check()
    quick(by_python, f, X)
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


def test_methods_read_their_instance(by_python: Any) -> None:
    model, other = Model(), Model()
    other.w = np.ones(3)
    for _ in range(4):
        for one in (model, other):
            same(one.loss(X), np.sum(one.scaled * X))
            same(one.loss.grad(X), one.scaled * 1.0)
            value, gradient = one.loss.value_and_grad(X)
            same((value, gradient), (np.sum(one.scaled * X), one.scaled))
        model.w[0] += 1.0
    quick(by_python, model.loss, X)
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


# -- results ---------------------------------------------------------------------------------------


def test_results_are_fresh_and_freed() -> None:
    f = gradc.compile(lambda x: {"a": x * 2, "b": (np.sum(x), x > 0, np.all(x > 0)), "c": None})
    results = [f(X) for _ in range(5)]
    arrays = [result["a"] for result in results]
    assert len({array.ctypes.data for array in arrays}) == 5
    assert results[-1]["b"][2] is np.False_
    for result in results:
        same(result, results[0])
        assert sys.getrefcount(result["b"][0]) <= 3
        result["a"][:] = 0.0  # they may be written to
    same(f(X)["a"], X * 2)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("kind", ["hit", "miss", "refused"])
def test_calls_do_not_grow(kind: str) -> None:
    f = gradc.compile(lambda p, i: {"y": p["w"] * p["k"], "z": p["w"][i]})
    good = {"w": np.ones(1000), "k": 2.0}

    def once() -> None:
        if kind == "refused":
            with contextlib.suppress(IndexError):
                f(good, 5000)
        else:
            f(good, 1 if kind == "hit" else 2**40 if next(serial) % 2 else 1)

    serial = itertools.count(1)
    if kind == "miss":
        once = lambda: f({"w": np.ones(1000 + next(serial) % 40), "k": 2.0}, 1)  # noqa: E731
    times = {"hit": 50_000, "miss": 400, "refused": 400}[kind]

    def resident() -> int:
        gc.collect()
        return int(Path("/proc/self/statm").read_text().split()[1])

    for _ in range(times):
        once()
    before = resident()
    for _ in range(times):
        once()
    assert resident() - before < 1000  # pages; one lost result a call would be 100 times that


def test_an_error_has_the_users_line(by_python: Any) -> None:
    f = gradc.compile(lambda x, i: x[i])
    for _ in range(3):
        same(f(X, 1), X[1])
    for _ in range(2):
        with pytest.raises(IndexError, match=r"x\[i\]"):
            f(X, 3)
    with pytest.raises(gradc.TraceError, match="missing a required argument"):
        f(X)
    with pytest.raises(gradc.TraceError, match="unexpected keyword"):
        f(X, 1, k=2)
    same(f(X, 1), X[1])


# -- the callable ----------------------------------------------------------------------------------


def module_level(x: Any) -> Any:
    """Return the sum of squares."""
    return np.sum(x * x)


module_level_compiled = gradc.compile(module_level)


def test_what_tools_ask_of_it() -> None:
    f = gradc.compile(of_numbers)
    assert callable(f)
    assert str(inspect.signature(f)) == str(inspect.signature(of_numbers))
    assert f.__name__ == "of_numbers"
    grad = f.value_and_grad
    assert f.value_and_grad is grad
    assert grad.__name__ == "value_and_grad"
    assert "value" in grad.__doc__
    assert "wrt" in inspect.signature(grad).parameters
    assert gradc.compile.__module__ == "gradc.api.compile"
    derivative = gradc.grad(module_level)
    assert derivative.__wrapped__ is module_level
    assert derivative.__doc__ == module_level.__doc__


def test_it_lives_without_its_function(by_python: Any) -> None:
    grad = gradc.compile(lambda x: np.sum(x * x)).grad
    gc.collect()
    same(quick(by_python, grad, X), 2 * X)
    del grad
    gc.collect()


def test_pickles_of_methods() -> None:
    f = module_level_compiled
    f.__qualname__ = "module_level_compiled"
    copy = pickle.loads(pickle.dumps(f.grad))
    assert copy is f.grad


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_after_a_fork() -> None:
    f = gradc.compile(lambda x: np.sum(np.sort(x)))
    for _ in range(3):
        wanted = f(X)
    child = os.fork()
    if not child:
        os._exit(0 if all(f(X) == wanted for _ in range(3)) else 1)
    assert os.waitpid(child, 0)[1] == 0


# -- many at random --------------------------------------------------------------------------------


def random_argument(random: np.random.Generator) -> Any:
    """Return a number in any form, or an array of a few shapes, of any dtype."""
    dtype = random.choice(["f8", "f4", "i8", "i4", "?"])
    shape = [(), (3,), (1,), (2, 3)][random.integers(4)]
    array = np.asarray(random.normal(size=shape) * 3).astype(dtype)
    form = random.integers(4)
    if shape == ():
        return [array, array[()], array.item(), array.item()][form]
    return [array, array, np.asfortranarray(array), array[..., ::-1]][form]


def check_random_calls(seed: int, count: int) -> None:
    random = np.random.default_rng(seed)

    def function(a: Any, b: Any, *, c: Any = 1.0, p: Any = (2.0,)) -> Any:
        total = np.where(a > b, a, b) + c
        return {"total": total, "parts": [total * part for part in p]}

    f = gradc.compile(function)
    pool = [random_argument(random) for _ in range(3)]
    with np.errstate(all="ignore"):
        for _ in range(count):
            a, b, c = (pool[i] for i in random.integers(len(pool), size=3))
            given = [{}, {"c": c}, {"p": (c,), "c": b}, {"c": c, "p": [a, c]}][random.integers(4)]
            wanted = function(a, b, **given)
            found = f(a, b, **given)
            assert list(found) == list(wanted)
            for one, other in zip(flat(found), flat(wanted), strict=True):
                assert type(one) is type(other)
                assert one.dtype == other.dtype
                np.testing.assert_allclose(one, other, rtol=1e-6)


def test_random_arguments() -> None:
    check_random_calls(0, 300)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 11))
def test_twenty_thousand_random_arguments(seed: int) -> None:
    check_random_calls(seed, 2000)
