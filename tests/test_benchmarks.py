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
    pytest.param(row, dtype, id=f"{row.name}-{dtype}") for row in ROWS for dtype in row.dtypes
]


@pytest.mark.parametrize(("row", "dtype"), EACH_ROW)
def test_gradc_agrees_with_the_one_by_hand(row: Row, dtype: str) -> None:
    case = make_case(row, row.tiny, dtype)
    assert disagreement(gradc_kernel(case).results, case) == ""


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


def test_arrays_of_two_checkouts_lie_alike() -> None:
    given = [np.array(7), np.arange(6.0).reshape(2, 3), np.empty(0, np.uint8), np.arange(5000)]
    places = []
    for turn in range(8):
        found = moved(given, turn)
        for array, copied in zip(given, found, strict=True):
            assert copied.dtype == array.dtype
            assert copied.shape == array.shape
            assert np.array_equal(copied, array)
        second = moved(found, turn)
        places.append([one.ctypes.data % 4096 for one in found if one.size])
        assert places[-1] == [one.ctypes.data % 4096 for one in second if one.size]
    assert len({tuple(one) for one in places}) == len(places)


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
