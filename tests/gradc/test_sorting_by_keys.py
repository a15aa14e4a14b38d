"""Python's sorted, min and max by keys that are traced: of numbers, rows, tuples and indices."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.testing import check_grads
from gradc_ir.errors import TraceError

RANDOM = np.random.default_rng(2)


def falling(x: Any) -> Any:
    s = sorted(x, key=lambda v: -v)
    return s[0] * s[1] - s[-1] ** 2


def by_size(x: Any) -> Any:
    s = sorted(x, key=abs, reverse=True)
    return s[0] * 3 + s[-1] ** 2


def area_under_points(x: Any) -> Any:
    points = sorted(zip(x, x * x + 1), key=lambda point: point[0])
    return sum((b[0] - a[0]) * (b[1] + a[1]) / 2 for a, b in itertools.pairwise(points))


def nearest_and_farthest(x: Any) -> Any:
    return min(x, key=lambda v: (v - 0.3) ** 2) * 2 + max(x, key=abs) ** 2


def rows_by_a_column(x: Any) -> Any:
    rows = sorted(np.stack([x, x**2], 1), key=lambda row: row[0])
    return rows[0] @ rows[-1]


def indices(x: Any) -> Any:
    order = sorted(range(len(x)), key=lambda i: x[i])
    return (
        sum(x[place] * k for k, place in enumerate(order)) + x[max(order, key=x.__getitem__)] ** 2
    )


def pairs_by_both(x: Any) -> Any:
    pairs = sorted([(np.round(v), v) for v in x])
    return sum(k * v for k, (_, v) in enumerate(pairs))


PROGRAMS = [
    falling,
    by_size,
    area_under_points,
    nearest_and_farthest,
    rows_by_a_column,
    indices,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_as_in_python(program: Callable[[Any], Any]) -> None:
    compiled = gradc.compile(program)
    for size in (4, 6, 7):
        x = RANDOM.normal(size=size)
        np.testing.assert_allclose(compiled(x), program(x), rtol=1e-14)
    check_grads(program, (x,), order=1)


def test_tuples_are_compared_part_by_part() -> None:
    x = RANDOM.normal(size=9) * 2
    np.testing.assert_allclose(gradc.compile(pairs_by_both)(x), pairs_by_both(x), rtol=1e-14)


def test_what_is_equal_stays_in_its_order() -> None:
    def order(x: Any, falls: bool) -> Any:
        return np.stack([p[1] for p in sorted(zip(x, range(6)), key=lambda p: p[0], reverse=falls)])

    def best(x: Any) -> Any:
        places = range(6)
        return np.stack([f(places, key=lambda i: x[i]) for f in (min, max)])

    x = np.array([1.0, 0.0, 1.0, -0.0, 2.0, 2.0])
    for falls in (False, True):
        assert list(gradc.compile(order)(x, falls)) == list(order(x, falls))
    assert list(gradc.compile(best)(x)) == list(best(x))


def test_a_list_that_sorts_itself_is_told_what_to_write() -> None:
    def middle(x: Any) -> Any:
        values = list(x)
        values.sort(key=abs)
        return values[1]

    with pytest.raises(TraceError, match=r"write values = sorted\(values, key=abs\)"):
        gradc.compile(middle)(np.arange(3.0))
