"""Recorders in TensorFlow's words and gradients in Ivy's: what the behaviour tables leave open."""

from __future__ import annotations

import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.compat import ivy
from gradc.compat.tf import ForwardAccumulator, GradientTape, Recorded
from tests.comparing import assert_close, assert_same_bits

X = np.array([[0.5, 1.5], [2.0, 3.0]])

COMPUTED: dict[str, Callable[[Any], Any]] = {
    "operators": lambda x: -x * 2 + 1 / x - x**2 + abs(x) @ x,
    "functions": lambda x: np.sum(np.where(x > 1, np.sin(x), np.exp(x)), axis=0),
    "stacks": lambda x: np.concatenate([x, np.stack([x[0], x[1] * 2])]).T,
    "methods": lambda x: x.sum(axis=0) * x.mean() + x.reshape(4)[1:3],
    "attributes": lambda x: x.T * x.shape[0] * x.ndim,
    "parts": lambda x: sum(np.split(x, 2)) * np.linspace(0, 1, 2),
    "products": lambda x: np.einsum("ij,jk->ik", x, np.linalg.inv(x)) + np.dot(x, x),
    "mixed": lambda x: np.float32(2) * x + [1.0, 2.0] * x,
}


@pytest.mark.parametrize("name", COMPUTED)
def test_recorded_values_compute_as_arrays_do(name: str) -> None:
    f = COMPUTED[name]
    direction = np.array([[1.0, -1.0], [0.5, 2.0]])
    want = gradc.jvp(f, (X,), (direction,))
    with ForwardAccumulator(X, direction) as acc:
        found = f(acc.primals)
        inside = acc.jvp(found)
    assert isinstance(found, Recorded)
    assert_same_bits(found.value, f(X))
    assert_close(inside, want[1], scale=1 + np.abs(want[1]))
    assert_same_bits(inside, acc.jvp(found))
    with GradientTape() as tape:
        x = tape.watch(X)
        y = f(x)
    weights = np.cos(np.arange(y.size)).reshape(y.shape)
    gradient = tape.gradient(y, x, output_gradients=weights)
    pulled = gradc.vjp(f, X)[1](weights)[0]
    assert_close(gradient, pulled, scale=1 + np.abs(pulled))


Point = namedtuple("Point", "x y")


def test_nests_of_targets_and_sources() -> None:
    with GradientTape(persistent=True) as tape:
        p = tape.watch({"a": Point(2.0, 3.0), "b": [np.ones(2)]})
        product = p["a"].x * p["a"].y
        total = np.sum(p["b"][0]) * p["a"].x
    assert tape.gradient(product, p["a"]) == Point(3.0, 2.0)
    assert tape.gradient([product, total], p["a"].x) == 3.0 + 2.0
    found = tape.gradient({"t": total}, p, unconnected_gradients="zero")
    assert found["a"] == Point(2.0, 0.0)
    assert found["b"][0].tolist() == [2, 2]
    with ForwardAccumulator({"u": 2.0, "v": 5.0}, {"u": 1.0, "v": 10.0}) as acc:
        u, v = acc.primals["u"], acc.primals["v"]
        results = {"sum": u + v, "product": u * v, "neither": np.float64(1.0)}
    assert acc.jvp(results) == {"sum": 11.0, "product": 25.0, "neither": None}
    assert acc.jvp([u, v]) == [1.0, 10.0]


def test_a_tape_in_a_tape() -> None:
    with GradientTape() as outer:
        x = outer.watch(3.0)
        with GradientTape() as inner:
            y = x * x * inner.watch(x)
        slope = inner.gradient(y, x)
        scaled = slope * x
    assert (slope.value, outer.gradient(scaled, x)) == (27.0, 81.0)


def test_what_is_watched_may_be_computed() -> None:
    with ForwardAccumulator(2.0, 1.0) as outer:
        u = outer.primals**2
        with GradientTape() as inner:
            u = inner.watch(u)
            y = u**3
        slope = inner.gradient(y, u)  # 3 u**2, and u = x**2
    assert slope.value == 48.0
    assert outer.jvp(slope) == 3 * 4 * 2.0**3


