"""Ranges and other sequences as indices: the arrays of integers they are to NumPy."""

from __future__ import annotations

import array
import collections
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc

X = np.arange(16.0).reshape(4, 4) ** 2


def without_diagonal(x):
    x = x.copy()
    n = len(x)
    x[range(n), range(n)] = 0.0
    return x


def rows(x):
    return x[range(3)]


def none(x):
    return x[range(0)]


def backwards(x):
    return x[range(3)[::-1], 1:3]


def ends(x):
    return x[collections.deque([0, -1])]


def machine_integers(x):
    return x[array.array("l", [2, 0, 2])]


def nested(x):
    return x[((0, 1), (1, 2))] + x[(range(2),), :][0, :, :2].sum()


def accumulated(x):
    y = np.zeros(4)
    y[range(4)] += x[1]
    y[range(1, 3)] *= 2
    np.add.at(y, range(4), x[0])
    return y


def grid(x):
    return x[np.ix_(range(2), range(1, 3))]


@pytest.mark.parametrize(
    "function",
    [without_diagonal, rows, none, backwards, ends, machine_integers, nested, accumulated, grid],
    ids=lambda function: function.__name__,
)
def test_a_sequence_as_an_index(function: Callable[..., Any]) -> None:
    found, wanted = gradc.compile(function)(X), function(X)
    np.testing.assert_array_equal(found, wanted)
    assert found.shape == wanted.shape
    gradc.testing.check_grads(function, (X,))


def test_a_range_of_a_size_without_a_number() -> None:
    f = gradc.compile(without_diagonal)
    for size in (2, 3, 4):
        np.testing.assert_array_equal(f(X[:size, :size]), without_diagonal(X[:size, :size]))


def test_a_text_is_no_index() -> None:
    with pytest.raises(gradc.IndexError, match="an index cannot be a str"):
        gradc.compile(lambda x: x["rows"])(X)
    with pytest.raises(gradc.IndexError, match="out of bounds for axis 0 with size 4"):
        gradc.compile(lambda x: x[range(5)])(X)
