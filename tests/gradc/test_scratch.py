"""Scratch belongs to a call: kernels that call back into Python, which calls kernels."""

from __future__ import annotations

import ctypes
import itertools
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc
from gradc_codegen.calls.cells import CELLS
from gradc_codegen.calls.steps import Cell
from gradc_codegen.compile_function import compile_function
from gradc_codegen.interface.python_kernel import Kernel

_serial = itertools.count()
X = np.linspace(1, 2, 30)
SHORT, LONG = np.linspace(5, -5, 40), np.linspace(5, -5, 4000)

inner = gradc.compile(lambda x: np.sum(np.cumsum(np.sort(x)) * np.sort(x)[::-1]))


def sandwich(between: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that keeps arrays in scratch while it calls another, of numbers."""

    def f(x: Any) -> Any:
        before = np.cumsum(np.sort(x))
        return np.sum(np.cumsum(between(x)) * before * np.sort(before)[::-1])

    return f


def calling(python: Callable[[float], float]) -> Any:
    """Return a function of C, for traced code, that calls one of Python; its slope is 2."""
    function = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(python)
    made = gradc.external(function, "x: f64 -> f64", name=f"gt_scratch{next(_serial)}")
    made.def_partials(lambda x: 2.0)
    return made


def doubled(x: Any) -> Any:
    return 2 * x


def disturbing(*kernels: Callable[[], Any]) -> Callable[[float], float]:
    def callback(x: float) -> float:
        for kernel in kernels:
            kernel()
        return 2 * x

    return callback


DOORS: dict[str, Callable[[Any, Any], Any]] = {
    "value": lambda f, x: f(x),
    "grad": lambda f, x: f.grad(x),
    "value_and_grad": lambda f, x: f.value_and_grad(x)[1],
    "vjp": lambda f, x: f.vjp(x)[1](1.0)[0],
    "jvp": lambda f, x: f.jvp((x,), (np.ones_like(x),))[1],
    "hvp": lambda f, x: f.hvp((x,), np.ones_like(x)),
    "in a scan": lambda f, x: gradc.compile(
        lambda rows: np.sum(gradc.scan(lambda c, row: (c + f(row), c), 0.0, rows)[1])
    )(np.stack([x, x + 1])),
}


@pytest.mark.parametrize("door", DOORS)
def test_a_callback_may_call_any_kernel(door: str) -> None:
    callback = calling(disturbing(lambda: inner(SHORT), lambda: inner.grad(LONG)))
    f = gradc.compile(sandwich(callback))
    plain = gradc.compile(sandwich(doubled))
    inner(SHORT)  # the thread has an arena
    for x in (X, X, X[:20], X):  # static, again, symbolic
        np.testing.assert_array_equal(DOORS[door](f, x), DOORS[door](plain, x))


def test_the_same_kernel_in_itself_three_deep() -> None:
    depth = 0
    xs = [X, X + 1, X + 2, X + 3]
    found: dict[int, Any] = {}

    def callback(x: float) -> float:
        nonlocal depth
        if depth < 3:
            depth += 1
            found[depth] = f(xs[depth])
            depth -= 1
        return 2 * x

    f = gradc.compile(sandwich(calling(callback)))
    plain = gradc.compile(sandwich(doubled))
    x = X[:5]
    xs = [x + i for i in range(4)]
    assert f(x) == plain(x)
    assert found == {i: plain(xs[i]) for i in (1, 2, 3)}


def test_a_callback_that_raises_leaves_scratch_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[type[BaseException]] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda error: told.append(error.exc_type))
    raised = iter([ValueError, KeyboardInterrupt])

    def callback(x: float) -> float:
        inner(LONG)
        raise next(raised)

    f = gradc.compile(lambda x: np.sum(np.sort(x)) + calls(x[0]))
    calls = calling(callback)
    plain = gradc.compile(lambda x: np.sum(np.sort(x)))
    wanted = inner(SHORT)
    for _ in range(2):  # what C gets of a callback that raises is ctypes' choice: 0
        assert f(X) == plain(X)
        assert inner(SHORT) == wanted
    assert told == [ValueError, KeyboardInterrupt]


def test_without_a_native_entry() -> None:
    callback = calling(disturbing(lambda: inner(SHORT)))
    graph = gradc.compile(sandwich(callback)).ir(X)
    compiled = compile_function(graph)
    slow = Kernel(graph, compiled.compiled, compiled.name, native=False)
    (found,) = slow([X])
    assert found == sandwich(doubled)(X)


def test_in_threads_and_after_a_fork() -> None:
    callback = calling(disturbing(lambda: inner(SHORT)))
    f, wanted = gradc.compile(sandwich(callback)), sandwich(doubled)(X)
    assert f(X) == wanted
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda: found.extend(f(X) for _ in range(20))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [wanted] * 80

    children: list[int] = []

    def forks(x: float) -> float:
        child = os.fork()
        if child:
            children.append(child)
        inner(SHORT)
        return 2 * x

    g = gradc.compile(sandwich(calling(forks)))
    parent, x = os.getpid(), X[:1]
    found = g(x)
    if os.getpid() != parent:
        os._exit(0 if found == sandwich(doubled)(x) else 1)
    assert found == sandwich(doubled)(x)
    assert [os.waitpid(child, 0)[1] for child in children] == [0]


def test_generators_and_coroutines_between_calls() -> None:
    """Calls that are open at once and end in another order than they began, in one thread."""
    order: list[str] = []

    def steps(name: str, x: np.ndarray) -> Any:
        for i in range(3):
            yield
            order.append(f"{name}{i}")
            inner(x)

    running = [steps("a", SHORT), steps("b", LONG)]

    def callback(x: float) -> float:
        for one in list(running):
            if next(one, "done") == "done":
                running.remove(one)
        return 2 * x

    f = gradc.compile(sandwich(calling(callback)))
    assert f(X) == sandwich(doubled)(X)
    assert order == ["a0", "b0", "a1", "b1", "a2", "b2"]


def test_greenlets_that_switch_inside_of_kernels() -> None:
    greenlet = pytest.importorskip("greenlet")
    switches = calling(lambda x: (greenlet.getcurrent().parent.switch(), 2 * x)[1])
    f = gradc.compile(sandwich(switches))
    f_plain = sandwich(doubled)
    arrays = [X[:4], X[:4] + 1, X[:4] + 2]
    running = [greenlet.greenlet(lambda x=x: f(x)) for x in arrays]
    found: dict[int, Any] = {}
    while len(found) < len(running):
        for i in (2, 0, 1):
            if not running[i].dead:
                result = running[i].switch()
                inner(SHORT)
                if running[i].dead:
                    found[i] = result
    assert found == {i: f_plain(x) for i, x in enumerate(arrays)}


def test_a_callback_that_compiles_while_its_caller_is_compiled() -> None:
    def callback(x: float) -> float:
        return float(gradc.compile(lambda y: y * 2)(x))

    constant = calling(callback)
    assert gradc.compile(lambda x: x + constant(2.0))(1.0) == 5.0
    assert gradc.grad(lambda x: np.sum(constant(np.arange(3.0)) * x))(1.0) == 6.0


def test_one_arena_is_kept() -> None:
    def held() -> int:
        return int(CELLS[Cell.SCRATCH_BYTES])

    for _ in range(3):
        inner(LONG)
    before = held()
    assert before
    f = gradc.compile(sandwich(calling(disturbing(lambda: inner(SHORT)))))
    for _ in range(3):
        f(X)
    assert held() == before
