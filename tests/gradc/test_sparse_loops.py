"""Sparse derivatives of loops of Python's that write their results element by element."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradc
from gradc.sparsity import loops
from tests.comparing import assert_same_bits

POINT = np.random.default_rng(5).uniform(0.5, 1.5, 60)
AT = np.random.default_rng(6).integers(0, 30, 59)  # some of them several times


def each(x: Any) -> Any:
    out = np.zeros(len(x) - 1)
    for k in range(len(x) - 1):
        out[k] = x[k] * np.sin(x[k + 1])
    return out


def over_others(x: Any) -> Any:
    out = x**2
    for k in range(1, len(x)):
        out[k] = out[k] * 0 + x[k - 1] ** 3
    return out


def over_values(x: Any) -> Any:
    out = 2 * x
    for k in range(59):
        out[AT[k]] = x[k] * x[k + 1]
    return out


def added(x: Any) -> Any:
    out = x * x
    for k in range(59):
        out[AT[k]] += x[k + 1] * x[0]
    return out


def rows(x: Any) -> Any:
    u = x.reshape(20, 3)
    out = np.zeros((20, 3))
    for k in range(19):
        out[k] = np.cross(u[k], u[k + 1])
    return out.ravel()


def two(x: Any) -> Any:
    one, other = np.zeros(40), np.ones(40)
    for k in range(40):
        one[k] = x[k] * x[k + 2]
        other[k] = np.exp(x[k + 1])
    return np.concatenate([one, other])


def is_by_terms(compiled: Any) -> bool:
    plans = [plan for plans in compiled._plans._plans.values() for plan in plans]
    return all(plan.making.passes is None for plan in plans)


@pytest.mark.parametrize("function", [each, over_values, added, rows, two])
def test_loops_that_only_write_go_by_terms(function: Any) -> None:
    compiled = gradc.compile(function)
    values = compiled.jacobian_values(POINT)
    assert is_by_terms(compiled)
    at = compiled.jacobian_structure(POINT)
    dense = compiled.jacobian(POINT)
    np.testing.assert_allclose(values, dense[at], rtol=1e-14, atol=1e-15)
    assert np.count_nonzero(dense) <= len(values)
    by_passes = compiled.jacobian_values(POINT, mode="forward")
    np.testing.assert_allclose(values, by_passes, rtol=1e-14, atol=1e-15)


def test_a_loop_that_reads_what_it_writes_is_right_anyhow() -> None:
    compiled = gradc.compile(over_others)
    at = compiled.jacobian_structure(POINT)
    np.testing.assert_allclose(
        compiled.jacobian_values(POINT), compiled.jacobian(POINT)[at], rtol=1e-14
    )


def test_hessians_of_sums_of_what_loops_have_written() -> None:
    compiled = gradc.compile(lambda x: np.sum(each(x) ** 2))
    at = compiled.hessian_structure(POINT)
    np.testing.assert_allclose(
        compiled.hessian_values(POINT), compiled.hessian(POINT)[at], rtol=1e-12, atol=1e-14
    )


def test_other_sizes_have_the_same_bits() -> None:
    compiled = gradc.compile(each)
    for size in (60, 9, 31):
        at = compiled.jacobian_structure(POINT[:size])
        assert_same_bits(
            compiled.jacobian_values(POINT[:size]), compiled.jacobian(POINT[:size])[at]
        )


def neighbours(x: Any) -> Any:
    """Return Broyden's tridiagonal function, whose ends have one neighbour."""
    out = np.zeros(len(x))
    for k in range(len(x)):
        out[k] = (3 - 2 * x[k]) * x[k] + 1
        if k > 0:
            out[k] -= x[k - 1]
        if k < len(x) - 1:
            out[k] -= 2 * x[k + 1]
    return out


def by_value(x: Any) -> Any:
    out = np.zeros(len(x))
    for k in range(len(x) - 1):
        if x[k] > 1:
            out[k] = x[k] * x[k + 1]
        else:
            out[k] -= x[k + 1]
    return out


@pytest.mark.parametrize("function", [neighbours, by_value])
def test_branches_of_a_step_are_those_of_its_number(function: Any) -> None:
    compiled = gradc.compile(function)
    found = compiled.jacobian(POINT, sparse=True)
    np.testing.assert_allclose(found.toarray(), compiled.jacobian(POINT), rtol=1e-13)
    assert found.nnz <= 3 * len(POINT) - 2


def test_long_loops_are_not_taken_to_be_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "_MOST_OPS", 0)
    monkeypatch.setattr(loops, "_ELEMENTS_OF_AN_OP", 1)
    assert gradc.compile(by_value).sparsity(np.ones(60)).nnz == 2 * 59


def test_an_index_of_a_branch_that_is_not_taken_may_be_outside() -> None:
    def function(x: Any, which: Any) -> Any:
        return gradc.cond(which[0] < 3, lambda: x[which] ** 2, lambda: x[:2] * x[1:])

    compiled = gradc.compile(function)
    x, which = np.array([1.0, 2.0, 3.0]), np.array([7, 7])
    np.testing.assert_array_equal(
        compiled.jacobian(x, which, sparse=True).toarray(), [[2, 1, 0], [0, 3, 2]]
    )
