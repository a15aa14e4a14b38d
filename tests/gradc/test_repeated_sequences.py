"""An integer times a list repeats it, as in Python: by a size, by an argument."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradc


def by_length(x: Any) -> Any:
    sums = [0.0] * len(x)
    for i in range(len(x)):
        sums[i] = sums[i - 1] + x[i] if i else x[i]
    return sums[-1] * sums[1]


def by_half(x: Any) -> Any:
    return len((x.shape[0] // 2) * (1.0,)) * x[0]


def of_traced(x: Any) -> Any:
    return sum([x[0], x[1] ** 2] * x.size)


def of_text(x: Any) -> Any:
    return x[0] * len("ab" * len(x)) + x[1] * len(x.shape[0] * b"c")


@pytest.mark.parametrize("function", [by_length, by_half, of_traced, of_text])
def test_by_sizes(function: Any) -> None:
    compiled = gradc.compile(function)
    for size in (4, 7, 5, 2):  # all but the first are known by name at first
        x = np.linspace(0.3, 1, size)
        np.testing.assert_allclose(compiled(x), function(x), rtol=1e-14)


def test_by_arguments() -> None:
    def repeated(x: Any, n: int) -> Any:
        return len([[0.0] * 3] * n) * x[0] + len(n * (x,))

    compiled = gradc.compile(repeated)
    x = np.linspace(0.3, 1, 4)
    for n in (3, 0, 5):
        assert compiled(x, n) == repeated(x, n)


def test_by_an_integer_of_an_array() -> None:
    with pytest.raises(
        gradc.TraceError, match=r"(?s)a Python integer of a traced value.*\[0\.0\] \* "
    ):
        gradc.grad(lambda x, counts: x[0] * len([0.0] * counts[1]))(np.ones(2), np.array([1, 2]))


def test_arrays_multiply() -> None:
    compiled = gradc.compile(lambda x, n: np.sum([1.0, 2.0] * n * x))
    assert compiled(np.ones(2), np.array([3, 4])) == 11.0
    assert compiled(np.ones(2), 1.5) == 4.5
