"""Iterators that loops and branches take items of: never from where nobody knows they stand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import gradc


def left_and_gone_on(x):
    rest, total = iter(x), 0.0
    for value in rest:
        total = total + value
        if total > 50:
            break
    for value in rest:
        total = total - value
    return total


def pairs_of_one(x):
    rest, total = iter(x), 0.0
    for one, other in zip(rest, rest):
        total = total + one * other
        if total > 50:
            break
    return total + sum(rest)


def left_in_a_generator(x):
    squares, total = (value * value for value in x), 0.0
    for value in squares:
        total = total + value
        if total > 50:
            break
    return total + next(squares)


def taken_in_a_branch(x):
    rest, total = iter(x), 0.0
    if x[0] > 5:
        total += next(rest)
    return total + next(rest)


def taken_in_a_condition(x):
    rest = enumerate(x)
    return (x[0] > 5 and next(rest)[1] > 0) + next(rest)[1]


def taken_in_a_while(x):
    rest, total = map(np.sin, x), 0.0
    while total < 0.4:
        total += next(rest)
    return total


def counted_in_a_branch(x):
    counter = itertools.count()
    if x[0] > 5:
        next(counter)
    return x[0] * next(counter)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (left_and_gone_on, "rest"),
        (pairs_of_one, "rest"),
        (left_in_a_generator, "squares"),
        (taken_in_a_branch, "rest"),
        (taken_in_a_condition, "rest"),
        (taken_in_a_while, "rest"),
        (counted_in_a_branch, "counter"),
    ],
)
def test_where_it_stands_is_not_known(function, name):
    with pytest.raises(gradc.TraceError, match=rf"(in|of) {name}\b") as caught:
        gradc.compile(function)(np.arange(12.0))
    assert caught.value.at is not None


def gone_through_at_once(x):
    total = 0.0
    for one, other in zip((value * value for value in x), iter(x)):
        total = total + one * other
        if total > 50:
            break
    return total


def a_first_one(x):
    rest = iter(x)
    best = next(rest)
    for value in rest:
        if value > best:
            best = value
    return best


def beside_a_branch(x):
    rest = iter(x)
    total = next(rest)
    if x[1] > 0.5:
        total += sum(iter(x))
    return total + next(rest)


@pytest.mark.parametrize("function", [gone_through_at_once, a_first_one, beside_a_branch])
@pytest.mark.parametrize("x", [np.arange(12.0), np.array([0.5, 0.25, 3.0])])
def test_where_it_stands_is_known(function, x):
    assert gradc.compile(function)(x) == function(x)
