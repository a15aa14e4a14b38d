"""Slices of axes whose size is a symbol: one kernel for every size, as exact as Python's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc

# expressions in x and n = len(x) -> how many kernels are made for many sizes
SYMBOLIC = """
x[1:-1] ** 2
x[::2]
x[1::2]
x[::-1] * x
x[: n - 1] * x[1:]
x[2:] - x[: n - 2]
x[2:n] - x[0 : n - 2]
x[2:] - 2 * x[1 : n - 1] + x[: n - 2]
x[n - 2 :]
x[n - 1]
x[: n // 2]
x[n // 2 :]
x[:-3] - x[3:]
x[-3:]
x[-1:0:-1]
x[n - 1 : 0 : -1]
x[n - 1 :: -1]
x[1 : n - 1 : 2]
x[1:][: n - 2]
x[: 2 * n]
x[:, None] * x[None, : n - 1]
x[np.arange(n - 1)]
x[x > 2].sum() / n
""".strip().splitlines()
BY_SIZE = ["x[: n - 3]", "x[n - 3 :]"]


def function_of(text: str) -> Callable[..., Any]:
    space: dict[str, Any] = {"np": np}
    exec(f"def f(x):\n    n = len(x)\n    return np.sum({text})", space)
    found: Callable[..., Any] = space["f"]
    return found


@pytest.mark.parametrize("text", [*SYMBOLIC, *BY_SIZE])
def test_slices(text: str) -> None:
    plain = function_of(text)
    f = gradc.compile(plain)
    for size in (5, 6, 7, 3, 2, 1, 4):
        x = np.arange(1.0, size + 1)
        assert f(x) == plain(x), size
    # the first size, any other from 2, and 1, which broadcasts
    assert len(f.signatures) == (3 if text in SYMBOLIC else 7)


def test_assignment_to_slices() -> None:
    def smoothed(x):
        n = len(x)
        y = np.zeros(n)
        y[1 : n - 1] = (x[2:] + x[: n - 2]) / 2
        y[::2] *= 3
        y[-1] = x[n - 1]
        return y

    f = gradc.compile(smoothed)
    for size in (5, 6, 7, 9):
        x = np.arange(float(size)) ** 2
        np.testing.assert_array_equal(f(x), smoothed(x))
    assert len(f.signatures) == 2
