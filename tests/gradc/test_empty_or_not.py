"""Functions that ask whether an array is empty: one kernel for all sizes but zero."""

from __future__ import annotations

import numpy as np
import pytest

import gradc


def mean_or_nothing(x):
    return 0.0 if len(x) == 0 else np.sum(x) / len(x)


def first_or_nothing(x):
    return np.sum(x[:1]) if x.size else 0.0


def last_or_nothing(x):
    if not len(x) < 1:
        return x[-1] * 2
    return 0.0


@pytest.mark.parametrize("fn", [mean_or_nothing, first_or_nothing, last_or_nothing])
@pytest.mark.parametrize("sizes", [(3, 5, 7, 0, 9), (0, 5, 7, 9, 0)])
def test_whether_an_array_is_empty_does_not_take_a_kernel_per_size(fn, sizes) -> None:
    f = gradc.compile(fn)
    for size in sizes:
        x = np.arange(1.0, size + 1)
        assert f(x) == fn(x)
        slope = np.zeros(size)
        if size:
            slope[:] = {mean_or_nothing: 1 / size}.get(fn, 0)
            slope[0] += fn is first_or_nothing
            slope[-1] += 2 * (fn is last_or_nothing)
        assert f.grad(x).tolist() == slope.tolist()
    # no elements, a symbol, and the first if that had some
    assert [s.of for s in f.signatures].count("value") == (3 if sizes[0] else 2)
    assert "f64[n]" in f.dump("x: f64[n]")  # of arrays that have some


def test_sizes_that_may_be_less_than_others_are_numbers() -> None:
    @gradc.compile
    def f(x, y):
        return np.sum(x) if len(x) > len(y) else np.sum(y) * (len(x) % 2 == 0)

    for n, m in ((3, 4), (5, 4), (4, 6), (0, 6)):
        assert f(np.ones(n), np.ones(m)) == (n if n > m else m * (n % 2 == 0))
