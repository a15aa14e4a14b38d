"""Sparse derivatives of loops of Python's that write their results element by element."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradc
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
