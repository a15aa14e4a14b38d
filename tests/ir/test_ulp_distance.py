"""Bits of error, the order of floats, and floats drawn from all patterns."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from gradc_ir.meaning.ulp_distance import (
    bits_between,
    from_ordinals,
    ordinals,
    same_bits,
    uniform_patterns,
)

LARGEST = float(np.finfo(np.float64).max)


@pytest.mark.parametrize(
    ("found", "wanted", "bits"),
    [
        (1.0, 1.0, 0.0),
        (np.nextafter(1.0, 2.0), 1.0, 1.0),
        (1.0 - 3 * 2.0**-53, 1.0, 2.0),
        (5e-324, -5e-324, math.log2(3)),
        (-0.0, 0.0, 0.0),
        (math.inf, LARGEST, 1.0),
        (math.nan, 1.0, 64.0),
        (2.0, 1.0, 52.0),
        (LARGEST, -LARGEST, 64.0),
    ],
)
def test_bits_of_error(found: float, wanted: float, bits: float) -> None:
    assert bits_between(np.array([found]), np.array([wanted]))[0] == pytest.approx(bits, abs=1e-2)


def test_single_precision_is_counted_in_its_own_floats() -> None:
    wanted = np.array([1.0, 2.0, -0.0], np.float32)
    found = np.array([1 + 2.0**-23, 2 - 2.0**-23, 0.0])
    assert bits_between(found, wanted).tolist() == [1.0, 1.0, 0.0]


def test_bits_are_the_same_or_not() -> None:
    one = np.array([0.0, math.nan, 1.0, 0.0, 1.0])
    assert same_bits(one, np.array([0.0, -math.nan, 1.0, -0.0, math.nan])).tolist() == [
        *(True, True, True, False, False)
    ]
    assert same_bits(np.arange(3), np.array([0, 1, 3])).tolist() == [True, True, False]


def test_nothing_is_asked_where_there_is_no_truth() -> None:
    assert np.isnan(bits_between(np.array([1.0, math.nan]), np.array([math.nan] * 2))).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_ordinals_are_in_order_and_undone(dtype: Any) -> None:
    info = np.finfo(dtype)
    x = np.array([-math.inf, info.min, -1.0, 0.0, info.smallest_subnormal, 1.0, math.inf], dtype)
    assert (np.diff(ordinals(x)) > 0).all()
    np.testing.assert_array_equal(from_ordinals(ordinals(x), dtype), x)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_exponent_is_drawn_within_bounds(dtype: Any) -> None:
    drawn = uniform_patterns(np.random.default_rng(0), -1.0, 100.0, (50, 10), dtype)
    assert (drawn.shape, drawn.dtype) == ((50, 10), np.dtype(dtype))
    assert drawn.min() >= -1
    assert drawn.max() <= 100
    assert np.mean(np.abs(drawn) < 1e-20) > 0.3
