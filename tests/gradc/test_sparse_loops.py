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


def fluxes(x: Any) -> Any:
    """Return what goes into cells through the faces between them."""
    out = 0.1 * x
    for k in range(len(x) - 1):
        flux = x[k] * np.sin(x[k + 1])
        out[k] -= flux
        out[k + 1] = flux + out[k + 1]
    return out


def in_pairs(x: Any) -> Any:
    out = np.zeros(len(x) + 1)
    for k in range(len(x) // 2):
        out[k] = x[2 * k] ** 2  # which the second one of an earlier step may have written
        out[2 * k + 1] = x[k] * x[2 * k + 1]
    return out


def put_then_added(x: Any) -> Any:
    out = np.zeros(len(x) + 1)
    for k in range(len(x)):
        out[k] = x[k] ** 2  # what was added here goes away
        out[k + 1] += x[k]
    return out


def taken_from_a_number(x: Any) -> Any:
    out = np.ones(4)
    for k in range(len(x) - 1):
        out[AT[k] % 4] = x[k] * x[k + 1] - out[AT[k] % 4]
    return out


def columns(x: Any) -> Any:
    """Return the defects of Euler's steps, written state by state."""
    z = x.reshape(-1, 3)
    out = np.zeros((len(z) - 1, 2))
    for k in range(len(z) - 1):
        position, speed, force = z[k]
        out[k, 0] = z[k + 1, 0] - position - 0.1 * speed
        out[k, 1] = z[k + 1, 1] - speed - 0.1 * (force - np.sin(position))
    return out.ravel()


def windows(x: Any) -> Any:
    """Return what is added to columns, to a part of each row, and to one element of all steps."""
    z = x.reshape(-1, 3)
    out, once = 0.5 * z, np.zeros(2)
    for k in range(len(z) - 1):
        out[k, 2] += z[k, 0] * z[k + 1, 1]
        out[k + 1, :2] -= z[k, 1:] ** 2
        once[1] -= z[k, 2] ** 3
    return np.concatenate([out.ravel(), once])


def in_two_loops(x: Any) -> Any:
    out = np.zeros(12)
    for i in range(12):
        for j in range(20):
            out[i] += x[i + 2 * j] ** 2 * x[j]
    return out


def sums(x: Any) -> Any:
    total, other = 1.0, np.zeros(2)
    for k in range(len(x) - 1):
        total = total - x[k] ** 3 * x[k + 1]
        other = other + x[k : k + 2] ** 2
    return np.concatenate([other, [total]])


def upwind(x: Any) -> Any:
    out = np.zeros(len(x))
    for k in range(1, len(x) - 1):
        if x[k] > 1:
            out[k] = x[k] * (x[k] - x[k - 1])
        elif x[k] > 0.7:
            out[k] = x[k] * (x[k + 1] - x[k])
        else:
            out[k] = 1.0
    return out


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


def put_and_added(x: Any) -> Any:
    out = np.zeros(len(x))
    for k in range(1, len(x) - 1):
        out[k] = x[k] ** 2
        out[k] -= x[k - 1] * x[k]
        if x[k] > 1:
            out[k] += x[k + 1] ** 2
    return out


def where_there_is_a_reason(x: Any) -> Any:
    """Return what stays as it was at steps that put nothing there."""
    out, other = 0.5 * x, np.zeros(len(x))
    for k in range(1, len(x) - 1):
        if x[k] > 1.2:
            out[k + 1] = x[k - 1] * x[k]
        elif x[k] < 0.8:
            out[k + 1] = x[k] ** 3
        other[k] = x[k] ** 2
        if x[k + 1] > 1 and k > 3:
            other[k] = x[k + 1] * x[k]
    return np.concatenate([out, other])


def in_a_table(x: Any) -> Any:
    z = x.reshape(-1, 3)
    out = z * z
    for k in range(len(z) - 1):
        if z[k, 0] > 1:
            out[k, 1] = z[k + 1, 2] * z[k, 0]
    return out.ravel()


def springs(x: Any) -> Any:
    """Return forces on both ends, and at some steps on a place that is given."""
    out = np.zeros(len(x))
    for k in range(len(x)):
        if k + 1 < len(x):
            force = x[k] - x[k + 1] ** 2
            if force > 0:
                out[k] -= force
                out[k + 1] += force
            else:
                out[k] += force * x[k]
        if k < 59 and AT[k] > 7:
            out[AT[k]] -= x[AT[k] + 30] * x[k]
    return out


def is_by_terms(compiled: Any) -> bool:
    plans = [plan for plans in compiled._plans._plans.values() for plan in plans]
    return all(plan.making.passes is None for plan in plans)


@pytest.mark.parametrize(
    "function",
    [
        *[each, over_values, added, rows, two, fluxes, in_pairs, columns, windows, in_two_loops],
        *[sums, upwind, springs, neighbours, put_and_added, where_there_is_a_reason, in_a_table],
    ],
)
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


@pytest.mark.parametrize("function", [over_others, put_then_added, taken_from_a_number])
def test_a_loop_that_reads_what_it_writes_is_right_anyhow(function: Any) -> None:
    compiled = gradc.compile(function)
    at = compiled.jacobian_structure(POINT)
    dense = compiled.jacobian(POINT)
    np.testing.assert_allclose(compiled.jacobian_values(POINT), dense[at], rtol=1e-14)
    assert np.count_nonzero(dense[at]) == np.count_nonzero(dense)


def test_hessians_of_sums_of_what_loops_have_written() -> None:
    compiled = gradc.compile(lambda x: np.sum(each(x) ** 2))
    at = compiled.hessian_structure(POINT)
    np.testing.assert_allclose(
        compiled.hessian_values(POINT), compiled.hessian(POINT)[at], rtol=1e-12, atol=1e-14
    )


def chained(x: Any) -> Any:
    total = 0.0
    for k in range(len(x) - 1):
        total += 100 * (x[k + 1] - x[k] ** 2) ** 2 + (1 - x[k]) ** 2
    return total


def of_pairs(x: Any) -> Any:
    total = 0.0
    for i in range(10):
        for j in range(6):
            total += np.sin(x[6 * i + j]) * x[j] ** 2
    return total


def of_those_near(x: Any) -> Any:
    total = 0.0
    for i in range(1, 8):
        for j in range(i):
            far = (x[i] - x[j]) ** 2
            if far < 0.1:
                total += (0.1 - far) ** 2
    return total


@pytest.mark.parametrize("function", [chained, of_pairs, of_those_near])
def test_hessians_of_sums_in_loops_go_by_terms(function: Any) -> None:
    compiled = gradc.compile(function)
    values = compiled.hessian_values(POINT)
    assert is_by_terms(compiled)
    at = compiled.hessian_structure(POINT)
    dense = compiled.hessian(POINT)
    np.testing.assert_allclose(values, dense[at], rtol=1e-12, atol=1e-13)
    assert np.count_nonzero(np.tril(dense)) == np.count_nonzero(values)


def test_other_sizes_have_the_same_bits() -> None:
    compiled = gradc.compile(each)
    for size in (60, 9, 31):
        at = compiled.jacobian_structure(POINT[:size])
        assert_same_bits(
            compiled.jacobian_values(POINT[:size]), compiled.jacobian(POINT[:size])[at]
        )


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


def test_long_loops_that_only_write_are_looked_at_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "_MOST_OPS", 0)
    assert gradc.compile(fluxes).sparsity(np.ones(400)).nnz == 3 * 400 - 2


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
