"""A number beside zeros that are there by their place is of no matter, as the language says."""

import numpy as np


def f(a0):
    v0 = 1 - np.tanh(a0)
    v1 = np.arctan2(a0, v0)
    v8 = np.inner(v1, np.diag(v0))
    return v1, v8


POINTS = [(np.array([0.31418956412496707, np.nan, 1.7e308, 1.0]),)]
