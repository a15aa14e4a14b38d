"""The behaviours of NVIDIA's test of determinism by gradient injection, one test or more a row."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import gradc
from gradc import testing
from gradc.testing import determinism
from gradc_ir.meaning.reduction import reduce_in_order
from tests.comparing import assert_same_bits

both_dtypes = pytest.mark.parametrize(
    "dtype", [pytest.param(np.float32, marks=pytest.mark.slow), np.float64]
)


def operation(a, b):
    return np.tanh(a) @ b


def injected(a, b, u):
    return np.sum(operation(a, b) * u)


def arguments(seed: int, dtype: Any = np.float64, rows: int = 257) -> tuple[Any, Any, Any]:
    random = np.random.default_rng(seed)
    a, b = random.normal(size=(rows, 5)), random.normal(size=(5, 3))
    u = 2 * random.random((rows, 3)) - 1
    return a.astype(dtype), b.astype(dtype), u.astype(dtype)


@both_dtypes
@pytest.mark.parametrize("seed", range(3))
def test_b38_two_runs_give_the_same_bits(seed: int, dtype: Any) -> None:
    gradient = gradc.grad(injected, wrt=(0, 1))
    given = arguments(seed, dtype)
    for one, other in zip(gradient(*given), gradient(*given), strict=True):
        assert_same_bits(one, other)


@both_dtypes
def test_b38_as_a_function(dtype: Any) -> None:
    a, b, _ = arguments(0, dtype)
    testing.check_determinism(operation, (a, b), repeat=2)


@both_dtypes
def test_b39_injection_is_the_pullback(dtype: Any) -> None:
    a, b, u = arguments(0, dtype)
    by_injection = gradc.grad(injected, wrt=(0, 1))(a, b, u)
    by_pullback = gradc.vjp(operation, a, b)[1](u)
    for one, other in zip(by_injection, by_pullback, strict=True):
        assert_same_bits(one, other)


def dot(x, u):
    return np.sum(np.sin(x) * u)


@both_dtypes
@pytest.mark.parametrize("length", [1000, 10_007, 100_003, 1_000_000])
def test_b40_the_order_of_a_sum_does_not_depend_on_how_it_was_compiled(
    length: int, dtype: Any
) -> None:
    random = np.random.default_rng(length)
    x = random.normal(size=length).astype(dtype)
    u = (2 * random.random(length) - 1).astype(dtype)
    static = gradc.compile(dot)
    symbolic = gradc.compile(dot)
    for size in (5, 7):
        symbolic(x[:size], u[:size])
    assert_same_bits(static(x, u), symbolic(x, u))
    assert_same_bits(static.grad(x, u), symbolic.grad(x, u))
    assert len(symbolic.signatures) == 3


@pytest.mark.parametrize("length", [10_007, 100_003])
def test_b40_equal_upstream_values_hide_the_order(length: int) -> None:
    """Why upstream gradients are drawn: sums of equal numbers of few digits are exact."""
    random = 2 * np.random.default_rng(0).random(length) - 1
    constant = np.ones(length)

    def added(u: Any) -> Any:
        return reduce_in_order(u, (0,), np.add, -0.0, 0.0)

    assert added(constant) == added(constant[::-1]) == np.cumsum(constant)[-1]
    assert len({float(added(random)), float(added(random[::-1])), np.cumsum(random)[-1]}) > 1


def test_b41_each_repeat_has_upstream_gradients_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[Any] = []

    class Spy:
        def __init__(self, function: Any) -> None:
            pass

        def __call__(self, arrays: Sequence[Any]) -> list[Any]:
            x, upstream = arrays
            seen.append(upstream)
            return [x * x, 2 * x * upstream]

    monkeypatch.setattr(determinism, "CKernel", Spy)
    x = np.arange(12.0).reshape(3, 4)
    testing.check_determinism(lambda x: x * x, (x,), repeat=4, seed=100)
    assert len(seen) == 4
    for i, upstream in enumerate(seen):
        assert_same_bits(upstream, 2 * np.random.default_rng(100 + i).random((3, 4)) - 1)


@both_dtypes
def test_b42_every_way_to_run_a_graph_gives_the_same_bits(dtype: Any) -> None:
    """A kernel twice, of static and symbolic sizes, called from C, and in another process."""
    random = np.random.default_rng(3)
    x, w = (random.normal(size=1003).astype(dtype) for _ in range(2))
    runs = list(testing.compare_bits(lambda x, w: np.sum(np.exp(x) * w), (x, w), repeat=2))
    assert {run.way: (run.difference, run.reason) for run in runs} == dict.fromkeys(
        [
            "the same call again",
            "a kernel of static sizes",
            "a kernel of symbolic sizes",
            "the exported C kernel",
            "another process",
        ],
        (None, ""),
    )


def test_b42_two_processes_give_the_same_bits() -> None:
    program = (
        "import numpy, gradc\n"
        "x = numpy.linspace(-3, 3, 1003)\n"
        "f = gradc.compile(lambda x: numpy.sum(numpy.exp(numpy.sin(x)) * x))\n"
        "print(f(x).hex(), *(g.hex() for g in f.grad(x)[::100]))\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    runs = {
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            env={**environment, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(runs) == 1
    assert runs.pop().startswith(("0x", "-0x"))


@pytest.mark.slow
@both_dtypes
def test_b43_each_input_s_gradient_by_itself_has_the_same_bits(dtype: Any) -> None:
    a, b, u = arguments(3, dtype)
    before = b.tobytes()
    both = gradc.grad(injected, wrt=(0, 1))(a, b, u)
    assert_same_bits(gradc.grad(injected, wrt=0)(a, b, u), both[0])
    assert_same_bits(gradc.grad(injected, wrt=1)(a, b, u), both[1])
    assert b.tobytes() == before
    for fixed, moving in ((lambda a: operation(a, b), a), (lambda b: operation(a, b), b)):
        testing.check_determinism(fixed, (moving,), repeat=1)
