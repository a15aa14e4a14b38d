"""np.linalg against NumPy: values, shapes, dtypes, and derivatives in both modes and twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.gradc.linear_algebra import (
    assert_function,
    each_dtype,
    general,
    positive,
    symmetric,
    to_orders,
)

LA = np.linalg
SIZES = (0, 1, 2, 3, 4, 5)
SHAPES = ((3, 3), (5, 3), (3, 5), (1, 1), (2, 4, 2), (2, 2, 4))
DISTANCES = (None, 2, -2, 1, -1, np.inf, -np.inf, "fro")
RANK_TWO = general(5, 2, seed=1) @ general(2, 4, seed=2)

OF_SQUARES: dict[str, Callable[..., Any]] = {
    "inv": lambda a: LA.inv(a),
    "det": lambda a: LA.det(a),
    "slogdet": lambda a: tuple(LA.slogdet(a)),
    "cholesky": lambda a: LA.cholesky(symmetric(a) @ symmetric(a) + np.eye(a.shape[-1])),
    "eigvalsh": lambda a: LA.eigvalsh(symmetric(a)),
}

OF_MATRICES: dict[str, Callable[..., Any]] = {
    "qr": lambda a: tuple(LA.qr(a)),
    "qr, r": lambda a: LA.qr(a, mode="r"),
    "svd": lambda a: tuple(LA.svd(a, full_matrices=False)),
    "svd, values": lambda a: LA.svd(a, compute_uv=False),
    "svdvals": lambda a: LA.svdvals(a),
    "pinv": lambda a: LA.pinv(a),
    "pinv, rtol": lambda a: LA.pinv(a, rtol=1e-3),
    "pinv, default rtol": lambda a: LA.pinv(a, rtol=None),
    "norm, 2": lambda a: LA.matrix_norm(a, ord=2),
    "norm, -2": lambda a: LA.matrix_norm(a, ord=-2),
    "norm, nuc": lambda a: LA.norm(a, "nuc", axis=(-2, -1), keepdims=True),
    "rank": lambda a: LA.matrix_rank(a),
}

OTHERS: dict[str, tuple[Any, ...]] = {
    "cholesky, upper": (lambda a: LA.cholesky(symmetric(a), upper=True), positive(4, 4)),
    "qr, complete": (lambda a: tuple(LA.qr(a, "complete")), general(3, 4)),
    "eigh": (lambda a: tuple(LA.eigh(symmetric(a))), positive(2, 3, 3)),
    "eigh, upper": (lambda a: LA.eigh(symmetric(a), "U").eigenvalues, positive(3, 3)),
    "svd, square": (lambda a: tuple(LA.svd(a)), general(3, 3)),
    "solve a vector": (LA.solve, general(4, 4), general(4)),
    "solve a vector for a stack": (LA.solve, general(2, 1, 3, 3), general(3)),
    "solve a matrix": (LA.solve, general(3, 3), general(3, 2)),
    "solve stacks": (LA.solve, general(4, 1, 3, 3), general(2, 3, 2)),
    "solve for one matrix": (LA.solve, general(3, 3), general(2, 3, 1)),
    "lstsq": (lambda a, b: LA.lstsq(a, b), general(5, 3), general(5)),
    "lstsq of columns": (lambda a, b: LA.lstsq(a, b), general(5, 3), general(5, 2)),
    "lstsq, wide": (lambda a, b: LA.lstsq(a, b), general(3, 5), general(3, 2)),
    "lstsq, rcond": (lambda a, b: LA.lstsq(a, b, rcond=1e-6), general(3, 3), general(3)),
    "rank of a vector": (lambda a: LA.matrix_rank(a), general(3)),
    "rank, deficient": (lambda a: LA.matrix_rank(a), RANK_TWO),
    "rank, tol": (lambda a: LA.matrix_rank(a, tol=1.0), general(2, 3, 3)),
    "rank, rtol": (lambda a: LA.matrix_rank(a, rtol=0.5), general(3, 3)),
    "rank, hermitian": (lambda a: LA.matrix_rank(a, hermitian=True), positive(3, 3)),
    "tensorinv": (lambda a: LA.tensorinv(a, ind=1), general(6, 2, 3)),
    "tensorsolve": (LA.tensorsolve, general(2, 3, 6), general(2, 3)),
    "tensorsolve, axes": (
        lambda a, b: LA.tensorsolve(a, b, axes=(0,)),
        general(2, 6, 3),
        general(6),
    ),
    "matrix_power": (lambda a: LA.matrix_power(a, -3), general(3, 3)),
    "polyfit": (lambda x, y: np.polyfit(x, y, 2), np.linspace(0, 1, 7), general(7)),
    "polyfit, weights": (
        lambda x, y, w: np.polyfit(x, y, 1, w=w),
        np.linspace(0, 1, 5),
        general(5, 2),
        np.arange(1.0, 6.0),
    ),
    "polyfit, cov": (lambda x, y: np.polyfit(x, y, 1, cov=True), np.linspace(0, 1, 6), general(6)),
    "polyfit, unscaled": (
        lambda x, y: np.polyfit(x, y, 1, cov="unscaled"),
        np.linspace(0, 1, 6),
        general(6, 2),
    ),
    "integers": (lambda a: LA.inv(a), np.array([[2, 1], [1, 3]])),
    "lists": (lambda a, b: LA.solve([[a, b], [b, 1.0]], [a, b]), 3.0, 1.0),
}


@pytest.mark.parametrize(("size", "order"), to_orders(SIZES, second=(0, 1, 2, 3)))
@pytest.mark.parametrize("name", OF_SQUARES)
def test_squares(name: str, size: int, order: int) -> None:
    assert_function(OF_SQUARES[name], general(size, size), order=order)


@pytest.mark.parametrize("name", OF_SQUARES)
def test_squares_of_singles(name: str) -> None:
    assert_function(OF_SQUARES[name], general(4, 4), dtype=np.float32)


@pytest.mark.parametrize("name", OF_SQUARES)
def test_stacks_of_squares(name: str) -> None:
    assert_function(OF_SQUARES[name], general(2, 1, 4, 4))
    assert_function(OF_SQUARES[name], np.zeros((0, 3, 3)))


@pytest.mark.parametrize(("shape", "order"), to_orders(SHAPES, second=[(5, 3)]))
@pytest.mark.parametrize("name", OF_MATRICES)
def test_matrices(name: str, shape: tuple[int, ...], order: int) -> None:
    assert_function(OF_MATRICES[name], general(*shape), order=order)


@pytest.mark.parametrize("name", OF_MATRICES)
def test_matrices_of_singles(name: str) -> None:
    if name != "svd":  # rounded to single, the signs of its vectors may differ
        assert_function(OF_MATRICES[name], general(4, 3), dtype=np.float32)


# They take seconds, and others are like them.
LONG = {
    "lstsq of columns",
    "lstsq, wide",
    "lstsq, rcond",
    "polyfit, cov",
    "polyfit, unscaled",
    "tensorinv",
}


@each_dtype
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in OTHERS]
)
def test_others(name: str, dtype: Any) -> None:
    function, *args = OTHERS[name]
    assert_function(function, *args, dtype=dtype)


@pytest.mark.parametrize("p", DISTANCES)
def test_condition_numbers(p: Any) -> None:
    assert_function(lambda a: LA.cond(a, p), general(3, 3))
    assert_function(lambda a: LA.cond(a, p), general(2, 3, 3), order=1)
    assert_function(lambda a: LA.cond(a, p), np.ones((2, 2)), order=0, accuracy=1e20)


@pytest.mark.parametrize("triangle", ["L", "U"])
def test_only_one_triangle_is_read(triangle: str) -> None:
    a, p = general(3, 3), positive(3, 3) + np.triu(np.full((3, 3), 0.01), 1)
    assert_function(lambda a: LA.eigvalsh(a, triangle), a, order=0)
    assert_function(lambda a: np.abs(LA.eigh(a, triangle)[1]), a, order=0)
    assert_function(lambda a: LA.cholesky(a, upper=triangle == "U"), p, order=0)


def test_symmetric_matrices_by_their_eigenvalues() -> None:
    a = general(4, 4)
    assert_function(lambda a: tuple(LA.svd(symmetric(a), hermitian=True)), a, order=1)
    assert_function(lambda a: LA.svd(symmetric(a), compute_uv=False, hermitian=True), a, order=1)
    assert_function(lambda a: LA.pinv(symmetric(a), hermitian=True), a)


@pytest.mark.slow
def test_the_pseudo_inverse_at_constant_rank() -> None:
    left, right = general(5, 2, seed=1), general(2, 4, seed=2)
    assert_function(lambda u, v: LA.pinv(u @ v, rtol=1e-10), left, right)
    assert_function(lambda u, v: LA.lstsq(u @ v, np.ones(5), rcond=1e-10)[0], left, right)
