"""One element of what a traced mask selects: NumPy's value, its derivative, its IndexError."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc

# neither a zero, which is where the masks change, nor a tie
X = np.array([[1.5, -2.0, 3.0], [-1.0, 2.5, -0.25], [0.5, -3.0, 1.25], [2.0, 4.0, -0.5]])


def last(x):
    return x[x > 0][-1]


def first(x):
    return np.sin(x[x > 0])[0]


def others(x):
    return x[x > 0][2] * np.exp(x[x < 0][-2]) + x[x > 0][x.shape[0] - 1]


def row(x):
    return x[x[:, 0] > 0][-1] ** 2


def part_of_a_row(x):
    return x[x[:, 0] > 0][1, 1:].sum() * x[x[:, 0] > 0][0, -1]


def column(x):
    return np.log(x[:, x[0] > 0] + 9)[:, 1]


def untaken_is_infinite(x):
    return np.log(x)[x > 0][0]


def traced_position(x):
    largest = np.argmax(x[0])
    return x[x > 0][largest] * x[x < 0][-largest - 1]


def of_an_assigned(x):
    p = x[x > 0]
    p[p > 2] *= 10
    return p[-1] + p[2]


def where_it_is(x):
    i, j = np.nonzero(x > 2.2)
    return x[i[1], j[1]]


FUNCTIONS = (
    last, first, others, row, part_of_a_row, column, untaken_is_infinite, traced_position,
    of_an_assigned, where_it_is,
)  # fmt: skip


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_value_and_derivatives(function: Callable[..., Any]) -> None:
    f = gradc.compile(function)
    for x in (X, X + 0.1, np.concatenate([X, -X])):
        found, wanted = f(x), function(x)
        np.testing.assert_allclose(found, wanted, rtol=1e-14)
        assert np.shape(found) == np.shape(wanted)
        assert type(found) is type(wanted)
    gradc.testing.check_grads(function, (X,))


def test_a_boundary_that_is_an_argument() -> None:
    f = gradc.compile(lambda times, end: times[times <= end][-1])
    times = np.linspace(0.5, 5.0, 10)
    assert f(times, 3.2) == 3.0
    np.testing.assert_array_equal(f.grad(times, 3.2), times == 3.0)
    assert f.grad(times, 3.2, wrt="end") == 0.0


@pytest.mark.parametrize("index", [0, -1, 3])
def test_too_few_elements(index: int) -> None:
    def chosen(x):
        return x[x > 3.5][index]

    f = gradc.compile(chosen)
    for run in (f, f.grad):
        with pytest.raises(gradc.IndexError) as caught:
            run(X - 1)
        at = caught.value.at
        assert at is not None
        assert str(caught.value) == (
            f"x[x > 3.5] selects too few elements to have one at {index}\n"
            f"  test_elements_of_selections.py:{at.line} in chosen\n"
            "      return x[x > 3.5][index]\n"
            "             ^^^^^^^^^^^^^^^^^\n"
            "  help: if it may: np.where(np.any(mask), x[np.argmax(mask)], 0) for the first"
        )