def test_tangents_may_be_recorded() -> None:
    with ForwardAccumulator(3.0, 1.0) as outer:
        x = outer.primals
        with ForwardAccumulator(x, x * x) as inner:
            y = inner.primals**2
    pushed = inner.jvp(y)  # 2 x x**2
    assert (pushed.value, outer.jvp(pushed)) == (54.0, 54.0)


def test_what_is_computed_outside_of_the_block_is_not_recorded() -> None:
    with ForwardAccumulator(2.0, 1.0) as acc:
        y = acc.primals * 3
    later = y * 2
    assert type(later) is np.float64
    assert (acc.jvp(y), acc.jvp(later)) == (3.0, None)
    with ForwardAccumulator(5.0, 1.0) as outer:
        with ForwardAccumulator(2.0, 1.0) as inner:
            z = inner.primals * outer.primals
        w = z * 10
    assert (inner.jvp(z).value, inner.jvp(w), outer.jvp(w)) == (5.0, None, 20.0)


def test_what_was_recorded_stays_true() -> None:
    x, factor = np.array([1.0, 2.0]), np.array([3.0, 5.0])
    with GradientTape() as tape:
        watched = tape.watch(x)
        y = np.sum(watched * watched * factor)
    x[:] = 100.0
    factor[:] = 100.0
    assert tape.gradient(y, watched).tolist() == [6, 20]
    with pytest.raises(ValueError, match="read-only"):
        watched.sort()
    with pytest.raises(TypeError, match="write x = x"):
        watched += 1
    with pytest.raises(TypeError, match="leave out= out"):
        np.add(watched, 1, out=x)


MISUSES: dict[str, tuple[Callable[[], Any], str]] = {
    "asked twice": (lambda: asked_twice(), "write GradientTape\\(persistent=True\\)"),
    "not watched": (lambda: GradientTape().gradient(X, X), "sources is not watched by this tape"),
    "integers": (lambda: ForwardAccumulator(np.ones(2, int), np.ones(2)), "primals is int64"),
    "texts": (lambda: GradientTape().watch(["a"]), r"tensor\[0\] is neither a number"),
}


def asked_twice() -> None:
    with GradientTape() as tape:
        x = tape.watch(2.0)
        y = x * x
    tape.gradient(y, x)
    tape.gradient(y, x)


@pytest.mark.parametrize("name", MISUSES)
def test_misuses_are_errors(name: str) -> None:
    misuse, message = MISUSES[name]
    with pytest.raises(TypeError, match=message):
        misuse()


def test_paths_of_ivy() -> None:
    xs = {"layers": [np.array([1.0, 2.0]), np.array([3.0, 4.0])], "scale": 2.0, "unused": [1, 2]}

    def func(xs):
        first, second = xs["layers"]
        return {"loss": np.sum(first * second) * xs["scale"], "size": len(first)}

    ret, grads = ivy.execute_with_gradients(func, xs, [["scale"], ["layers", 1]], [["loss"]])
    assert ret == {"loss": 22.0, "size": 2}
    assert grads[0] == 11.0
    assert grads[1].tolist() == [2, 4]
    _, grads = ivy.execute_with_gradients(func, xs, [["layers"]], [["loss"]])
    assert [grad.tolist() for grad in grads] == [[6, 8], [2, 4]]
    with pytest.raises(ValueError, match=r"\['layers', 2\] leads to nothing in xs"):
        ivy.execute_with_gradients(func, xs, [["layers", 2]], [["loss"]])
    with pytest.raises(TypeError, match="for arrays, not for traced values"):
        gradc.compile(lambda x: ivy.execute_with_gradients(np.sum, x)[1])(X)


def test_a_bound_gradient_is_used_compiled_and_in_maps() -> None:
    double = ivy.bind_custom_gradient_function(
        lambda x: 2 * x, lambda inputs, upstream: 3 * upstream
    )
    assert gradc.compile(double).grad(5.0) == 3.0
    assert gradc.vmap(gradc.grad(double))(np.ones(4)).tolist() == [3, 3, 3, 3]
    assert gradc.jvp(double, (5.0,), (1.0,)) == (10.0, 3.0)


def test_importing_gradc_does_not_load_them() -> None:
    code = "import sys, gradc; print(any('compat' in name for name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
