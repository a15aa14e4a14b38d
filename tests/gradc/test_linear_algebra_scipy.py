"""scipy.linalg against SciPy: values, shapes, dtypes, and derivatives in both modes and twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg as sl

from tests.gradc.linear_algebra import (
    DTYPES,
    assert_function,
    each_dtype,
    general,
    positive,
    symmetric,
    to_orders,
)

SHAPES = ((4, 4), (5, 3), (3, 5), (2, 3, 3))
ORDERS = (None, "fro", 1, -1, 2, -2, np.inf, -np.inf, "nuc")
FACTORS = sl.lu_factor(general(4, 4))

OF_MATRICES: dict[str, Callable[..., Any]] = {
    "lu": lambda a: tuple(sl.lu(a))[1:],
    "lu, rows permuted": lambda a: sl.lu(a, permute_l=True),
    "lu, indices": lambda a: sl.lu(a, p_indices=True)[::-1],
    "lu_factor": lambda a: sl.lu_factor(a),
    "qr": lambda a: sl.qr(a, mode="economic"),
    "svd": lambda a: sl.svd(a, full_matrices=False),
    "svdvals": lambda a: sl.svdvals(a),
    "pinv": lambda a: sl.pinv(a),
}
# a lambda for each, because a table of functions is not seen as SciPy's
OTHERS: dict[str, tuple[Any, ...]] = {
    "cholesky": (lambda a: sl.cholesky(symmetric(a)), positive(4, 4)),
    "cholesky, lower": (lambda a: sl.cholesky(symmetric(a), lower=True), positive(4, 4)),
    "cho_factor": (lambda a: sl.cho_factor(symmetric(a))[0], positive(4, 4)),
    "cho_solve": (
        lambda a, b: sl.cho_solve(sl.cho_factor(symmetric(a)), b),
        positive(4, 4),
        general(4),
    ),
    "cho_solve, lower": (
        lambda a, b: sl.cho_solve((sl.cholesky(symmetric(a), lower=True), True), b),
        positive(4, 4),
        general(4, 2),
    ),
    "lu_solve": (lambda a, b: sl.lu_solve(sl.lu_factor(a), b), general(4, 4), general(4)),
    "lu_solve, transposed": (
        lambda a, b: sl.lu_solve(sl.lu_factor(a), b, trans=1),
        general(4, 4),
        general(4, 2),
    ),
    "qr, full": (lambda a: sl.qr(a), general(3, 4)),
    "qr, full and tall": (lambda a: sl.qr(a)[1], general(4, 3)),
    "svd, full": (lambda a: sl.svd(a)[1:], general(4, 3)),
    "qr, r": (lambda a: sl.qr(a, mode="r"), general(4, 3)),
    "eigh": (lambda a: sl.eigh(symmetric(a))[0], positive(4, 4)),
    "eigvalsh, upper": (lambda a: sl.eigvalsh(symmetric(a), lower=False), positive(4, 4)),
    "eigh of two": (
        lambda a, b: tuple(map(np.abs, sl.eigh(symmetric(a), symmetric(b)))),
        general(3, 3),
        positive(3, 3),
    ),
    "det": (lambda a: sl.det(a), general(4, 4)),
    "inv": (lambda a: sl.inv(a), general(4, 4)),
    "pinv, rank": (lambda a: sl.pinv(a, atol=1e-3, rtol=1e-3, return_rank=True), general(4, 3)),
    "lstsq": (lambda a, b: sl.lstsq(a, b), general(5, 3), general(5)),
    "lstsq of columns": (lambda a, b: sl.lstsq(a, b), general(5, 3), general(5, 2)),
    "lstsq, wide": (lambda a, b: sl.lstsq(a, b), general(3, 5), general(3, 2)),
    "polar": (lambda a: sl.polar(a), general(4, 3)),
    "polar, left": (lambda a: sl.polar(a, side="left"), general(3, 4)),
    "orthogonal_procrustes": (
        lambda a, b: sl.orthogonal_procrustes(a, b),
        general(5, 3),
        general(5, 3, seed=1),
    ),
    "solve transposed": (
        lambda a, b: sl.solve(a, b, transposed=True),
        general(4, 4),
        general(4, 2),
    ),
    "solve a stack": (lambda a, b: sl.solve(a, b), general(2, 3, 3), general(3, 2)),
    "solve_banded": (
        lambda ab, b: sl.solve_banded((1, 2), ab, b),
        general(4, 5) + np.array([[0], [0], [9], [0]]),
        general(5),
    ),
    "solveh_banded": (
        lambda ab, b: sl.solveh_banded(ab, b),
        general(2, 5) + np.array([[0], [9]]),
        general(5),
    ),
    "solveh_banded, lower": (
        lambda ab, b: sl.solveh_banded(ab, b, lower=True),
        general(3, 5) + np.array([[9], [0], [0]]),
        general(5, 2),
    ),
    "solve_toeplitz": (lambda c, b: sl.solve_toeplitz(c, b), np.array([9.0, 1, 2]), general(3)),
    "solve_toeplitz of two": (
        lambda c, r, b: sl.solve_toeplitz((c, r), b),
        np.array([9.0, 1, 2]),
        np.array([9.0, 0.5, 1]),
        general(3, 2),
    ),
    "solve_sylvester": (
        lambda a, b, q: sl.solve_sylvester(a, b, q),
        positive(3, 3),
        positive(2, 2),
        general(3, 2),
    ),
    "solve_continuous_lyapunov": (
        lambda a, q: sl.solve_continuous_lyapunov(a, q),
        positive(3, 3),
        general(3, 3),
    ),
    "solve_discrete_lyapunov": (
        lambda a, q: sl.solve_discrete_lyapunov(a / 9, q),
        general(3, 3),
        general(3, 3),
    ),
    "expm": (lambda a: sl.expm(a), general(2, 3, 3)),
    "expm of none": (lambda a: sl.expm(a), np.zeros((0, 0))),
    "block_diag": (lambda a, b: sl.block_diag(a, 2.0, b, [1.0, 3.0]), general(2, 3), general(3, 1)),
    "circulant": (lambda c: sl.circulant(c), general(4)),
    "companion": (lambda c: sl.companion(c), general(4)),
    "hankel": (lambda c: sl.hankel(c), general(4)),
    "hankel of two": (lambda c, r: sl.hankel(c, r), general(4), general(3)),
    "khatri_rao": (lambda a, b: sl.khatri_rao(a, b), general(2, 3), general(4, 3)),
    "toeplitz": (lambda c: sl.toeplitz(c), general(4)),
    "toeplitz of two": (lambda c, r: sl.toeplitz(c, r), general(4), general(3)),
    "integers": (lambda c: sl.toeplitz(c), np.arange(3)),
}  # fmt: skip
# SciPy computes these in double, or its own rounding in single is larger
DOUBLE = {"det", "solve_toeplitz", "solve_toeplitz of two", "solve_discrete_lyapunov", "expm",
          "solveh_banded", "solveh_banded, lower"}  # fmt: skip
STRUCTURES = ("gen", "sym", "her", "pos", "diagonal", "upper triangular", "lower triangular")


@pytest.mark.parametrize(("shape", "order"), to_orders(SHAPES, second=[(5, 3)]))
@pytest.mark.parametrize("name", OF_MATRICES)
def test_matrices(name: str, shape: tuple[int, ...], order: int) -> None:
    assert_function(OF_MATRICES[name], general(*shape), order=order)


# They take seconds, and others are like them.
LONG = {
    "lstsq, wide",
    "lstsq of columns",
    "solve_discrete_lyapunov",
    "expm",
    "expm of none",
    "solve_continuous_lyapunov",
    "orthogonal_procrustes",
    "polar, left",
}


@each_dtype
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in OTHERS]
)
def test_others(name: str, dtype: Any) -> None:
    if dtype is np.float32 and name in DOUBLE:
        return
    function, *args = OTHERS[name]
    assert_function(function, *args, dtype=dtype, accuracy=1e4)


@pytest.mark.parametrize(("lower", "order"), to_orders([False, True], second=[False]))
@pytest.mark.parametrize("assume", STRUCTURES)
def test_equations_and_inverses_of_a_structure(assume: str, lower: bool, order: int) -> None:
    """Elements that the structure leaves out are not read, nor have they a derivative."""
    a = positive(4, 4) + np.triu(np.full((4, 4), 0.01), 1)
    if assume == "diagonal":
        a = np.diag(np.diag(a))
    if assume == "upper triangular":
        a = np.triu(a)
    if assume == "lower triangular":
        a = np.tril(a)
    for_two = general(4, 2)
    assert_function(
        lambda a, b: sl.solve(a, b, assume_a=assume, lower=lower), a, for_two, order=order
    )
    assert_function(lambda a: sl.inv(a, assume_a=assume, lower=lower), a, order=order)


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize(("trans", "order"), to_orders([0, 1, "T"], second=[0]))
@pytest.mark.parametrize("lower", [False, True])
def test_triangular_equations(lower: bool, trans: Any, unit: bool, order: int) -> None:
    a = general(4, 4) + 2 * np.eye(4)
    options = {"trans": trans, "lower": lower, "unit_diagonal": unit}
    for b in (general(4), general(4, 2)):
        assert_function(lambda a, b: sl.solve_triangular(a, b, **options), a, b, order=order)


def test_factors_from_outside() -> None:
    b = general(4)
    assert_function(lambda b: sl.lu_solve(FACTORS, b), b)
    assert_function(lambda f, p, b: sl.lu_solve((f, p), b), *FACTORS, b)
    assert_function(lambda f, p, b: sl.lu_solve((f, p), b, trans=1), *FACTORS, b)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_norms(order: Any, dtype: Any) -> None:
    assert_function(lambda a: sl.norm(a, order), general(3, 4), dtype=dtype)


@pytest.mark.parametrize("scale", [0.0, 0.1, 1.0, 10.0, 100.0])
def test_exponentials_of_small_and_large_matrices(scale: float) -> None:
    a = scale * (general(4, 4) - np.eye(4))
    assert_function(lambda a: sl.expm(a), a, order=1 if scale < 100 else 0, accuracy=1e6)


def test_exponentials_of_stiff_matrices() -> None:
    a = np.array([[-1e5, 1e5], [1.0, -1.0]])
    assert_function(lambda a: sl.expm(a), a, order=0, accuracy=1e7)
    b = np.array([[0.0, 1e7], [0.0, 0.0]])
    from tests.gradc.linear_algebra import recorded

    assert np.all(np.isnan(recorded(lambda b: sl.expm(b), b)[0]))
