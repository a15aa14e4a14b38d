"""SciPy's sparse matrices in traced functions, beside what they are outside of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse import linalg

import gradc
from gradc.testing import check_grads
from gradc_ir.errors import ExportError, GradcError

RANDOM = np.random.default_rng(0)


def drawn(format: str, *shape: int) -> Any:
    """Return a random matrix, half of whose elements are zero."""
    return sp.coo_array(RANDOM.uniform(0.1, 1.0, shape) * RANDOM.integers(0, 2, shape)).asformat(
        format
    )


A = drawn("csr", 5, 4)
SQUARE = drawn("csc", 4, 4)
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
    lambda x: x * (BAND.nnz + BLOCKS.nnz + COO.nnz + (COO * x[0]).tocoo().nnz),
    lambda x: A[1:] @ x + A[:, [0]].sum(),
]
MADE: list[Callable[[Any], Any]] = [
    lambda x: sp.csr_array((np.exp(x), [0, 2, 1, 0], [0, 2, 4]), shape=(2, 3)) @ x[:3],
    lambda x: sp.csc_array((np.exp(x), [0, 1, 1, 0], [0, 2, 4]), shape=(3, 2)) @ x[:2],
    lambda x: sp.coo_matrix((x * x, ([0, 2, 1, 0], [0, 2, 1, 0])), shape=(3, 4)) @ x,
    lambda x: sp.csr_array((x[np.arange(A.nnz) % 4], A.indices, A.indptr), A.shape) @ x,
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

# well away from singular
REGULAR = sp.csc_array(SQUARE + 4 * sp.eye_array(4))
SOLVES: list[Callable[[Any], Any]] = [
    lambda x: linalg.spsolve(REGULAR, x),
    lambda x: linalg.spsolve(REGULAR * x[3] + sp.diags_array(x**2), np.sin(x), "NATURAL"),
    lambda x: linalg.spsolve(REGULAR.T, W.T * x[:, None]),
    lambda x: linalg.splu(REGULAR).solve(x, "T") + linalg.factorized(REGULAR)(x**2),
]


ALL = [*PRODUCTS, *SUMS, *MADE, *SOLVES]


def message(wrong_use: Callable[[], Any]) -> str:
    """Return an error without the lines that show where it is."""
    with pytest.raises(GradcError) as error:
        wrong_use()
    said = error.value
    assert said.at is not None
    more = [f"  {line}" for line in said.found] + [f"  help: {said.help}"] * bool(said.help)
    return "\n".join([said.what, *more])


def scalar(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function of all elements of what another one returns."""

    def total(x: Any) -> Any:
        found = function(x)
        return np.sum(np.cos(found) * found)

    return total


