"""Elements one by one: x.flat, ufunc.at, iterators, swaps, known masks, index arrays apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradc.tracing import trace
from gradc_ir.errors import IndexError, ShapeError
from tests.gradc.test_tracing_assignment import refused, same


def flat_elements(x):
    a = x[:6].reshape(2, 3).copy()
    a.flat[2] = x[6]
    a.T.flat[1:3] = [10, 20]
    a.flat[[0, 5]] = x[:2]
    a.flat[::2] += 1
    x.flat = [1, 2, 3]
    return np.concatenate([x, a.flat[1:4], [v * 2 for v in a.T.flat]])


def flat_of_known(x):
    a = np.arange(6.0).reshape(2, 3)
    b = np.arange(6.0).reshape(2, 3).T
    a.T.flat[1] = 7
    b.flat[:2] = x[:2]
    b.flat[2] = 9
    return np.concatenate([a.ravel(), b.ravel()])


def at_in_turn(x):
    a = x[:6].reshape(2, 3).copy()
    np.subtract.at(a, [0, 0], x[:3])
    np.multiply.at(a, (slice(None), [0, 1, 0]), 3.0)
    np.maximum.at(a, (1, [0, 2, 2]), x[3:6])
    np.add.at(a, (slice(None), [2, 2]), 1.0)
    np.add.at(a, a > 3, 1.0)
    np.negative.at(x, [0, 1, 0])
    np.divide.at(x, slice(2, 4), 2.0)
    return np.concatenate([a.ravel(), x])


def swaps(x):
    a = x[:6].reshape(3, 2).copy()
    a[0], a[1] = a[1], a[0]
    a[1], a[2] = a[2].copy(), a[1].copy()
    x[0], x[1] = x[1], x[0]
    a[[0, 2]] = a[[2, 0]]
    a[:, 0], a[:, 1] = a[:, 1], a[:, 0]
    return np.concatenate([a.ravel(), x])


def chained(x):
    a = np.zeros((2, 3))
    b = a[1]
    a[0] = b[:] = x[:3]
    return a


def iterated(x):
    a = x[:6].reshape(2, 3)
    total = 0.0
    for index, value in np.ndenumerate(a.T):
        total = total + value * (1 + index[0])
    for v in np.nditer(a, op_flags=["readwrite"]):
        v[...] = 2 * v
    steps = np.nditer(a, flags=["multi_index"])
    while not steps.finished:
        total += steps[0] * steps.multi_index[1]
        steps.iternext()
    for left, right in np.nditer([a, x[:3]]):
        total += left * right
    for i in np.ndindex(a.shape):
        a[i] += i[0]
    return np.append(x, total)


def positional_out(x):
    b = np.zeros(3)
    np.add(x[:3], x[1:4], b)
    np.exp(b, b)
    return b


def rank_zero_index(x):
    a = x[:6].reshape(2, 3)
    copied = a[np.array(1)]
    copied[0] = 100
    view = a[1]
    view[1] = 200
    return np.concatenate([x, copied])


def known_masks(x):
    a = x[:6].reshape(2, 3)
    rows, columns = np.array([True, False]), [False, True, True]
    a[rows, 1:] *= 2
    a[:, columns] += 1
    a[np.array([[True, False, True], [False, False, True]])] = x[4:]
    return np.concatenate([x, a[rows, :, None].ravel(), a[..., columns].ravel()])


def arrays_apart(x):
    a = np.zeros((2, 3, 4))
    a[[0, 1], :, [1, 3]] = x[:6].reshape(2, 3)
    a[0, :, [0, 2]] -= x[:2, None]
    a[:, [[0], [2]], [1, 2]] += x[0]
    return a[:, 1:, [1, 0]].transpose(1, 0, 2).ravel()


def ravel_copies(x):
    tail = x[::-1].ravel()
    same = x[::-1].reshape(-1)
    total = tail.sum()
    x[0] = 50
    return np.append(same, total)


def single_truths(x):
    a = x[:6].reshape(2, 3).copy()
    a[True, 0] = 5
    a[False] = 7
    a[:, True, [0, 2]] += 1
    y = np.array(a.sum())
    y[y > 3] *= 2
    y[y < 3] = 1
    b = np.zeros((0, 2))
    b[[], [[7]]] = x[0]
    parts = [b, a[True], a[None, True, 1:], a[[0, 1], True], a[:, False], y]
    return np.concatenate([part.ravel() for part in parts])


CASES = [
    flat_elements, flat_of_known, at_in_turn, swaps, chained, iterated, positional_out,
    rank_zero_index, known_masks, arrays_apart, ravel_copies,
    single_truths,
]  # fmt: skip


@pytest.mark.parametrize("function", CASES, ids=lambda function: function.__name__)
def test_elements(function: Callable[..., Any]) -> None:
    same(function, np.array([1.5, -2.0, 3.0, 0.5, -1.0, 2.0, 4.0]))


def test_errors_of_iterators_and_flat() -> None:
    def read_only(x):
        for v in np.nditer(x):
            v[...] = 0
        return x

    def unknown_order(x):
        return [v for v in np.nditer(x.T)]

    def overlapping_flat(x):
        x.flat[1:3] = x[0, :2]
        return x

    def repeated(x, i):
        np.multiply.at(x, i, 2.0)
        return x

    a = np.ones((2, 3))
    assert refused(read_only, a) == "this array cannot be assigned to"
    assert refused(unknown_order, a).startswith("np.nditer goes through an array in the order of")
    assert refused(overlapping_flat, a) == (
        "x.flat is assigned a part of x itself, which changes while it is read"
    )
    assert refused(repeated, a, np.array([0, 0])) == (
        "np.multiply.at with traced indices is not supported: they may name an element more than "
        "once"
    )


def test_errors_of_known_arrays_show_the_line() -> None:
    def read(x):
        return np.zeros(3)[5] + x

    def write(x):
        b = np.zeros(3)
        b[:2] = np.ones(3)
        return b + x

    with pytest.raises(IndexError, match=r"index 5 is out of bounds.*\n.*in read\n"):
        trace(read, (1.0,))
    with pytest.raises(ShapeError, match=r"could not broadcast.*\n.*in write\n"):
        trace(write, (1.0,))
