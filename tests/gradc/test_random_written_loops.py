"""Random programs of Python's own loops and branches: plain Python is what they mean."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.capture import decide
from tests.written_loops.random_programs import Writer
from tests.written_loops.two_names import FUNCTIONS

PROGRAMS = int(os.environ.get("GRADC_EXAMPLES", "60"))
FEW = 20
# what a program that cannot be recorded, nor unrolled, is refused for
REFUSALS = (gradc.TraceError, gradc.UnboundError)
X, Y = 0.31, -0.62
A, B = np.array([0.2, -0.4, 0.9, 0.5]), np.array([-0.3, 0.8, 0.1, 0.63])
DIRECTION = (0.7, -0.4, np.array([0.1, 0.5, -0.3, 0.2]))


@pytest.fixture
def rolled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every loop recorded that can be, however short it is."""
    monkeypatch.setattr(decide, "FEW_STEPS", 0)
    monkeypatch.setattr(decide, "FEW_NODES", 0)


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADC_DISABLE_JIT", "1")


def program(seed: int, folder: Path, objects: bool = False) -> Callable[..., Any]:
    """Return a program, from a file of its own; with ``objects``, one that changes objects too."""
    path = folder / f"program_{seed}_{objects}.py"
    path.write_text(Writer(Random(seed), objects=objects).write(), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


def value_of(f: Callable[..., Any]) -> float | None:
    """Return what a compiled program gives; None where it is refused."""
    try:
        return float(gradc.compile(f)(X, Y, A.copy(), B.copy()))
    except REFUSALS as refused:
        assert refused.at is not None  # noqa: PT017
        return None


def check_values(seeds: Iterator[int], folder: Path, objects: bool) -> tuple[int, int]:
    """Compare programs with plain Python; return how many there were, and were not refused."""
    every = compared = 0
    for seed in seeds:
        f = program(seed, folder, objects)
        found = value_of(f)
        every += 1
        if found is not None:
            compared += 1
            np.testing.assert_allclose(
                found, float(f(X, Y, A.copy(), B.copy())), rtol=1e-9, atol=1e-9, err_msg=str(seed)
            )
    return every, compared


@pytest.mark.usefixtures("rolled", "interpreted")
@pytest.mark.parametrize("objects", [False, True])
def test_values(tmp_path: Path, objects: bool) -> None:
    every, compared = check_values(iter(range(FEW)), tmp_path, objects)
    assert compared > 0.7 * every


@pytest.mark.usefixtures("rolled", "interpreted")
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_two_names(function: Callable[..., Any]) -> None:
    """What is not certain is unrolled or refused: no value is another one than Python's."""
    a = np.array([0.2, -0.5, 1.1])
    for x in (0.7, -0.4):
        try:
            found = gradc.compile(function)(x, a.copy())
        except gradc.TraceError as refused:
            assert "chosen" in function.__name__, refused  # noqa: PT017
            continue
        np.testing.assert_allclose(found, function(x, a.copy()), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize("objects", [False, True])
def test_many_values(
    tmp_path: Path, forced: bool, objects: bool, request: pytest.FixtureRequest
) -> None:
    if forced:
        request.getfixturevalue("rolled")
    every, compared = check_values(iter(range(FEW, FEW + PROGRAMS)), tmp_path, objects)
    assert compared > 0.7 * every


@pytest.mark.slow
@pytest.mark.usefixtures("rolled")
@pytest.mark.parametrize("seed", range(0, PROGRAMS, 6))
def test_compiled_and_derivatives(tmp_path: Path, seed: int) -> None:
    f = program(seed, tmp_path, objects=seed % 12 == 0)
    found = value_of(f)
    if found is None:
        return

    def at(h: float) -> float:
        x, y, a = (start + h * d for start, d in zip((X, Y, A), DIRECTION))
        return float(f(x, y, a, B.copy()))

    np.testing.assert_allclose(found, at(0.0), rtol=1e-9, atol=1e-9)
    gradient = gradc.grad(f, wrt=(0, 1, 2))(X, Y, A, B)
    reverse = sum(float(np.sum(g * d)) for g, d in zip(gradient, DIRECTION))
    _, forward = gradc.jvp(f, (X, Y, A, B), (*DIRECTION, None))
    np.testing.assert_allclose(float(forward), reverse, rtol=1e-7, atol=1e-9)
    numeric = [(8 * (at(h) - at(-h)) - at(2 * h) + at(-2 * h)) / (12 * h) for h in (1e-4, 3e-5)]
    if abs(numeric[0] - numeric[1]) < 1e-6 * max(1.0, abs(numeric[0])):  # else it has a kink here
        np.testing.assert_allclose(reverse, numeric[1], rtol=1e-5, atol=1e-5)
