"""A square that is computed before it is spread had overflowed when the formula began."""

import numpy as np


def f(a0, a1):
    v1 = a1 / np.sqrt(a1 * a1 + a1 * a0)
    v2 = np.sqrt(np.degrees(a0) * a1 + a1 * a1)
    return v1, v2


POINTS = [
    (np.array([0.9, 1.3, 2.0]), np.array(1.5)),
    (np.array([-746.0, -1e160, -2.5]), np.array(1.7e308)),
]
