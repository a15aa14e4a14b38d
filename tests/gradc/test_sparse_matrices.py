"""SciPy's sparse matrices in traced functions, beside what they are outside of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import gradc
from gradc.testing import check_grads
from gradc_ir.errors import GradcError

RANDOM = np.random.default_rng(0)
A = sp.random_array((5, 4), density=0.5, format="csr", rng=RANDOM)
SQUARE = sp.random_array((4, 4), density=0.5, format="csc", rng=RANDOM)
BAND = sp.diags_array([np.arange(1.0, 5), np.full(3, -0.5)], offsets=[0, 1])
BLOCKS = sp.bsr_array(np.kron(np.eye(2), np.ones((2, 2))))
COO = sp.coo_array(([1.0, 2.0, 3.0, 4.0], ([0, 1, 1, 4], [3, 0, 0, 2])), shape=(5, 4))
MATRIX = sp.csr_matrix(SQUARE)
WHOLE = sp.csr_array(np.array([[0, 2, 0, 1], [3, 0, 0, 0]]))
X = np.array([0.5, -1.25, 2.0, 0.75])
W = RANDOM.normal(size=(3, 4))

PRODUCTS: list[Callable[[Any], Any]] = [
    lambda x: A @ x,
    lambda x: A.dot(x),
    lambda x: x @ A.T,
    lambda x: x @ SQUARE,
    lambda x: (W * x) @ SQUARE,
    lambda x: A @ (W * x).T,
    lambda x: A.T @ (A @ np.sin(x)),
    lambda x: BAND @ x + BLOCKS @ x,
    lambda x: COO @ x,
    lambda x: WHOLE @ x,
    lambda x: MATRIX * x,
    lambda x: x * MATRIX,
    lambda x: SQUARE.transpose().tocsr() @ x,
    lambda x: A.tocoo().T.T @ x,
]
SUMS: list[Callable[[Any], Any]] = [
    lambda x: (A * 2 - A / 3 + COO) @ x,
    lambda x: (x[0] * SQUARE + BAND * x[1]) @ x,
    lambda x: sum([SQUARE, BAND, -SQUARE]) @ x,
    lambda x: A.multiply(x).sum(axis=1),
    lambda x: A.multiply((x[:, None] + np.arange(5)).T).sum(axis=0),
    lambda x: (A * x[None, :]).toarray(),
    lambda x: (x * A).sum() * x,
    lambda x: abs(SQUARE - SQUARE * x[1]).sum() * x,
    lambda x: (SQUARE * x[2]).sqrt().sum() * x,
    lambda x: (SQUARE * x[0]).power(2) @ x,
    lambda x: SQUARE.multiply(SQUARE) @ x,
    lambda x: (SQUARE * x[0]).diagonal() + BAND.diagonal(1).sum() * x,
    lambda x: BAND.trace() * x + SQUARE.mean() + A.mean(axis=0),
    lambda x: A.toarray() @ x + np.sum(A.toarray()),
    lambda x: A + np.ones((5, 4)) * x,
    lambda x: np.ones((5, 4)) * x - A,
    lambda x: np.sum(A.data) * x * A.shape[0] * A.nnz,
    lambda x: A[1:] @ x + A[:, [0]].sum(),
]
MADE: list[Callable[[Any], Any]] = [
    lambda x: sp.csr_array((np.exp(x), [0, 2, 1, 0], [0, 2, 4]), shape=(2, 3)) @ x[:3],
    lambda x: sp.csc_array((np.exp(x), [0, 1, 1, 0], [0, 2, 4]), shape=(3, 2)) @ x[:2],
    lambda x: sp.coo_matrix((x * x, ([0, 2, 1, 0], [0, 2, 1, 0])), shape=(3, 4)) @ x,
    lambda x: sp.csr_array((x[[0, 1, 3, 3, 2, 0, 1, 2, 3, 0]], A.indices, A.indptr), A.shape) @ x,
    lambda x: sp.diags_array([x, x[1:] ** 2], offsets=[0, -1]) @ x,
    lambda x: sp.diags([x[0], x[1] * 2, 1.0], [-1, 0, 1], shape=(4, 4)).tocsr() @ x,
    lambda x: sp.diags(x, 1, shape=(4, 5)).toarray(),
    lambda x: sp.diags([1.0, -2.0, 1.0], [-1, 0, 1], shape=(4, 4)) @ x,
    lambda x: sp.eye_array(4, format="csr") @ x - sp.kron(sp.eye_array(2), np.ones((2, 2))) @ x,
    lambda x: sp.hstack([A, A * x[0]]) @ np.concatenate([x, x]),
    lambda x: sp.vstack([A, SQUARE]) @ x,
    lambda x: sp.block_array([[SQUARE * x[0], None], [A, sp.eye_array(5)]]) @ np.arange(9.0),
    lambda x: sp.block_diag([SQUARE * x[0], A]) @ np.concatenate([x, x]),
    lambda x: x * sp.issparse(A) * isinstance(A, sp.csr_array),
]


@pytest.mark.parametrize("place", range(len(PRODUCTS + SUMS + MADE)))
def test_traced_and_plain_agree(place: int) -> None:
    function = [*PRODUCTS, *SUMS, *MADE][place]
    compiled = gradc.compile(function)
    want = function(X)
    np.testing.assert_allclose(compiled(X), want, rtol=1e-14, atol=1e-14)
    assert compiled(X).dtype == np.asarray(want).dtype

    def scalar(x: Any) -> Any:
        found = function(x)
        return np.sum(np.cos(found) * found)

    check_grads(scalar, (X,), order=1)
