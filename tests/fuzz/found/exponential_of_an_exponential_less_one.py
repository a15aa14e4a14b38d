"""The exponential of an exponential, of which only the size is known, was below the latter."""

import numpy as np


def f(a0):
    v1 = np.exp(a0) / 2
    v2 = (np.exp(v1) - 1) / a0 - v1
    return v1, v2


POINTS = [(np.array([0.9, -1.3]),), (np.array([1.7e308, 1e200]),)]
