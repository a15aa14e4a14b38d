"""Elements of sparse derivatives that are slices of coefficients: which, and their values."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.sparsity.placement import Placement
from gradc.sparsity.runs import Runs, Source, runs_of, window
from tests.comparing import assert_same_bits

NOTHING = np.zeros(0, np.int64)


def tridiagonal(x: Any) -> Any:
    return x[1:-1] ** 2 * np.sin(x[2:]) - np.exp(x[:-2])


def on_grid(x: Any) -> Any:
    whole = np.zeros((x.shape[0] + 2, x.shape[1] + 2))
    whole[1:-1, 1:-1] = x
    around = whole[2:, 1:-1] * whole[:-2, 2:] + whole[1:-1, 2:] + whole[1:-1, :-2] * x
    return around + np.exp(x)


def with_a_dense_row(x: Any) -> Any:
    return np.concatenate([[np.sum(x**2)], x[0] * np.sin(x[1:])])


def by_many(x: Any) -> Any:
    """Return rows whose elements are sums of several coefficients."""
    found = np.zeros(len(x))
    np.add.at(found, np.arange(len(x) - 1), x[1:] ** 3)
    np.add.at(found, np.arange(1, len(x)), x[1:] * np.sin(x[:-1]))
    return found + x**2


def of_fixed(x: Any) -> Any:
    return np.concatenate([3 * x[::2], x[1:6] - x[:5], np.zeros(4) * x[:4]])


POINT = np.random.default_rng(3).uniform(0.5, 1.5, 37)
CASES = [
    (tridiagonal, POINT),
    (on_grid, np.random.default_rng(4).uniform(0.5, 1.5, (11, 13))),
    (on_grid, np.random.default_rng(4).uniform(0.5, 1.5, (5, 40))),
    (with_a_dense_row, POINT),
    (by_many, POINT),
    (of_fixed, POINT),
]


def form_of(compiled: Any) -> Any:
    (plan,) = (plan for plans in compiled._plans._plans.values() for plan in plans)
    return plan.whole


@pytest.mark.parametrize(("function", "x"), CASES)
def test_elements_are_those_of_the_dense_jacobian(function: Any, x: Any) -> None:
    compiled = gradc.compile(function)
    values = compiled.jacobian_values(x)
    assert form_of(compiled).before == ()  # there are no places
    rows, columns = compiled.jacobian_structure(x)
    dense = compiled.jacobian(x).reshape(-1, x.size)
    np.testing.assert_allclose(values, dense[rows, columns], rtol=1e-14, atol=1e-15)
    assert np.count_nonzero(dense) <= len(values)
    backwards = gradc.compile(function).jacobian_values(x, mode="reverse")
    np.testing.assert_allclose(values, backwards, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("function", "x"), CASES)
def test_bits_are_those_of_elements_with_places(function: Any, x: Any) -> None:
    first = gradc.compile(function)
    values = first.jacobian_values(x)
    other = gradc.compile(function)
    other.jacobian_values(x[2:])  # the first sizes are slices, all others have places
    assert_same_bits(other.jacobian_values(x), values)
    assert form_of(first).before == ()


def test_hessians_are_slices_too() -> None:
    compiled = gradc.compile(lambda x: np.sum(tridiagonal(x) ** 2))
    values = compiled.hessian_values(POINT)
    rows, columns = compiled.hessian_structure(POINT)
    np.testing.assert_allclose(values, compiled.hessian(POINT)[rows, columns], rtol=1e-12)


AT = np.random.default_rng(0).integers(0, 37, 90)
OTHER = np.random.default_rng(1).integers(-37, 37, 90)


def without_order(x: Any) -> Any:
    return x[AT] * x[AT[::-1]] * x[0]


def test_places_of_what_has_no_order_are_constants_of_the_first_kernel(monkeypatch: Any) -> None:
    compiled = gradc.compile(without_order)
    first = compiled.jacobian_values(POINT)
    assert form_of(compiled).before == ()
    module = sys.modules[__name__]
    for at in (OTHER, AT, OTHER[::-1].copy(), AT.copy()):
        monkeypatch.setattr(module, "AT", at)
        for _ in range(3):
            values = compiled.jacobian_values(POINT)
        rows, columns = compiled.jacobian_structure(POINT)
        dense = compiled.jacobian(POINT)[rows, columns]
        np.testing.assert_allclose(values, dense, rtol=1e-14, atol=1e-15)
    forms = [plan.whole for plans in compiled._plans._plans.values() for plan in plans]
    assert sorted(len(form.before) for form in forms) == [0, 3, 3]
    assert_same_bits(first, values)


def test_places_that_arguments_tell_are_given() -> None:
    compiled = gradc.compile(lambda x, at: x[at] * x[at[::-1]] * x[0])
    compiled.jacobian_values(POINT, AT)
    assert len(form_of(compiled).before) == 3


# -- runs of placements ----------------------------------------------------------------------------


def elements(runs: Runs) -> Iterator[tuple[int, ...]]:
    """Yield the places of the coefficients of all elements, behind a zero."""
    starts = np.cumsum([1, *runs.lengths])

    def place(source: Source, time: int, row: int) -> int:
        at = source.start + time * source.stride + row * source.step
        assert source.leaf < 0 or 0 <= at < runs.lengths[source.leaf]
        return 0 if source.leaf < 0 else int(starts[source.leaf] + at)

    for run in runs.runs:
        for time in range(run.times):
            for band in run.bands:
                for row in range(band.rows):
                    for column in band.columns:
                        yield tuple(place(source, time, row) for source in column)


def test_runs_are_the_placement() -> None:
    random = np.random.default_rng(0)
    found = 0
    for _ in range(300):
        lengths = random.integers(20, 60, 3).tolist()
        rows, places, further, targets = [], [], [], []
        row = 0
        for _ in range(random.integers(1, 4)):
            times, size = random.integers(1, 4), random.integers(1, 6)
            base, step = random.integers(0, 100, size), random.integers(0, 3, size)
            for _ in range(times):
                for i in range(random.integers(1, 6)):
                    at = np.minimum(base + i * step, sum(lengths))
                    if random.integers(0, 2):
                        further.append(random.integers(0, sum(lengths)))
                        targets.append(len(places) + random.integers(0, size))
                    places += at.tolist()
                    rows += [row] * size
                    row += 1
        order = np.argsort(targets, kind="stable") if targets else NOTHING
        made = Placement(
            np.array(places),
            np.array(further, np.int64)[order],
            np.array(targets, np.int64)[order],
        )
        runs = runs_of(made, np.array(rows), lengths)
        if runs is None:
            continue
        found += 1
        want = [[place] for place in places]
        for target, place in zip(made.targets, made.further):
            want[target].append(int(place))
        assert [list(one) for one in elements(runs)] == want
    assert found > 100


def test_a_grid_is_few_runs() -> None:
    compiled = gradc.compile(on_grid)
    for size in (20, 200):
        x = np.ones((size, size))
        compiled.jacobian_structure(x)
    plans = [plan for plans in compiled._plans._plans.values() for plan in plans]
    for plan in plans:
        made = plan.making.in_runs(plan.making.placement, plan.rows)
        assert made is not None
        assert len(made.by.runs.runs) < 12


def test_windows_lie_in_the_array() -> None:
    random = np.random.default_rng(0)
    for _ in range(500):
        start, step, stride, times, rows, length = random.integers(1, 30, 6).tolist()
        length += start + (rows - 1) * step + (times - 1) * stride
        first = window(Source(0, start, step, stride), times, rows, length)
        if first is not None:
            assert 0 <= first <= start
            assert first + times * stride <= length
            assert start - first + (rows - 1) * step < stride
