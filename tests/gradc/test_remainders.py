"""Remainders and quotients of whole numbers and of zeros with signs: NumPy's, at every edge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradc
from gradc_ir.meaning.ulp_distance import same_bits

FUNCTIONS = (np.fmod, np.remainder, np.mod, np.floor_divide, np.divmod)
DTYPES = (np.int64, np.int32, np.float64, np.float32)


def edges(dtype: Any) -> Any:
    """Return numbers at the ends of a dtype and around zero."""
    if np.dtype(dtype).kind == "i":
        whole = np.iinfo(dtype)
        ends = [whole.min, whole.min + 1, whole.max - 1, whole.max]
        return np.array([*ends, -3, -2, -1, 0, 1, 2, 3], dtype)
    info = np.finfo(dtype)
    sizes = [0.0, info.smallest_subnormal, info.tiny, 1.0, 2.5, 3.5, info.max, np.inf, np.nan]
    return np.array([*sizes, *(-np.array(sizes))], dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_every_pair_of_edges(function: Any, dtype: Any) -> None:
    x, y = (part.ravel() for part in np.meshgrid(edges(dtype), edges(dtype), indexing="ij"))
    with np.errstate(all="ignore"):
        want = function(x, y)
        whole = gradc.compile(lambda x, y: function(x, y))(x, y)
        one = gradc.compile(lambda x, y: function(x, y))
        single = [one(a, b) for a, b in zip(x[::7], y[::7])]
    if not isinstance(want, tuple):
        want, whole, single = (want,), (whole,), [(each,) for each in single]
    for have, number, expected in zip(whole, zip(*single), want, strict=True):
        assert have.dtype == expected.dtype
        assert np.all(same_bits(have, expected))
        assert np.all(same_bits(np.array(number), expected[::7]))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_slope_of_fmod_is_one_at_zero_as_beside_it(dtype: Any) -> None:
    x = np.array([-1e-3, -0.0, 0.0, 1e-3, 2.0], dtype)
    slopes = gradc.grad(lambda x: np.sum(np.fmod(x, 0.75)))(x)
    np.testing.assert_array_equal(slopes, np.ones_like(x))


def test_known_integers_meet_floats() -> None:
    counts = np.array([30, 40])
    assert gradc.compile(lambda x: x * np.exp(counts @ counts))(1.0) == np.inf
    assert gradc.compile(lambda n: np.exp(n @ n))(np.array([30, 40])) == np.inf
    assert gradc.compile(lambda n: np.log(n @ n))(counts) == np.log(2500)
    rows = np.array([[2**40, 1], [3, -(2**40)]])
    np.testing.assert_array_equal(
        gradc.compile(lambda n: np.tanh(n @ n))(rows), np.tanh(rows @ rows)
    )
