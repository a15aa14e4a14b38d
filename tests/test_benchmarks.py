"""The rows of ``make bench``: gradc's value and derivatives agree with the ones written by hand."""

from __future__ import annotations

from typing import Any

import pytest

import gradc
from benchmarks.rows import ROWS
from benchmarks.rows.row import Row, disagreement, make_case
from gradc import nest


def results_of(row: Row, arguments: tuple[Any, ...]) -> list[Any]:
    compiled = gradc.compile(row.function)
    if row.wrt is None:
        return list(nest.flatten(compiled(*arguments))[0])
    return list(nest.flatten(compiled.value_and_grad(*arguments, wrt=row.wrt))[0])


@pytest.mark.parametrize(
    ("row", "dtype"),
    [pytest.param(row, dtype, id=f"{row.name}-{dtype}") for row in ROWS for dtype in row.dtypes],
)
def test_row_agrees_with_the_one_by_hand(row: Row, dtype: str) -> None:
    case = make_case(row, row.tiny, dtype)
    assert disagreement(results_of(row, case.arguments), case) == ""


def test_a_wrong_result_is_told() -> None:
    case = make_case(ROWS[0], ROWS[0].tiny, "f64")
    value, *gradients = case.expected
    assert disagreement(case.expected, case) == ""
    assert disagreement([value * (1 + 1e-6), *gradients], case) == "result 0 is off by 1.0e-06"
    assert disagreement([float("nan"), *gradients], case) == "result 0 is off by nan"
    assert disagreement(gradients, case) == "4 results instead of 5"
