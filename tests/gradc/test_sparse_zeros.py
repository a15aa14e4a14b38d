"""Sparse derivatives of products with matrices from outside that are mostly zero."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc

N = 30
POINT = np.random.default_rng(3).uniform(0.5, 1.5, N)


def differences() -> Any:
    return 2 * np.eye(N) - np.eye(N, k=1) - np.eye(N, k=-1)


MATRIX = differences()
STAGE = np.array([[1.0, 0.1, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.9]])


def plain(x: Any) -> Any:
    return MATRIX @ x + np.exp(x)


def scaled(x: Any) -> Any:
    return 0.5 * (x @ MATRIX.T[:, 1:]) * x[1:]


def twice(x: Any) -> Any:
    return MATRIX @ np.sin(MATRIX @ x)


def by_elements(x: Any) -> Any:
    return (-MATRIX / 3 * np.sin(x)).sum(axis=1)


def stages(x: Any) -> Any:
    rows = x.reshape(-1, 3)
    return (rows[1:] - rows[:-1] @ STAGE.T).ravel()


def in_a_loop(x: Any) -> Any:
    rows, out = x.reshape(-1, 3), np.zeros((N // 3, 3))
    for k in range(N // 3):
        out[k] = STAGE @ rows[k] ** 2
    return out.ravel()


@pytest.mark.parametrize(
    ("function", "count"),
    [
        (plain, 3 * N - 2),
        (scaled, 3 * (N - 1) - 1),
        (twice, 5 * N - 6),
        (by_elements, 3 * N - 2),
        (stages, N - 3 + (N // 3 - 1) * 4),
        (in_a_loop, N // 3 * 4),
    ],
)
def test_zeros_of_matrices_are_zeros(function: Callable[[Any], Any], count: int) -> None:
    compiled: Any = gradc.compile(function)
    found = compiled.jacobian(POINT, sparse=True)
    assert found.nnz == count == compiled.sparsity(POINT).nnz
    np.testing.assert_allclose(found.toarray(), compiled.jacobian(POINT), rtol=1e-13, atol=1e-15)


def test_hessians_of_quadratic_forms() -> None:
    compiled: Any = gradc.compile(lambda x: x @ MATRIX @ x + np.sum(x**4))
    found = compiled.hessian(POINT, sparse=True)
    assert found.nnz == 3 * N - 2
    np.testing.assert_allclose(found.toarray(), compiled.hessian(POINT), rtol=1e-13)


@pytest.mark.parametrize("ask", ["jacobian", "jacobian_values"])
def test_each_call_looks_where_zeros_are(ask: str) -> None:
    matrix = differences()
    compiled: Any = gradc.compile(lambda x: matrix @ x**2)

    def sums() -> tuple[float, int]:
        if ask == "jacobian":
            found = compiled.jacobian(POINT, sparse=True)
            return float(found.sum()), found.nnz
        values = compiled.jacobian_values(POINT)
        return float(values.sum()), len(values)

    for _ in range(3):
        np.testing.assert_allclose(sums(), ((matrix * 2 * POINT).sum(), 3 * N - 2))
    matrix[:] *= 3  # other numbers, in the same places
    np.testing.assert_allclose(sums(), ((matrix * 2 * POINT).sum(), 3 * N - 2))
    matrix[0, 7] = 5.0
    for _ in range(2):
        np.testing.assert_allclose(sums(), ((matrix * 2 * POINT).sum(), 3 * N - 1))
    matrix[:] = 1.0
    np.testing.assert_allclose(sums(), ((matrix * 2 * POINT).sum(), N * N))


def test_matrices_that_are_mostly_full_are_not_looked_at() -> None:
    matrix = np.tril(np.ones((N, N)))
    compiled: Any = gradc.compile(lambda x: matrix @ x)
    assert compiled.jacobian(POINT, sparse=True).nnz == N * N


def test_what_is_not_a_number_counts() -> None:
    matrix = np.zeros((3, 3))
    matrix[0, 1] = np.nan
    assert gradc.compile(lambda x: matrix @ x).sparsity(np.ones(3)).nnz == 1
