"""Sparse derivatives by terms: the elements are those of the dense ones, whatever is on the way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradc
from tests.comparing import assert_same_bits

POINT = np.random.default_rng(0).uniform(0.5, 1.5, 12)
FROM, TO = np.array([0, 1, 1, 3, 5]), np.array([2, 4, 0, 4, 1])
MATRIX = np.random.default_rng(1).normal(size=(3, 4))


def stencil(x: Any) -> Any:
    whole = np.zeros((5, 6))
    whole[1:-1, 1:-1] = x.reshape(3, 4)
    return (whole[2:, 1:-1] * whole[:-2, 1:-1] + np.exp(whole[1:-1, 1:-1])).ravel()


def twice_the_same(x: Any) -> Any:
    return x[1:] * x[1:] * x[:-1] + 3 * x[1:]


def joined(x: Any) -> Any:
    parts = np.stack([x[:6] ** 2, np.sin(x[6:])], axis=1)
    return np.concatenate([parts.ravel(), np.sum(parts, axis=1), [x[0] * x[11]]])


def network(x: Any) -> Any:
    flow = np.sin(x[FROM] - x[TO]) * x[6 + FROM]
    total = np.zeros(6)
    np.add.at(total, FROM, flow)
    np.add.at(total, TO, -flow)
    return total / x[:6]


def rows(x: Any) -> Any:
    sums = np.sum(x.reshape(4, 3) ** 2, axis=1)
    return sums * sums


def products(x: Any) -> Any:
    return np.einsum("ij,kj->ki", x.reshape(3, 4), MATRIX) * np.arange(1.0, 4.0)


def chosen(x: Any) -> Any:
    return np.where(x > 1, x**3, np.where(np.arange(12) < 6, x[::-1], 2 * x)) - x.T


def turned(x: Any) -> Any:
    grid = x.reshape(3, 4).T * 2
    grid[1:3, :2] = grid[:2, 1:] * 3
    return -grid / grid[0, 0]


def in_blocks(x: Any) -> Any:
    left, right = np.split(np.tanh(x), 2)
    return np.repeat(left, 2) * np.tile(right, 2)


def in_shares(x: Any) -> Any:
    weights = np.exp(x.reshape(4, 3))
    shares = weights / np.sum(weights, axis=1, keepdims=True)
    return (shares - shares.mean(axis=1, keepdims=True))[1:].ravel()


def in_stages(x: Any) -> Any:
    """Return defects of the classical method of Runge and Kutta: what is stacked is read again."""

    def slopes(s: Any) -> Any:
        return np.stack([s[:, 1] * s[:, 2], -s[:, 0], np.cos(s[:, 0])], axis=1)

    states = x.reshape(4, 3)
    first = slopes(states)
    second = slopes(states + 0.05 * first)
    third = slopes(states + 0.05 * second)
    last = slopes(states + 0.1 * third)
    step = 0.1 / 6 * (first + 2 * second + 2 * third + last)
    return (states[1:] - (states + step)[:-1]).ravel()


def mapped(x: Any) -> Any:
    scale = x[0]

    def row(r: Any) -> Any:
        return np.array([r[0] * r[1], np.sin(r[2]) * scale])

    return gradc.map(row, x.reshape(4, 3)).ravel()


FUNCTIONS = [
    stencil, twice_the_same, joined, network, rows, products, chosen, turned, in_blocks,
    in_shares, in_stages, mapped,
]  # fmt: skip


def is_by_terms(compiled: Any) -> bool:
    """Whether all plans are without seeds."""
    return not any(plan.given for plans in compiled._plans._plans.values() for plan in plans)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_elements_are_those_of_passes(function: Any) -> None:
    compiled = gradc.compile(function)
    values = compiled.jacobian_values(POINT)
    assert is_by_terms(compiled)
    np.testing.assert_allclose(
        values, compiled.jacobian_values(POINT, mode="forward"), rtol=1e-14, atol=1e-15
    )
    rows, columns = compiled.jacobian_structure(POINT)
    dense = compiled.jacobian(POINT).reshape(-1, 12)
    np.testing.assert_allclose(dense[rows, columns], values, rtol=1e-14, atol=1e-15)
    assert np.count_nonzero(dense) <= len(values)


@pytest.mark.parametrize("function", [stencil, twice_the_same, chosen])
def test_elements_of_hessians_are_those_of_dense_ones(function: Any) -> None:
    compiled = gradc.compile(lambda x: np.sum(function(x) ** 2))
    values = compiled.hessian_values(POINT)
    assert is_by_terms(compiled)
    rows, columns = compiled.hessian_structure(POINT)
    np.testing.assert_allclose(
        values, compiled.hessian(POINT)[rows, columns], rtol=1e-12, atol=1e-13
    )


def test_one_kernel_serves_all_sizes_in_turn() -> None:
    compiled = gradc.compile(twice_the_same)
    for size in (12, 7, 30, 7, 12, 12, 7, 7, 12, 2, 2, 2, 1, 30):
        x = np.linspace(0.1, 1, size)
        rows, columns = compiled.jacobian_structure(x)
        assert_same_bits(compiled.jacobian_values(x), compiled.jacobian(x)[rows, columns])
    *first, form = compiled._plans._forms.values()
    assert len(first) <= 1  # the first sizes may have one of slices
    assert any("symbols" in one.reason for one in form.signatures)


def test_floats_of_both_widths() -> None:
    compiled = gradc.compile(lambda x: x.astype(np.float32)[1:] * x[:-1])
    for dtype in (np.float64, np.float32):
        x = POINT.astype(dtype)
        values = compiled.jacobian_values(x)
        assert_same_bits(values, compiled.jacobian_values(x, mode="forward"))


def test_what_has_no_terms_goes_by_seeds() -> None:
    compiled = gradc.compile(
        lambda x: gradc.scan(lambda s, row: (s, row * s), 2.0, x)[1] + np.cumsum(x)
    )
    found = compiled.jacobian(POINT, sparse=True)
    assert not is_by_terms(compiled)
    np.testing.assert_allclose(found.toarray(), compiled.jacobian(POINT))


def test_what_is_dense_goes_by_seeds() -> None:
    compiled = gradc.compile(lambda x: np.sin(np.cos(np.exp(np.sum(x))) * np.ones(12)))
    np.testing.assert_allclose(
        compiled.jacobian(POINT, sparse=True).toarray(), compiled.jacobian(POINT)
    )


def test_branches_that_are_not_taken_stay_zero() -> None:
    compiled = gradc.compile(
        lambda x: np.where(x > 0, np.sqrt(x), 0.0) + np.pad(x[1:], (1, 0)) * np.log(x)
    )
    x = np.array([0.0, 1.0, 0.0, 4.0])
    rows, columns = compiled.jacobian_structure(x)
    with np.errstate(all="ignore"):
        assert_same_bits(compiled.jacobian_values(x), compiled.jacobian(x)[rows, columns])


def test_quick_calls_see_what_changes() -> None:
    at = np.array([0, 3, 3])

    @gradc.compile
    def picked(x: Any) -> Any:
        return x[at] ** 2 * x[1]

    out = np.empty(6)
    for _ in range(5):
        assert picked.jacobian_values(POINT, out=out) is out
    at[1] = 2
    for _ in range(5):
        rows, columns = picked.jacobian_structure(POINT)
        assert columns.tolist() == [0, 1, 1, 2, 1, 3]
        assert_same_bits(picked.jacobian_values(POINT), picked.jacobian(POINT)[rows, columns])
    for point in (POINT[:6], POINT, POINT[:5], POINT[:6]):
        for _ in range(3):
            dense = picked.jacobian(point)[rows, columns]
            assert_same_bits(picked.jacobian_values(point), dense)
            assert_same_bits(picked.jacobian_values(point, mode="forward"), dense)


def test_a_bound_call_of_elements() -> None:
    compiled, x = gradc.compile(stencil), POINT.copy()
    bound = compiled.jacobian_values.bind(x)
    x *= 2
    assert_same_bits(bound(), compiled.jacobian_values(2 * POINT))
