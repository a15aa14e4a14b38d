"""Long sorts in pieces: the order of a stable sort of the whole, for any length and threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradc
from gradc_codegen.compile_function import Compilation
from gradc_codegen.schedule.passes import split_sorts
from tests.codegen.test_tasks import eager

pytestmark = pytest.mark.usefixtures(eager.__name__)

RANDOM = np.random.default_rng(0)


def with_repeats(dtype: Any, length: int) -> np.ndarray:
    """Return numbers many of which are equal, floats with every nan and zero."""
    x = RANDOM.integers(-50, 50, length).astype(dtype)
    if x.dtype.kind == "f":
        for special in (np.nan, -np.nan, -0.0, np.inf, -np.inf):
            x[RANDOM.integers(0, max(length, 1), length // 9)] = special
    return x


def argsort(x):
    return np.argsort(x, kind="stable")


@pytest.mark.parametrize(
    ("kind", "dtype"), [("f64", "d"), ("f32", "f"), ("i64", "q"), ("i32", "i"), ("bool", "?")]
)
def test_the_order_is_that_of_a_stable_sort(kind: str, dtype: str) -> None:
    function = gradc.compile(argsort, spec=f"x: {kind}[n]").ir(of="value")
    kernel = Compilation(function, threads=2).kernel()
    for length in (0, 1, 2, 15, 16, 17, 255, 256, 257, 300, 511, 513, 4097, 10_007):
        x = with_repeats(dtype, length)
        for threads in (1, 2, 3, 16):
            kernel.run_on(threads)
            (found,) = kernel((x,))
            assert np.array_equal(found, np.argsort(x, kind="stable")), (length, threads)


def test_long_sorts_of_known_lengths_are_tasks() -> None:
    x = with_repeats(float, split_sorts._LEAST + 5)
    function = gradc.compile(argsort).ir(x)
    made = Compilation(function, threads=2)
    assert [(tasks is not None, why) for _, tasks, why in made.divisions] == [(True, "")] * 5
    for given in (x, np.sort(x), np.sort(x)[::-1].copy(), np.zeros(len(x))):
        (found,) = made.kernel()((given,))
        assert np.array_equal(found, np.argsort(given, kind="stable"))
    # on one thread it is sorted as it was, and short ones are on any number
    assert "pieces" not in Compilation(function).llvm
    short = gradc.compile(argsort).ir(x[:1000])
    assert Compilation(short, threads=2).llvm == Compilation(short).llvm
