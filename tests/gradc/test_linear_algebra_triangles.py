"""What reads one triangle of a matrix is differentiated by it alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg as sl
import scipy.stats

import gradc
from gradc.testing import check_grads
from tests.gradc.linear_algebra import assert_function, general, positive

LA = np.linalg
RIGHT = general(4)
# Each with the triangle that it reads.
READERS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "cholesky": ("lower", LA.cholesky),
    "cholesky, upper": ("upper", lambda a: LA.cholesky(a, upper=True)),
    "eigh": ("lower", lambda a: tuple(LA.eigh(a))),
    "eigh, upper": ("upper", lambda a: tuple(LA.eigh(a, "U"))),
    "eigvalsh": ("lower", LA.eigvalsh),
    "eigvalsh, upper": ("upper", lambda a: LA.eigvalsh(a, "U")),
    "svd, hermitian": ("lower", lambda a: tuple(LA.svd(a, hermitian=True))),
    "pinv, hermitian": ("lower", lambda a: LA.pinv(a, hermitian=True)),
    "scipy cholesky": ("upper", sl.cholesky),
    "scipy cholesky, lower": ("lower", lambda a: sl.cholesky(a, lower=True)),
    "cho_solve of cho_factor": ("upper", lambda a: sl.cho_solve(sl.cho_factor(a), RIGHT)),
    "cho_solve of cho_factor, lower": (
        "lower",
        lambda a: sl.cho_solve(sl.cho_factor(a, lower=True), RIGHT),
    ),
    "cho_solve": ("lower", lambda a: sl.cho_solve((a, True), RIGHT)),
    "cho_solve, upper": ("upper", lambda a: sl.cho_solve((a, False), RIGHT)),
    "scipy eigh": ("lower", lambda a: tuple(map(np.abs, sl.eigh(a)))),
    "scipy eigh, upper": ("upper", lambda a: tuple(map(np.abs, sl.eigh(a, lower=False)))),
    "scipy eigvalsh": ("lower", sl.eigvalsh),
    "scipy eigvalsh, upper": ("upper", lambda a: sl.eigvalsh(a, lower=False)),
    "solve, pos": ("upper", lambda a: sl.solve(a, RIGHT, assume_a="pos")),
    "solve, pos, lower": ("lower", lambda a: sl.solve(a, RIGHT, assume_a="pos", lower=True)),
    "solve, sym": ("upper", lambda a: sl.solve(a, RIGHT, assume_a="sym")),
    "inv, pos": ("upper", lambda a: sl.inv(a, assume_a="pos")),
    "inv, sym, lower": ("lower", lambda a: sl.inv(a, assume_a="sym", lower=True)),
    "multivariate_normal": (
        "lower",
        lambda a: scipy.stats.multivariate_normal.logpdf(RIGHT, None, a),
    ),
}


def skewed() -> np.ndarray:
    """Return a matrix whose triangles differ and are both of positive definite ones."""
    return positive(4, 4) + 0.1 * general(4, 4, seed=1)


@pytest.mark.parametrize(
    "matrix",
    [
        pytest.param(skewed(), id="not symmetric"),
        pytest.param(positive(4, 4), id="symmetric", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("name", READERS)
def test_the_gradient_is_by_what_is_read(name: str, matrix: np.ndarray) -> None:
    triangle, function = READERS[name]
    assert_function(function, matrix, order=1)

    def total(a: Any) -> Any:
        found = function(a)
        return sum(np.sum(part**2 + part) for part in (found if type(found) is tuple else (found,)))

    gradient = gradc.grad(total)(matrix)
    other = np.triu(gradient, 1) if triangle == "lower" else np.tril(gradient, -1)
    np.testing.assert_array_equal(other, np.zeros_like(other))
    symmetrised = gradc.grad(lambda a: total((a + a.T) / 2))((matrix + matrix.T) / 2)
    np.testing.assert_allclose(symmetrised, symmetrised.T, rtol=1e-9, atol=1e-11)


def test_the_issue_in_one_line() -> None:
    def least(p: Any) -> Any:
        return np.linalg.eigvalsh(np.array([[1.0, 0.0], [p, 2.0]]))[0]

    step = 1e-6
    want = (least(0.7 + step) - least(0.7 - step)) / (2 * step)
    found = {
        "grad": gradc.grad(least)(0.7),
        "jvp": gradc.jvp(least, (0.7,), (1.0,))[1],
        "vjp": gradc.vjp(least, 0.7)[1](1.0),
        "linearize": gradc.linearize(least, 0.7)[1](1.0),
        "jacobian": gradc.jacobian(least)(0.7),
        "vmap": gradc.vmap(gradc.grad(least))(np.array([0.7, 0.7]))[0],
    }
    for name, slope in found.items():
        assert np.ravel(slope)[0] == pytest.approx(want, rel=1e-8), name


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_second_derivatives(name: str) -> None:
    check_grads(READERS[name][1], (skewed(),), order=2)


@pytest.mark.parametrize("shape", [(2, 3, 3), (2, 2, 3, 3)])
@pytest.mark.parametrize("name", ["cholesky", "eigh", "eigh, upper"])
def test_stacks(name: str, shape: tuple[int, ...]) -> None:
    check_grads(READERS[name][1], (positive(*shape) + 0.1 * general(*shape, seed=1),))


@pytest.mark.parametrize("name", ["cholesky", "eigh", "eigh, upper"])
def test_single_precision(name: str) -> None:
    assert_function(READERS[name][1], skewed(), dtype=np.float32)


@pytest.mark.parametrize("lower", [True, False])
def test_two_matrices(lower: bool) -> None:
    def values(a: Any, b: Any) -> Any:
        return tuple(map(np.abs, sl.eigh(a, b, lower=lower)))

    other = positive(4, 4, seed=2) + 0.1 * general(4, 4, seed=3)
    assert_function(values, skewed(), other, order=1)


def test_the_other_triangle_may_hold_anything() -> None:
    matrix = skewed()
    matrix[np.triu_indices(4, 1)] = np.nan
    for name, (triangle, function) in READERS.items():
        if triangle == "lower" and name not in ("pinv, hermitian", "scipy eigvalsh", "scipy eigh"):
            found = gradc.compile(function)(matrix)
            for part in found if isinstance(found, tuple) else (found,):
                assert np.all(np.isfinite(part)), name
