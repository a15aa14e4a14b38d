"""The rows of ``make bench``: gradc, and the C++ beside it, agree with what is written by hand."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.kernel import gradc_kernel
from benchmarks.native import has
from benchmarks.old_and_new import moved, ratio
from benchmarks.peers.by_hand import cpp
from benchmarks.rows import ROWS
from benchmarks.rows.row import Row, disagreement, make_case
from benchmarks.turns import Contestant, Plan, called, measure

EACH_ROW = [
    pytest.param(
        row, dtype, id=f"{row.name}-{dtype}", marks=[pytest.mark.slow] * (dtype != row.dtypes[0])
    )
    for row in ROWS
    for dtype in row.dtypes
]


@pytest.mark.parametrize(("row", "dtype"), EACH_ROW)
def test_gradc_agrees_with_the_one_by_hand(row: Row, dtype: str) -> None:
    case = make_case(row, row.tiny, dtype)
    assert disagreement(gradc_kernel(case).results, case) == ""


@pytest.mark.slow
@pytest.mark.skipif(not has("g++"), reason="no C++ compiler")
@pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in ROWS if row.cpp])
def test_the_cpp_agrees_with_the_one_by_hand(row: Row) -> None:
    case = make_case(row, row.tiny, "f64")
    contestant = cpp(case)
    assert contestant is not None
    assert disagreement(contestant.results, case) == ""


def test_a_wrong_result_is_told() -> None:
    case = make_case(ROWS[0], ROWS[0].tiny, "f64")
    value, *gradients = case.expected
    assert disagreement(case.expected, case) == ""
    assert disagreement([value * (1 + 1e-6), *gradients], case) == "result 0 is off by 1.0e-06"
    assert disagreement([float("nan"), *gradients], case) == "result 0 is off by nan"
    assert disagreement(gradients, case) == "4 results instead of 5"


def test_contestants_take_turns() -> None:
    order: list[str] = []
    clock = iter(range(1000))
    contestants = [Contestant(name, called(lambda name=name: order.append(name))) for name in "ab"]
    times = measure(contestants, Plan(rounds=2, turn=1.0, clock=lambda: float(next(clock))))
    assert order[-4:] == ["a", "b", "a", "b"]
    assert times["a"].median == 1.0


def test_an_array_lies_where_it_is_told() -> None:
    for array in (np.array(7), np.arange(6.0).reshape(2, 3), np.arange(5000)):
        for place in (0, 16, 4080, 5000 * 16):
            found = moved(moved(array, 32), place)
            assert found.dtype == array.dtype
            assert found.shape == array.shape
            assert np.array_equal(found, array)
            assert found.ctypes.data % 4096 == place % 4096


def test_the_process_keeps_subnormal_numbers() -> None:
    """A library linked with -ffast-math would flush them to zero, for all that runs later."""
    from benchmarks.native import library_of

    library_of("double twice(double x) { return 2 * x; }", ["-O3", "-ffast-math"])
    assert np.float64(5e-324) * np.float64(1.0) == 5e-324
    assert np.float64(1e-308) / np.float64(10.0) != 0


def test_a_ratio_has_an_interval_around_it() -> None:
    old = [1.0, 1.1, 0.9, 1.0, 5.0]
    found = ratio([1.5 * each for each in old], old)
    assert found == pytest.approx((1.5, 1.5, 1.5))
    noisy = ratio([1.2, 1.0, 0.9, 1.1, 1.0], [1.0] * 5)
    assert noisy.low < noisy.median == 1.0 < noisy.high
