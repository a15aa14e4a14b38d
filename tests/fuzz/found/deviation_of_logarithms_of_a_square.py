"""The mean was of values computed anew, what it was taken from was infinite still."""

import numpy as np


def f(a0):
    v3 = np.arccosh(a0 * a0)
    v5 = a0 + v3
    v6 = np.std(v3, axis=0, keepdims=True)
    v9 = np.where(v6 > 0, v5, 100.0)
    return v6, v9


POINTS = [(np.array([3.6, 4.2, 5.7]),), (np.array([3.6, -1.7e308, 5.7]),)]
