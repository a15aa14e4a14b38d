"""Functions that sort, accumulate and factor run as machine code, and so do their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.testing import check_grads

W = np.array([0.5, -1.0, 2.0, 0.25])
A = np.array(
    [[2.0, 0.3, -0.5, 1.0], [0.7, -1.5, 0.2, 0.4], [-0.3, 0.9, 1.7, 0.6], [1.1, 0.1, -0.8, 2.5]]
)
B = np.array([1.0, -2.0, 0.5, 3.0])


def spread(a: Any) -> Any:
    """A positive definite matrix."""
    return a @ a.T + np.eye(4)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "sort": lambda a: np.sum(np.sort(a, axis=0) * W),
    "argsort": lambda a: np.sum(a[0][np.argsort(a[1])] * W),
    "cumsum": lambda a: np.sum(np.cumsum(a, axis=1) ** 2),
    "cumprod": lambda a: np.sum(np.cumprod(a, axis=0) * W),
    "cholesky": lambda a: np.sum(np.linalg.cholesky(spread(a)) * W),
    "solve": lambda a: np.sum(np.linalg.solve(a, B) ** 2),
    "inverse": lambda a: np.sum(np.linalg.inv(a) * W),
    "determinant": lambda a: np.linalg.det(a),
    "qr": lambda a: np.sum(np.linalg.qr(a)[1] ** 3),
    "eigenvalues": lambda a: np.sum(np.linalg.eigh(spread(a))[0] * W),
    "singular values": lambda a: np.sum(np.linalg.svd(a)[1] * W),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_native(name: str) -> None:
    function = FUNCTIONS[name]
    compiled = gradc.compile(function)
    np.testing.assert_allclose(compiled(A), function(A), rtol=1e-12)
    compiled.grad(A)
    assert all(signature.native for signature in compiled.signatures)
    check_grads(compiled, (A,))


def test_sizes_become_symbols() -> None:
    """At the second size; the third needs no compilation, though LAPACK takes its turn there."""
    compiled = gradc.compile(lambda a: np.sum(np.linalg.cholesky(a)))
    for size in (3, 5, 50):
        matrix = np.eye(size) * 4 + 0.5
        np.testing.assert_allclose(compiled(matrix), np.sum(np.linalg.cholesky(matrix)))
    assert len(compiled.signatures) == 2
