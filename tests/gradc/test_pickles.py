"""Functions in pickles: by name, or by value with all they read; in processes of Python's own."""

from __future__ import annotations

import copy
import ctypes
import functools
import multiprocessing
import os
import pickle
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest

import gradc
from gradc.parallel import by_value
from gradc_codegen.machine import jit
from tests.comparing import assert_same_bits

X = np.array([0.5, -1.5, 2.0])
ROOT = Path(__file__).resolve().parents[2]


@gradc.compile
def named(x):
    return np.sum(x * x)


class Model:
    """One whose class can be imported."""

    def __init__(self, scale: float) -> None:
        self.scale = scale

    @gradc.compile
    def loss(self, x):
        return self.scale * np.sum(x * x)


def closure(scale: float) -> Any:
    weights = np.arange(3.0)
    inner = lambda x: np.sin(x) * scale  # noqa: E731

    def loss(x):
        return np.sum(inner(x) * weights)

    return gradc.compile(loss)


def flat(found: Any) -> Any:
    parts = found if isinstance(found, tuple) else (found,)
    return np.hstack([np.ravel(part) for part in parts])


def with_aux() -> Any:
    return gradc.grad(lambda x: (np.sum(x**3), x + 1), has_aux=True)


KINDS: dict[str, Callable[[], Any]] = {
    "closure": lambda: closure(2.0),
    "gradient of it": lambda: closure(2.0).grad,
    "value and gradient": lambda: closure(2.0).value_and_grad,
    "Hessian": lambda: closure(2.0).hessian,
    "gradc.grad": lambda: gradc.grad(closure(2.0)),
    "of a lambda": lambda: gradc.value_and_grad(lambda x: np.sum(x**3)),
    "policies": lambda: gradc.grad(lambda x: np.sum(np.sqrt(x)), nonfinite="zero"),
    "second": lambda: gradc.hessian(lambda x: np.sum(x**3)),
    "vmap": lambda: gradc.vmap(lambda x: np.sin(x) * x),
    "vmap of it": lambda: gradc.vmap(lambda x: closure(2.0)(np.full(3, x))),
    "method": lambda: Model(3.0).loss,
    "gradient of a method": lambda: Model(3.0).loss.value_and_grad,
    "options": lambda: gradc.compile(lambda x, how: how(x), static="how", fast=True).bind,
    "rule": lambda: gradc.compile(
        lambda x: np.sum(np.log(1 + np.exp(x))),
        rules=[gradc.rule("log(1 + exp(x))", "softplus(x)", register=False, name="soft plus")],
    ),
    "auxiliary": with_aux,
}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "options"])
def test_by_value(kind: str) -> None:
    function = KINDS[kind]()
    for data in (pickle.dumps(function), cloudpickle.dumps(function)):
        assert_same_bits(flat(pickle.loads(data)(X)), flat(function(X)))


def test_what_arrives_twice_is_one() -> None:
    f = closure(2.25)
    data = pickle.dumps(f)
    first = pickle.loads(data)
    assert first is not f
    assert pickle.loads(data) is first
    assert pickle.loads(pickle.dumps(f)) is first
    assert pickle.loads(pickle.dumps(closure(3.0))) is not first
    assert pickle.loads(pickle.dumps(f.grad))(X).shape == (3,)
    first(X)
    del first
    assert len(pickle.loads(data).signatures) == 2  # it stayed, though nobody held it


def test_the_last_few_stay() -> None:
    for i in range(20):
        pickle.loads(pickle.dumps(closure(float(i))))
    assert len(by_value._latest) == 8


def test_by_name() -> None:
    for function in (named, Model.loss):
        assert pickle.loads(pickle.dumps(function)) is function
        assert cloudpickle.loads(cloudpickle.dumps(function)) is function
    assert len(pickle.dumps(named)) < 100
    copy = pickle.loads(pickle.dumps(gradc.grad(named)))
    assert copy.fn is named


def test_a_function_that_is_compiled_under_another_name() -> None:
    compiled = gradc.compile(flat.__globals__["plain"])
    copy = pickle.loads(pickle.dumps(compiled))
    assert copy is not plain
    assert copy.__wrapped__ is plain


def plain(x):
    return np.sum(x)


def test_what_it_reads_is_as_it_was_when_it_was_sent() -> None:
    weights = np.ones(3)

    @gradc.compile
    def loss(x):
        return np.sum(x * weights)

    first = pickle.loads(pickle.dumps(loss))
    weights[:] = 2.0
    second = pickle.loads(pickle.dumps(loss))
    assert (first(X), second(X), loss(X)) == (np.sum(X), 2 * np.sum(X), 2 * np.sum(X))


def test_a_function_that_calls_itself() -> None:
    @gradc.compile
    def power(x, n=3):
        return x if n == 0 else x * power(x, n - 1)

    copy = pickle.loads(pickle.dumps(power))
    assert copy(2.0) == power(2.0) == 16.0
    assert copy.__wrapped__.__closure__[0].cell_contents is copy


