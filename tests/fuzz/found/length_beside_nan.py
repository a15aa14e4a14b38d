"""The length of an infinity and nan was nan, which is that of the root of squares alone."""

import numpy as np


def f(a0):
    v1 = np.hypot(a0, a0[::-1])
    v2 = np.hypot(v1, a0) * 0.5
    return v1, v2


POINTS = [(np.array([0.9, 1.3]),), (np.array([-np.inf, np.nan]),)]
