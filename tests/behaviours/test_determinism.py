"""The behaviours of NVIDIA's test of determinism by gradient injection, one test a row."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import gradc
from tests.comparing import assert_same_bits


def operation(a, b):
    return np.tanh(a) @ b


def injected(a, b, u):
    return np.sum(operation(a, b) * u)


def arguments(seed: int, rows: int = 257) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    a, b = random.normal(size=(rows, 5)), random.normal(size=(5, 3))
    return a, b, 2 * random.random((rows, 3)) - 1


@pytest.mark.parametrize("seed", range(5))
def test_b38_two_runs_give_the_same_bits(seed: int) -> None:
    gradient = gradc.grad(injected, wrt=(0, 1))
    for one, other in zip(gradient(*arguments(seed)), gradient(*arguments(seed)), strict=True):
        assert_same_bits(one, other)


def test_b39_injection_is_the_pullback() -> None:
    a, b, u = arguments(0)
    by_injection = gradc.grad(injected, wrt=(0, 1))(a, b, u)
    by_pullback = gradc.vjp(operation, a, b)[1](u)
    for one, other in zip(by_injection, by_pullback, strict=True):
        assert_same_bits(one, other)


@pytest.mark.parametrize("length", [1000, 10_007, 100_003])
def test_b40_the_order_of_a_sum_does_not_depend_on_how_it_was_compiled(length: int) -> None:
    def dot(x, u):
        return np.sum(np.sin(x) * u)

    random = np.random.default_rng(length)
    x, u = random.normal(size=length), 2 * random.random(length) - 1
    static = gradc.compile(dot)
    symbolic = gradc.compile(dot)
    symbolic(x[:5], u[:5])
    symbolic(x[:7], u[:7])
    assert_same_bits(static(x, u), symbolic(x, u))
    assert_same_bits(static.grad(x, u), symbolic.grad(x, u))
    assert len(symbolic.signatures) == 3


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


def test_b43_each_input_s_gradient_by_itself_has_the_same_bits() -> None:
    a, b, u = arguments(3)
    both = gradc.grad(injected, wrt=(0, 1))(a, b, u)
    assert_same_bits(gradc.grad(injected, wrt=0)(a, b, u), both[0])
    assert_same_bits(gradc.grad(injected, wrt=1)(a, b, u), both[1])
