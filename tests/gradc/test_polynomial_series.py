"""Values and Vandermonde matrices of np.polynomial's series, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre, polynomial

import gradc
from gradc.testing import check_grads

X = np.array([[0.3, -0.8], [0.5, 1.2]])
C = np.array([1.0, -0.5, 0.25, 2.0, -1.0])
VALUES = {
    "polyval": polynomial.polyval,
    "chebval": chebyshev.chebval,
    "legval": legendre.legval,
    "lagval": laguerre.lagval,
    "hermval": hermite.hermval,
    "hermeval": hermite_e.hermeval,
}
MATRICES = {
    "polyvander": polynomial.polyvander,
    "chebvander": chebyshev.chebvander,
    "legvander": legendre.legvander,
    "lagvander": laguerre.lagvander,
    "hermvander": hermite.hermvander,
    "hermevander": hermite_e.hermevander,
}


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("name", VALUES)
def test_value(name: str, count: int) -> None:
    value = VALUES[name]

    def f(x, c):
        return value(x, c) * value(0.4, c)

    args = (X, C[:count])
    np.testing.assert_allclose(gradc.compile(f)(*args), f(*args), rtol=1e-13, strict=True)
    check_grads(f, args)


@pytest.mark.parametrize("degree", [0, 1, 4])
@pytest.mark.parametrize("name", MATRICES)
def test_matrix(name: str, degree: int) -> None:
    matrix = MATRICES[name]

    def f(x):
        return matrix(x, degree)

    np.testing.assert_allclose(gradc.compile(f)(X), f(X), rtol=1e-13, strict=True)
    check_grads(f, (X,))


@pytest.mark.parametrize("name", VALUES)
def test_columns_of_coefficients(name: str) -> None:
    value = VALUES[name]
    columns = np.column_stack([C, 2 * C])

    def f(x, c):
        return value(x, c), value(x[0], c, tensor=False)

    for found, want in zip(gradc.compile(f)(X, columns), f(X, columns), strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-12, strict=True)


def test_the_module_read_from_numpy() -> None:
    def f(x):
        return np.polynomial.legendre.legval(x, [0, 0, 1])

    np.testing.assert_allclose(gradc.grad(f)(0.7), 3 * 0.7)
