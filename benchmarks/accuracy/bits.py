"""The error of a float64 in bits: how many doubles lie between it and the truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
LOWEST = np.int64(-(2**63))
# What a NaN counts where there is a number, and the most that anything counts.
ALL_BITS = 64.0


def ordinals(x: Array) -> Array:
    """Return the places of doubles in their order, int64; both zeros have place 0.

    Neighbouring doubles have neighbouring places. Infinity is behind the largest double.
    """
    patterns = np.ascontiguousarray(x, np.float64).view(np.int64)
    return np.where(patterns < 0, LOWEST - patterns, patterns)


def doubles(places: Array) -> Array:
    """Return the doubles at places: what ``ordinals`` undoes."""
    places = np.asarray(places, np.int64)
    return np.where(places < 0, LOWEST - places, places).view(np.float64)


def error_bits(found: Array, truth: Array) -> Array:
    """Return log2(1 + the number of doubles from the truth to what was found), elementwise.

    NaN is 64 bits away from any number. Where the truth itself is NaN, so is the result: nothing
    is asked there.
    """
    found = np.broadcast_to(np.asarray(found, np.float64), np.shape(truth))
    one, other = ordinals(found), ordinals(truth)
    # The distance may need 64 bits, which unsigned arithmetic has.
    distance = np.maximum(one, other).view(np.uint64) - np.minimum(one, other).view(np.uint64)
    error = np.log2(1.0 + distance.astype(np.float64))
    error = np.where(np.isnan(found), ALL_BITS, error)
    return np.where(np.isnan(truth), np.nan, error)
