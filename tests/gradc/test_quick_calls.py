"""Calls that go by plans: as those that go Python's way, for whatever is handed in."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import gc
import inspect
import itertools
import os
import pickle
import sys
from collections import namedtuple
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import gradc
from gradc.runtime import quick_call
from gradc_codegen.calls import layout
from tests.quick_calls import quick, same

pytestmark = pytest.mark.skipif(not layout.is_known(), reason="calls go through ctypes here")

X = np.array([0.3, -0.7, 1.1])


# -- forms of arguments ----------------------------------------------------------------------------

Pair = namedtuple("Pair", "a b")


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
def test_every_kind_of_argument(number: Any) -> None:
    f = gradc.compile(of_numbers)
    quick(f, number, 2.0)
    quick(f, 2.0, number, k=np.float64(0.5))
    quick(f, number, b=number, k=2)
    np.testing.assert_allclose(f(number, 2.0), of_numbers(number, 2.0), rtol=1e-6)


@pytest.mark.parametrize(
    "nest",
    [
        (X, 2.0), [X, 2.0], {"b": X, "a": 2.0}, Pair(X, 2.0), Layer(X, 2.0), (X, None, [2.0, (X,)]),
        {"w": Layer(X, (2.0, np.float64(3.0))), "b": []}, {1: X, 0: 2.0},
    ],
    ids=repr,
)  # fmt: skip
def test_nests_of_arguments_and_results(nest: Any) -> None:
    def total(p: Any) -> Any:
        return sum(np.sum(leaf * leaf) for leaf in flat(p))

    f = gradc.compile(total)
    quick(f, nest)
    quick(f.value_and_grad, nest)
    quick(gradc.compile(lambda p: p), nest)


def flat(nest: Any) -> list[Any]:
    """Return the leaves of a nest."""
    if isinstance(nest, dict):
        return [leaf for part in nest.values() for leaf in flat(part)]
    if isinstance(nest, tuple | list):
        return [leaf for part in nest for leaf in flat(part)]
    if isinstance(nest, Layer):
        return [*flat(nest.w), *flat(nest.b)]
    return [] if nest is None else [nest]


# what another process sends has dtypes of its own, and some kinds of elements have several
ALIKE: list[Any] = [
    pickle.loads(pickle.dumps(X)), pickle.loads(pickle.dumps(np.array(1.5))),
    pickle.loads(pickle.dumps(np.arange(3))), np.arange(3).astype(np.longlong),
    pickle.loads(pickle.dumps(X > 0)), X.astype(np.dtype(float, metadata={"unit": "m"})),
]  # fmt: skip


@pytest.mark.parametrize("number", ALIKE, ids=repr)
def test_dtypes_that_are_equal_and_not_the_same(number: Any) -> None:
    assert number.dtype is not np.dtype(number.dtype.str)
    plain = np.array(number, np.dtype(number.dtype.str))
    f = gradc.compile(of_numbers)
    wanted = quick(f, plain, 2.0)
    with mock.patch.object(quick_call.Learner, "learn") as learn:
        same(f(number, 2.0), wanted)  # by the plan of the other
    assert not learn.called
    quick(gradc.compile(of_numbers), number, 2.0)


def test_bytes_in_another_order_are_another_call() -> None:
    f = gradc.compile(lambda x: x * 2.0)
    for _ in range(3):
        same(f(X), X * 2)
        same(f(X.astype(X.dtype.newbyteorder())), X * 2)
        same(f(X.view(np.int64)), X.view(np.int64) * 2.0)


def test_another_nest_or_class_is_another_call() -> None:
    f = gradc.compile(lambda p: p["a"] * 2.0)
    for _ in range(3):
        same(f({"a": X}), X * 2)
    same(f({"a": X, "b": 1.0}), X * 2)
    same(f({"b": X, "a": 2.0}), np.float64(4.0))
    with pytest.raises(KeyError):
        f({"b": X})
    same(f({"a": X}), X * 2)


def test_dicts_come_back_as_they_were_written() -> None:
    f = gradc.compile(lambda p: p["a"] * 2 + p["b"] * 3)
    for _ in range(3):
        assert list(f.grad({"b": 1.0, "a": 2.0}).items()) == [("b", 3.0), ("a", 2.0)]
        assert list(f.grad({"a": 1.0, "b": 2.0}).items()) == [("a", 2.0), ("b", 3.0)]
    g = gradc.compile(lambda p: p["a"] * p[1])
    for _ in range(3):
        assert g({"a": 2.0, 1: 3.0}) == 6.0


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
    chosen = ["x"]
    for _ in range(4):
        same(f.grad(X, y, wrt=chosen), (2 * X * y,))
    chosen.append("y")
    same(f.grad(X, y, wrt=chosen), (2 * X * y, X * X))


def test_static_arguments() -> None:
    f = gradc.compile(lambda x, n, flag=False: x**n + flag, static=("n", "flag"))
    for n in (2, 3):
        for flag in (True, False):
            same(quick(f, X, n, flag=flag), X**n + flag)
            same(quick(f, X, n, flag), X**n + flag)


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


# -- results ---------------------------------------------------------------------------------------


def test_results_are_fresh_and_freed() -> None:
    f = gradc.compile(lambda x: {"a": x * 2, "b": (np.sum(x), x > 0, np.all(x > 0)), "c": None})
    results = [f(X) for _ in range(5)]
    arrays = [result["a"] for result in results]
    assert len({array.ctypes.data for array in arrays}) == 5
    assert results[-1]["b"][2] is np.False_
    for result in results[1:]:
        same(result, results[0])
    for result in results:
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


def test_an_error_has_the_users_line() -> None:
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


def test_a_wrapper_has_derivatives_of_its_own() -> None:
    f = gradc.compile(module_level)
    for _ in range(3):
        f.grad(X)

    @functools.wraps(f)
    def wrapper(x: Any) -> Any:
        return 3 * f(x)

    for _ in range(3):
        np.testing.assert_allclose(gradc.compile(wrapper).grad(X), 6 * X)
    assert not hasattr(wrapper, "grad")
    assert not hasattr(gradc.grad(f), "grad")


def test_it_lives_without_its_function() -> None:
    grad = gradc.compile(lambda x: np.sum(x * x)).grad
    gc.collect()
    same(quick(grad, X), 2 * X)
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
