"""Logarithms of sums of exponentials: near 0, what is beside the largest is summed by itself."""

from __future__ import annotations

import numpy as np

from gradc_ir.core.types import Array, Axes
from gradc_ir.meaning.functions import maximum
from gradc_ir.meaning.reduction import reduce_in_order

# The largest term of a sum is 1. If the sum is more by less than the first number, it is the only
# such term, and 1 has rounded the others. Their digits count where the logarithm is small, below
# the second; both are so small that of many rows next to each other hardly any is concerned.
FEW, SMALL_LOGARITHM = 2.0**-3, 2.0**-4


def logsumexp(x: Array, *, axes: Axes) -> Array:
    """Return the logarithm of the sum of exponentials over axes."""
    with np.errstate(all="ignore"):
        least = x.dtype.type(-np.inf)
        largest = reduce_in_order(x, axes, maximum, least, least)
        finite = np.where(np.abs(largest) < np.inf, largest, 0).astype(x.dtype)
        powers = np.exp(x - np.expand_dims(finite, axes))
        more = reduce_in_order(powers, axes, np.add, -0.0, 0) - x.dtype.type(1)
        near = (more < FEW) & (np.abs(finite + more) < SMALL_LOGARITHM)
        others = np.where(powers < 1, powers, 0).astype(x.dtype)
        few = reduce_in_order(others, axes, np.add, -0.0, 0)
        return np.asarray(np.log1p(np.where(near, few, more)) + finite)
