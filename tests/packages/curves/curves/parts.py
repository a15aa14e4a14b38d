"""A module of the package beside the one that is called."""

from __future__ import annotations

import numpy as np

SHIFT = np.array([1.0, 2.0, 3.0])
FACTOR = 0.5


def shifted(x):
    out = np.empty_like(x)
    out[:] = x + SHIFT
    return out * FACTOR
