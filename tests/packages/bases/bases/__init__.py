"""The second package of the tests of installed code: what the first one is built on."""

from __future__ import annotations

import numpy as np

OFFSET = np.array([0.5, 0.5, 0.5])
DEGREE = 2


def powers(x):
    """Return powers of x beside an offset, through an array that is filled."""
    out = np.zeros((len(x), DEGREE))
    for i in range(DEGREE):
        out[:, i] = x ** (i + 1) + OFFSET
    return out
