"""Python's numbers that are computed from sizes of arguments: one kernel a size."""

from __future__ import annotations

import numpy as np
import pytest

import gradc


def of_a_root(u):
    n = round(len(u) ** 0.5)
    framed = np.zeros((n + 2, n + 2))
    framed[1:-1, 1:-1] = u.reshape(n, n)
    return np.sum((framed[1:] - framed[:-1]) ** 2)


def of_a_logarithm(u):
    for _ in range(int(np.log2(u.size))):
        u = np.sin(u)
    return u.sum()


def of_a_truth(u):
    return sum([u[i] for i in range(4 if np.sqrt(len(u)) > 3.5 else 2)])


@pytest.mark.parametrize("function", [of_a_root, of_a_logarithm, of_a_truth])
def test_numbers_computed_from_sizes(function):
    f = gradc.compile(function)
    for n in (9, 16, 25):
        u = np.arange(float(n))
        np.testing.assert_allclose(f(u), function(u), rtol=1e-14)
        assert f.grad(u).shape == (n,)


def test_why_there_is_one_kernel_a_size():
    f = gradc.compile(of_a_root)
    for n in (9, 16):
        f(np.arange(float(n)))
    assert f.signatures[-1].reason.startswith("one kernel per size: a Python integer needs")