@pytest.mark.parametrize("group", [PRODUCTS, SUMS, MADE, SOLVES])
def test_traced_and_plain_agree(group: list[Callable[[Any], Any]]) -> None:
    step = np.array([1.0, -2.0, 0.5, 1.0])
    found, tangents = gradc.jvp(lambda x: [function(x) for function in group], (X,), (step,))
    for function, one, tangent in zip(group, found, tangents, strict=True):
        want = function(X)
        np.testing.assert_allclose(one, want, rtol=1e-14, atol=1e-14)
        assert one.dtype == np.asarray(want).dtype
        slope = (function(X + 1e-6 * step) - function(X - 1e-6 * step)) / 2e-6
        np.testing.assert_allclose(tangent, slope, rtol=1e-7, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("place", range(len(ALL)))
def test_derivatives(place: int) -> None:
    check_grads(scalar(ALL[place]), (X,), order=2)


def test_the_numbers_of_each_call_are_read() -> None:
    """Elements, places and the name itself may change; none is frozen."""
    owner = SimpleNamespace(matrix=A.copy(), band=sp.dia_array(BAND))
    product = gradc.compile(lambda x: owner.matrix @ x)
    sizes = gradc.compile(lambda x: abs(owner.band) @ x)
    for change in (
        lambda: None,
        lambda: None,
        lambda: owner.matrix.data.__setitem__(0, 7.0),
        lambda: owner.matrix.indices.__setitem__(0, 3 - owner.matrix.indices[0]),
        lambda: owner.matrix.indptr.__setitem__(1, 0),
        lambda: owner.band.data.__setitem__((0, 1), -9.0),
        lambda: setattr(owner, "matrix", drawn("csc", 6, 4)),
        lambda: setattr(owner, "matrix", COO),
    ):
        change()
        np.testing.assert_array_equal(product(X), owner.matrix @ X)
        np.testing.assert_array_equal(sizes(X), abs(owner.band) @ X)


def test_elements_that_come_to_share_a_place() -> None:
    matrix = sp.csr_array(([1.0, -2.0], [1, 2], [0, 2]), shape=(1, 3))
    sizes = gradc.compile(lambda x: abs(matrix) @ x)
    assert sizes(np.ones(3)) == 3
    matrix.indices[1] = 1
    assert message(lambda: sizes(np.ones(3))) == (
        "absolute of matrix: several of its elements may be at the same place\n"
        "  help: take it before matrices are added, or of a matrix made outside of the function "
        "after sum_duplicates()"
    )


def test_in_loops_and_batches() -> None:
    def steps(x: Any) -> Any:
        return gradc.fori_loop(0, 5, lambda _, x: np.tanh(SQUARE @ x), x)

    def unrolled(x: Any) -> Any:
        for _ in range(5):
            x = np.tanh(SQUARE @ x)
        return x

    np.testing.assert_allclose(gradc.compile(steps)(X), unrolled(X), rtol=1e-14)
    np.testing.assert_allclose(
        gradc.jacobian(steps)(X), gradc.jacobian(unrolled, mode="reverse")(X), rtol=1e-12
    )
    points = np.stack([X, X + 1, X - 3])
    np.testing.assert_allclose(gradc.vmap(lambda x: A @ x)(points), (A @ points.T).T, rtol=1e-14)
    solved = gradc.vmap(lambda x: linalg.spsolve(REGULAR, x))(points)
    np.testing.assert_allclose((REGULAR @ solved.T).T, points, rtol=1e-13)


def test_sparse_derivatives_have_the_pattern_of_the_matrix() -> None:
    cubes = gradc.compile(lambda x: SQUARE @ x + x**3)
    found = cubes.jacobian(X, sparse=True)
    want = SQUARE + sp.diags_array(3 * X**2)
    assert found.nnz == want.nnz
    np.testing.assert_allclose(found.toarray(), want.toarray(), rtol=1e-14)
    energy = gradc.compile(lambda x: 0.5 * x @ (SQUARE @ x))
    half = 0.5 * (SQUARE + SQUARE.T).toarray()
    np.testing.assert_allclose(energy.hessian(X, sparse=True).toarray(), half, rtol=1e-14)


def test_no_dense_matrix_is_made() -> None:
    """A dense one of 50,000 unknowns would have 20 gigabytes."""
    n = 50_000
    stiff = sp.diags_array([np.full(n, 2.1), -np.ones(n - 1)], offsets=[0, -1]).tocsc()

    @gradc.compile
    def loss(weights: Any) -> Any:
        return np.sum(linalg.spsolve(stiff + sp.diags_array(weights), stiff @ weights))

    value, gradient = loss.value_and_grad(np.ones(n))
    solution = linalg.spsolve(stiff + sp.eye_array(n, format="csc"), stiff @ np.ones(n))
    weights = linalg.spsolve((stiff + sp.eye_array(n, format="csc")).T.tocsc(), np.ones(n))
    np.testing.assert_allclose(value, np.sum(solution), rtol=1e-12)
    np.testing.assert_allclose(gradient, stiff.T @ weights - weights * solution, rtol=1e-11)


def test_a_singular_matrix_has_no_solution() -> None:
    empty = sp.csr_array(([1.0, 1.0], ([0, 1], [0, 1])), shape=(3, 3))
    assert np.isnan(gradc.compile(lambda x: linalg.spsolve(empty, x))(np.ones(3))).all()


def test_in_c_the_parts_of_a_matrix_are_arguments(tmp_path: Path) -> None:
    _, header = gradc.compile(lambda x: A @ x).export("k", spec="x: f64[4]", out=tmp_path)
    assert "(x: f64[4], A.columns: i32[11], A.data: f64[11], A.rows: i32[11])" in header.read_text()
    with pytest.raises(ExportError, match="it calls spsolve back, a function of Python"):
        gradc.compile(lambda x: linalg.spsolve(REGULAR, x)).export("k", X, out=tmp_path)


HAS = (
    "there they have @, dot, T, +, -, * and / with numbers, multiply, abs, power, sum, diagonal, "
    "trace, toarray"
)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (
            lambda x: A @ x[:3],
            "A of shape (5, 4) does not fit x: f64[3]\n  help: x needs 4 entries",
        ),
        (
            lambda x: SQUARE @ SQUARE @ x,
            "SQUARE: a product with a sparse matrix is not supported for sparse matrices in traced "
            f"functions\n  {HAS}\n  help: compute it outside of the function, or make a dense "
            "array: A.toarray()",
        ),
        (
            lambda x: np.sum(A) * x,
            "A is a sparse matrix, and stands where an array is needed\n"
            f"  in a traced function sparse matrices {HAS.removeprefix('there they ')}\n"
            "  help: write the method, A.sum() for np.sum(A), or A.toarray() for a dense one",
        ),
        (
            lambda x: sp.csr_array(np.outer(x, x)) @ x,
            "scipy.sparse.csr_array of what is not (data, (row, col)) or (data, indices, indptr) "
            "is not supported for traced arrays\n  help: which elements a dense array has other "
            "than zero is not known while tracing: give them with their places, or make the matrix "
            "outside",
        ),
        (
            lambda x: (SQUARE + BAND * x[0]).tocsr().data,
            "SQUARE + BAND.data: the order of elements in the format csr is not known here\n"
            "  help: change the format outside of the function, where the matrix is made",
        ),
        (
            lambda x: linalg.cg(SQUARE, x)[0],
            "scipy.sparse.linalg.cg is not supported for traced arrays\n  help: write "
            "spsolve(A, b), or gradc.linear_solve(lambda x: A @ x, b, method='cg').x",
        ),
        (
            lambda x: linalg.spsolve(SQUARE.toarray(), x),
            "scipy.sparse.linalg.spsolve of a dense matrix is not supported for traced arrays\n"
            "  help: write np.linalg.solve(A, b)",
        ),
        (
            lambda x: linalg.spsolve(A, x),
            "scipy.sparse.linalg.spsolve: A has shape (5, 4), b is f64[4]",
        ),
    ],
)
def test_what_is_refused(function: Callable[[Any], Any], text: str) -> None:
    assert message(lambda: gradc.compile(function)(X)) == text


def test_beside_distributions() -> None:
    """What asks an object whether it is a distribution does not stumble over a sparse matrix."""
    stats = pytest.importorskip("scipy.stats")

    def both(x):
        return stats.norm(0.0, 2.0).logpdf(sp.diags([1.0, -2.0, 1.0], [-1, 0, 1], shape=(4, 4)) @ x)

    x = np.linspace(-1, 1, 4)
    np.testing.assert_allclose(gradc.compile(both)(x), both(x), rtol=1e-14)


def test_calls_do_not_transpose_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = sp.csr_array(np.triu(np.ones((4, 4))))
    compiled = gradc.compile(lambda x: matrix @ np.sin(matrix.T @ x))
    x = np.linspace(0.0, 1.0, 4)
    wanted = compiled(x)

    def transposed(*given: object, **more: object) -> None:
        raise AssertionError

    monkeypatch.setattr(sp.csr_array, "transpose", transposed)
    np.testing.assert_array_equal(compiled(x), wanted)
