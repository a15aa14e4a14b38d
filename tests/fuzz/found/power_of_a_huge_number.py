"""The logarithm of one and a power that overflows was a finite number, far too small."""

import numpy as np


def f(a0):
    v4 = a0**a0
    v8 = np.log(1 + v4)
    v9 = np.log(np.exp(a0) + np.exp(a0 * 0.5 - 1))
    return v8, v9


POINTS = [(np.array([0.9, 1.3]),), (np.array([1.7e308, 1.5707963267948966]),)]
