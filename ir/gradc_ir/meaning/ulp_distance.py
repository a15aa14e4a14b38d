"""Floats by their place in the order of all floats: how far apart two are, and random ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc_ir.core.types import Array

# The bits of error of what is no number where there is one, and the most there are.
ALL_BITS = 64.0


def ordinals(x: Array) -> Array:
    """Return the places of float64 or float32 numbers in their order, int64; both zeros have 0.

    Neighbouring floats have neighbouring places. Infinity is behind the largest float.
    """
    whole, lowest = _whole(x.dtype)
    patterns = np.ascontiguousarray(x).view(whole).astype(np.int64)
    return np.asarray(np.where(patterns < 0, lowest - patterns, patterns))


def from_ordinals(places: Array, dtype: Any = np.float64) -> Array:
    """Return the floats at places: what ``ordinals`` undoes."""
    whole, lowest = _whole(dtype)
    patterns = np.where(places < 0, lowest - places, places)
    return np.asarray(patterns).astype(whole).view(dtype)


def _whole(dtype: Any) -> tuple[Any, int]:
    """Return the integers as wide as a float's dtype, and the least of them."""
    whole = np.int64 if np.dtype(dtype) == np.float64 else np.int32
    return whole, int(np.iinfo(whole).min)


def same_bits(one: Array, other: Array) -> Array:
    """Return for each element whether the bits are the same, of arrays of one dtype; all NaN are.

    The shape is the one that both broadcast to, the dtype bool.
    """
    same = np.asarray(one == other)
    if one.dtype.kind != "f":
        return same
    same = same & (np.signbit(one) == np.signbit(other))
    return np.asarray(same | (np.isnan(one) & np.isnan(other)))


def bits_between(found: Array, truth: Array) -> Array:
    """Return the bits of error: log2(1 + how many floats of the truth's dtype lie up to it).

    NaN is 64 bits away from any number. Where the truth itself is NaN, so is the result: nothing
    is asked there. The shape is the truth's, the dtype float64.
    """
    found = np.broadcast_to(np.asarray(found, truth.dtype), truth.shape)
    one, other = ordinals(found), ordinals(truth)
    # the distance may need 64 bits, which unsigned arithmetic has
    distance = np.maximum(one, other).view(np.uint64) - np.minimum(one, other).view(np.uint64)
    bits = np.where(np.isnan(found), ALL_BITS, np.log2(1.0 + distance.astype(np.float64)))
    return np.where(np.isnan(truth), np.nan, bits)


def uniform_patterns(
    random: np.random.Generator, low: float, high: float, shape: Any, dtype: Any = np.float64
) -> Array:
    """Return floats from low to high, both finite: each is as likely, so is every exponent."""
    first, last = ordinals(np.array([low, high], dtype))
    return from_ordinals(random.integers(first, last, size=shape, endpoint=True), dtype)
