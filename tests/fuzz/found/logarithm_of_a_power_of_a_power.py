"""The logarithm of a sum with a power beyond all size was a finite number, far too small."""

import numpy as np


def f(a0):
    v1 = np.log(1 + (a0**a0) ** a0)
    v2 = np.log(1 + np.exp(np.exp(a0)))
    v3 = np.log(2 + a0 ** (a0 * a0))
    return v1, v2, v3


POINTS = [(np.array([0.9, 1.3]),), (np.array([1.7e308, 1e300]),), (np.array([3e38], np.float32),)]