def test_gradients_of_ones_own_travel() -> None:
    @gradc.custom_gradient
    def clipped(x):
        return x * 2, lambda upstream: upstream * 7

    weight = gradc.Variable(X, "w")
    checkpointed = gradc.checkpoint(lambda x: np.sin(clipped(x)) * weight)
    f = gradc.compile(lambda x: np.sum(checkpointed(x)))
    copy = pickle.loads(pickle.dumps(f))
    assert_same_bits(copy.grad(X), f.grad(X))
    assert_same_bits(pickle.loads(pickle.dumps(clipped))(X), clipped(X))


def test_compiled_forms_do_not_travel() -> None:
    def loss(x):
        return np.sum(x * x)

    gradc.grad(loss)(X)
    gradc.vmap(loss)(np.ones((2, 3)))
    assert b"Compiled" not in cloudpickle.dumps(loss)


def test_what_cannot_be_sent() -> None:
    lock = threading.Lock()

    def loss(x):
        with lock:
            return np.sum(x)

    with pytest.raises(gradc.PickleError) as caught:
        pickle.dumps(gradc.compile(loss))
    assert str(caught.value) == (
        "loss cannot be sent to another process\n"
        "  cannot pickle '_thread.lock' object\n"
        "  help: what it reads from outside goes with it: pass what cannot be pickled as an "
        "argument, or make it where it is needed"
    )
    assert isinstance(caught.value, pickle.PicklingError)


def test_calls_that_are_bound_travel() -> None:
    f = closure(2.0)
    for bound in (
        f.bind(X),
        f.value_and_grad.bind(X),
        gradc.grad(f).bind(X),
        gradc.vmap(f).bind(X[:, None]),
    ):
        assert_same_bits(flat(pickle.loads(pickle.dumps(bound))()), flat(bound()))


@pytest.mark.parametrize(("make", "name"), [("vjp", "pullback"), ("linearize", "push")])
def test_functions_at_a_point_stay(make: str, name: str) -> None:
    _, at_a_point = getattr(closure(2.0), make)(X)
    for dumps in (pickle.dumps, cloudpickle.dumps):
        with pytest.raises(gradc.PickleError) as caught:
            dumps(at_a_point)
    assert str(caught.value) == (
        f"a {name} keeps the values of one point, and is not sent to another process\n"
        "  help: send the function and the point, and ask for it there"
    )


def test_copies_of_functions_are_the_functions() -> None:
    """As those of Python's own functions; that of a method has a copy of the instance."""
    f = closure(2.0)
    for function in (f, gradc.grad(f), gradc.vmap(f), with_aux(), gradc.checkpoint(f)):
        assert copy.copy(function) is copy.deepcopy(function) is function
    model = Model(3.0)
    held = {"model": model, "loss": model.loss, "gradient": model.loss.grad}
    copied = copy.deepcopy(held)
    assert copied["loss"].__self__ is copied["model"] is not model
    copied["model"].scale = 4.0
    assert copied["loss"](X) == 4.0 * np.sum(X * X)
    assert_same_bits(copied["gradient"](X), 8.0 * X)
    assert_same_bits(model.loss.grad(X), 6.0 * X)


def test_functions_of_c_stay() -> None:
    c = gradc.external(ctypes.CDLL(None).cosh, "x: f64 -> f64")
    with pytest.raises(gradc.PickleError) as caught:
        pickle.dumps(gradc.compile(lambda x: c(x)))
    assert str(caught.value) == (
        "cosh is a function of C, which is known by its address in this process\n"
        "  help: make it with gradc.external in a module, which the other process imports"
    )


# -- processes -------------------------------------------------------------------------------------

SENT = ("closure", "value and gradient", "of a lambda", "vmap", "gradient of a method")


@pytest.mark.skipif(sys.platform != "linux", reason="forks")
def test_processes_that_are_forked() -> None:
    functions = [KINDS[kind]() for kind in SENT]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for function in functions:
            (found,) = pool.map(function, [X])
            assert_same_bits(flat(found), flat(function(X)))


def test_processes_that_are_spawned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """They take machine code from the cache of the process that sent the function."""
    monkeypatch.setenv("GRADC_CACHE", "1")
    monkeypatch.setenv("GRADC_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *filter(None, sys.path)]))
    # what kernels share is kept in this folder as well
    for shared in ("_shared", "_whole"):
        monkeypatch.setattr(jit, shared, functools.cache(getattr(jit, shared).__wrapped__))
    functions = [KINDS[kind]() for kind in SENT]
    expected = [function(X) for function in functions]
    monkeypatch.setenv("GRADC_LOG", "cache")
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        for function, want in zip(functions, expected):
            assert_same_bits(flat(pool.submit(function, X).result()), flat(want))
    said = capfd.readouterr().err
    assert said.count("the trace is kept, as") == len(SENT)
    assert " bytes of " not in said  # of a trace, or of machine code
