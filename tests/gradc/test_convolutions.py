"""np.convolve and np.correlate: few factors as slices, many as a contraction, the same sums."""

from __future__ import annotations

import numpy as np
import pytest

import gradc
from gradc.testing import check_grads
from tests.comparing import assert_same_bits

RANDOM = np.random.default_rng(8)
MODES = ("valid", "same", "full")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_any_length_is_one_kernel(name: str, mode: str) -> None:
    function = getattr(np, name)
    for width in (1, 2, 5):
        kernel = RANDOM.normal(size=width)
        compiled = gradc.compile(lambda x: function(x, kernel, mode))  # noqa: B023
        for size in (9, 7, 40, 5):
            x = RANDOM.normal(size=size)
            np.testing.assert_allclose(compiled(x), function(x, kernel, mode), rtol=1e-12)
        assert len(compiled.signatures) == 2
        x = RANDOM.normal(size=3)
        np.testing.assert_allclose(compiled(x), function(x, kernel, mode), rtol=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_slopes_by_both(mode: str) -> None:
    for size, width in ((7, 3), (3, 7), (4, 4), (40, 35)):
        x, y = RANDOM.normal(size=size), RANDOM.normal(size=width)
        for function in (np.convolve, np.correlate):
            check_grads(lambda x, y: function(x, y, mode), (x, y), order=1)  # noqa: B023


@pytest.mark.parametrize("mode", MODES)
def test_bits_do_not_tell_known_sizes_from_others(mode: str) -> None:
    x, y = RANDOM.normal(size=50), RANDOM.normal(size=7)
    known = gradc.compile(lambda x, y: np.correlate(x, y, mode), spec="x: f64[50], y: f64[7]")
    vector = gradc.compile(lambda x, y: np.correlate(x, y, mode), spec="x: f64[n], y: f64[7]")
    assert_same_bits(known(x, y), vector(x, y))
    if mode == "full":
        both = gradc.compile(lambda x, y: np.correlate(x, y, mode), spec="x: f64[n], y: f64[m]")
        assert_same_bits(known(x, y), both(x, y))


def test_what_is_outside_is_no_term() -> None:
    x, y = np.array([1.0, -2.0, np.inf, 3.0]), np.array([np.inf, 0.5, -0.0])
    for mode in MODES:
        with np.errstate(all="ignore"):
            wanted = np.convolve(x, y, mode)
        np.testing.assert_array_equal(gradc.compile(lambda x: np.convolve(x, y, mode))(x), wanted)  # noqa: B023
