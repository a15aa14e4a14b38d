"""Linear algebra where it is delicate: singular, repeated, not definite; conventions and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg as sl

import gradc
from gradc.derivatives import vjp
from gradc.testing import check_grads
from gradc.tracing import trace
from gradc_ir.core.sizes import evaluate, symbol
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import GradcError, ShapeError, TraceError
from gradc_ir.interpreter.interpret import interpret
from tests.gradc.linear_algebra import assert_function, general, positive, symmetric

LA = np.linalg
N, M = symbol("n"), symbol("m")


def cofactors(a: np.ndarray) -> np.ndarray:
    """Return the derivative of the determinant, minor by minor."""
    n = len(a)
    minors = [[LA.det(np.delete(np.delete(a, i, 0), j, 1)) for j in range(n)] for i in range(n)]
    signs = (-1.0) ** np.add.outer(np.arange(n), np.arange(n))
    return signs * np.reshape(minors, (n, n))


def by_minors(a):
    """The determinant as textbooks define it, by its first row and column after column deleted."""
    n = a.shape[0]
    if n == 1:
        return a[0, 0]
    return sum((-1) ** j * a[0, j] * by_minors(np.delete(a[1:], j, axis=1)) for j in range(n))


def test_the_determinant_by_its_minors_computes_each_of_them_once() -> None:
    """There are 2**n submatrices of the last rows, though n! paths lead to them."""
    a = np.random.default_rng(0).normal(size=(5, 5))
    compiled = gradc.compile(lambda a: by_minors(a))
    value, gradient = compiled.value_and_grad(a)
    np.testing.assert_allclose(value, LA.det(a), rtol=1e-13)
    np.testing.assert_allclose(gradient, cofactors(a), rtol=1e-12)
    products = compiled.dump(a).count(" = mul ")
    assert products <= 5 * 2 ** (5 - 1)


@pytest.mark.parametrize("missing", [0, 1, 2])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7])
def test_the_derivative_of_det_at_every_rank(size: int, missing: int) -> None:
    rank = max(size - missing, 0)
    random = np.random.default_rng(size)
    a = random.integers(-3, 4, (size, rank)) @ random.integers(-3, 4, (rank, size)) * 1.0
    want = cofactors(a)
    rounding = 1e-14 * LA.norm(a) ** (size - 1)  # that of the minors too
    np.testing.assert_allclose(gradc.grad(lambda a: LA.det(a))(a), want, atol=rounding)
    step = random.normal(size=a.shape)
    _, pushed = gradc.jvp(lambda a: LA.det(a), (a,), (step,))
    np.testing.assert_allclose(pushed, np.sum(want * step), atol=10 * size * rounding)


def test_the_derivative_of_det_where_pivots_are_missing_in_the_middle() -> None:
    a = np.array([[1.0, 2, 3, 4], [2, 4, 6, 8], [0, 0, 0, 5], [1, 0, 2, 1]])
    np.testing.assert_allclose(gradc.grad(lambda a: LA.det(a))(a), cofactors(a), atol=1e-12)


def test_second_derivatives_of_small_singular_determinants() -> None:
    check_grads(lambda a: LA.det(a), (np.ones((3, 3)),), order=2)
    check_grads(lambda a: LA.det(a), (np.ones((2, 2)),), order=2)


def test_determinants_have_the_same_bits_whatever_size_came_first() -> None:
    matrices = [np.random.default_rng(size).normal(size=(size, size)) for size in (5, 4, 3, 2)]
    several = gradc.compile(lambda a: np.linalg.det(a))
    for a in matrices:
        assert several(a) == gradc.compile(lambda a: np.linalg.det(a))(a)
    specs = [signature.spec for signature in several.signatures]
    assert specs == ["a: f64[5,5]", "a: f64[n,n]", "a: f64[3,3]", "a: f64[2,2]"]
    assert several.signatures[2].reason == "a new size"


def test_a_determinant_whose_product_of_pivots_leaves_the_range() -> None:
    a = np.diag([1e200, 1e200, 1e-200, 1e-200, 3.0])
    np.testing.assert_allclose(gradc.compile(lambda a: LA.det(a))(a), 3, rtol=1e-12)


REPEATED: dict[str, tuple[Callable[..., Any], Any]] = {
    "sum of eigenvalues": (lambda a: np.sum(LA.eigvalsh(a)), lambda a: np.eye(len(a))),
    "sum of squares": (lambda a: np.sum(LA.eigvalsh(a) ** 2), lambda a: 2 * a),
    "log-determinant": (lambda a: np.sum(np.log(LA.eigvalsh(a))), LA.inv),
    "trace of exp": (
        lambda a: np.trace(
            LA.eigh(a)[1] @ np.diag(np.exp(LA.eigh(a)[0])) @ np.swapaxes(LA.eigh(a)[1], 0, 1)
        ),
        sl.expm,
    ),
    "sum of singular values": (lambda a: LA.norm(a, "nuc"), lambda a: np.eye(len(a))),
    "product of singular values": (lambda a: np.prod(LA.svdvals(a)), cofactors),
    "pseudo-inverse": (lambda a: np.trace(LA.pinv(a)), lambda a: -LA.inv(a @ a)),
}


@pytest.mark.parametrize("name", REPEATED)
def test_functions_that_do_not_ask_for_the_vectors_of_repeated_values(name: str) -> None:
    function, gradient = REPEATED[name]
    q = LA.qr(general(4, 4))[0]
    for a in (np.eye(4), 2 * np.eye(4), q @ np.diag([1.0, 1, 2, 2]) @ q.T):
        found = gradc.grad(lambda a: function((a + a.T) / 2))(a)
        np.testing.assert_allclose(found, gradient(a), atol=1e-12)


def test_functions_that_ask_for_them_are_not_finite() -> None:
    weights = general(3, 3)
    for function in (LA.eigh, lambda a: LA.svd(a)):
        gradient = gradc.grad(lambda a, function=function: np.sum(weights * function(a)[1]))
        assert np.all(np.isfinite(gradient(np.diag([1.0, 2, 4]))))
    found = gradc.grad(lambda a: np.sum(weights * LA.eigh(a)[1]))(np.eye(3))
    assert not np.any(np.isfinite(found[np.tril_indices(3)]))


def test_second_derivatives_at_repeated_singular_values() -> None:
    weights = general(3, 3)
    found = gradc.compile(lambda a: np.sum(weights * LA.pinv(a))).hessian(np.eye(3))
    want = gradc.compile(lambda a: np.sum(weights * LA.inv(a))).hessian(np.eye(3))
    np.testing.assert_allclose(found, want, atol=1e-12)


@pytest.mark.parametrize("shape", [(5, 2), (2, 5), (2, 4, 3)])
def test_vectors_beyond_the_rank_span_the_rest(shape: tuple[int, ...]) -> None:
    """Which vectors of the rest are chosen is open; the projector onto it is not."""

    def projectors(a: Any) -> Any:
        (u, s, vt), q = LA.svd(a), LA.qr(a, "complete")[0]
        k = s.shape[-1]
        bases = u[..., k:], np.swapaxes(vt, -1, -2)[..., k:], q[..., k:]
        return tuple(basis @ np.swapaxes(basis, -1, -2) for basis in bases)

    assert_function(projectors, general(*shape))


def test_a_complete_basis_is_that_of_numpy() -> None:
    assert_function(lambda a: tuple(LA.qr(a, "complete")), general(5, 3), order=0)
    assert_function(lambda a: tuple(LA.qr(a, "complete")), general(2, 3, 4))
    assert_function(lambda a: tuple(sl.qr(a)), general(5, 3), order=0)
    assert_function(lambda a: LA.svd(a)[1:], general(5, 3))


def test_norms_have_slope_zero_at_zero() -> None:
    for order in (2, -2, "nuc"):
        gradient = gradc.grad(lambda a, order=order: LA.norm(a, order))(np.zeros((2, 3)))
        np.testing.assert_array_equal(gradient, np.zeros((2, 3)))


def test_the_gradient_of_a_symmetrised_matrix_is_symmetric() -> None:
    """So that it is the one of the books: the inverse for the log-determinant."""
    a = positive(4, 4)

    def by_cholesky(a: Any) -> Any:
        return 2 * np.sum(np.log(np.diagonal(LA.cholesky(a))))

    def by_eigenvalues(a: Any) -> Any:
        return np.sum(np.log(LA.eigvalsh(a)))

    for function in (by_cholesky, by_eigenvalues, lambda a: LA.slogdet(a)[1]):
        found = gradc.grad(lambda a, function=function: function((a + a.T) / 2))(a)
        np.testing.assert_allclose(found, LA.inv(a), rtol=1e-10, atol=1e-12)


def by_cholesky(scale: Any, y: Any) -> Any:
    factor = LA.cholesky(scale @ scale.T + np.eye(len(y)))
    z = sl.solve_triangular(factor, y, lower=True)
    return -0.5 * z @ z - np.sum(np.log(np.diagonal(factor)))


def by_slogdet(scale: Any, y: Any) -> Any:
    covariance = scale @ scale.T + np.eye(len(y))
    return -0.5 * y @ LA.solve(covariance, y) - 0.5 * LA.slogdet(covariance)[1]


def by_eigh(scale: Any, y: Any) -> Any:
    w, v = LA.eigh(scale @ scale.T + np.eye(len(y)))
    return -0.5 * np.sum((v.T @ y) ** 2 / w) - 0.5 * np.sum(np.log(w))


def by_inverse(scale: Any, y: Any) -> Any:
    covariance = scale @ scale.T + np.eye(len(y))
    return -0.5 * y @ LA.inv(covariance) @ y - 0.5 * np.log(LA.det(covariance))


def by_cho_solve(scale: Any, y: Any) -> Any:
    factor = sl.cho_factor(scale @ scale.T + np.eye(len(y)))
    return -0.5 * y @ sl.cho_solve(factor, y) - np.sum(np.log(np.diagonal(factor[0])))


LIKELIHOODS = (by_cholesky, by_slogdet, by_eigh, by_inverse, by_cho_solve)


@pytest.mark.slow
def test_the_ways_of_a_gaussian_likelihood_agree() -> None:
    scale, y, step = general(4, 4), general(4), general(4, 4, seed=1)
    compiled = [gradc.compile(function) for function in LIKELIHOODS]
    values = [f(scale, y) for f in compiled]
    gradients = [f.grad(scale, y) for f in compiled]
    products = [f.hvp((scale, y), step) for f in compiled[:2]]
    np.testing.assert_allclose(values, [by_inverse(scale, y)] * len(values), rtol=1e-12)
    for found in (gradients, products):
        for one in found:
            np.testing.assert_allclose(one, found[0], rtol=1e-10, atol=1e-12)


def test_what_numpy_raises_for_is_nan() -> None:
    singular, indefinite = np.ones((2, 2)), -np.eye(2)
    for function, x in (
        (lambda a: LA.inv(a), singular),
        (lambda a: LA.solve(a, np.ones(2)), singular),
        (lambda a: LA.cholesky(a), indefinite),
        (lambda a: sl.cholesky(a), indefinite),
        (lambda a: sl.solve(a, np.ones(2), assume_a="pos"), indefinite),
    ):
        assert np.all(np.isnan(gradc.compile(function)(x)))
    sign, logarithm = gradc.compile(lambda a: LA.slogdet(a))(singular)
    assert (sign, logarithm) == (0, -np.inf)


def test_only_the_bad_matrix_of_a_stack_is_nan() -> None:
    stack = np.stack([np.eye(2), -np.eye(2), 2 * np.eye(2)])
    found = gradc.compile(lambda a: LA.cholesky(a))(stack)
    assert [bool(np.all(np.isfinite(factor))) for factor in found] == [True, False, True]


UNTAKEN: dict[str, tuple[Callable[..., Any], np.ndarray]] = {
    "inv": (lambda a: LA.inv(a), np.ones((2, 2))),
    "solve": (lambda a: LA.solve(a, np.ones((2, 1))), np.ones((2, 2))),
    "slogdet": (lambda a: LA.slogdet(a)[1][..., None, None], np.ones((2, 2))),
    "det": (lambda a: LA.det(a)[..., None, None], np.full((4, 4), np.nan)),
    "cholesky": (lambda a: LA.cholesky(a), -np.eye(2)),
    "eigh": (lambda a: LA.eigh(a)[1], np.eye(2)),
    "svd": (lambda a: LA.svd(a)[0], np.eye(2)),
    "qr": (lambda a: LA.qr(a)[0], np.zeros((2, 2))),
    "lu": (lambda a: sl.lu(a)[2], np.zeros((2, 2))),
    "solve_triangular": (lambda a: sl.solve_triangular(a, np.ones((2, 1))), np.zeros((2, 2))),
    "pinv": (lambda a: LA.pinv(a), np.full((2, 2), np.nan)),
    "expm": (lambda a: sl.expm(a), np.full((2, 2), 1e7)),
}


@pytest.mark.parametrize("name", UNTAKEN)
def test_a_matrix_that_is_not_used_has_a_zero_gradient(name: str) -> None:
    """The masked adjoint of a branch not taken stays zero, matrix by matrix of a stack."""
    function, bad = UNTAKEN[name]
    stack = np.stack([general(*bad.shape), bad])
    stack[0] = stack[0] @ stack[0].T
    used = np.array([True, False])[:, None, None]

    def chosen(a: Any) -> Any:
        return np.sum(np.where(used, function(a) ** 3, 0.0))

    gradient = gradc.grad(chosen)(stack)
    assert np.all(np.isfinite(gradient[0]))
    assert np.any(gradient[0] != 0)
    np.testing.assert_array_equal(gradient[1], np.zeros_like(bad))
    assert np.isfinite(gradc.jvp(chosen, (stack,), (np.ones_like(stack),))[1])


def test_residuals_of_a_rank_that_is_not_full() -> None:
    a, b = np.ones((4, 2)), general(4)
    x, rest, rank, _ = gradc.compile(lambda a, b: LA.lstsq(a, b))(a, b)
    np.testing.assert_allclose(x, LA.lstsq(a, b)[0], atol=1e-14)
    assert np.isnan(rest).tolist() == [True]
    assert rank == 1


@pytest.mark.parametrize("shape", [(N, N), (N, 3), (M, N)], ids=str)
def test_one_graph_serves_every_size(shape: tuple[Any, ...]) -> None:
    def parts(a: Any) -> Any:
        square = np.swapaxes(a, 0, 1) @ a + np.eye(a.shape[1])
        return LA.qr(a)[1] ** 2, LA.pinv(a), LA.inv(square), LA.cholesky(square), LA.det(square)

    function = trace(parts, (Type(DType.F64, shape),)).function
    for n, m in ((2, 4), (3, 1), (5, 5)):
        a = general(*(evaluate(size, {"n": n, "m": m}) for size in shape))
        given = [a, *map(np.ones_like, parts(a))]
        static = trace(parts, (a,)).function
        found, want = (interpret(vjp(made, [0]), given) for made in (function, static))
        for one, other, value in zip(found, want, (*parts(a), want[-1]), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(one, value, rtol=1e-10, atol=1e-12)


def test_jacobians_go_through_factorisations() -> None:
    a = positive(3, 3)
    found = gradc.compile(lambda a: LA.cholesky(symmetric(a))).jacobian(a)
    step = 1e-6 * symmetric(general(3, 3))
    want = LA.cholesky(a + step) - LA.cholesky(a - step)
    np.testing.assert_allclose(np.tensordot(found, step, 2), want / 2, atol=1e-14)


REFUSED: dict[str, tuple[Callable[..., Any], tuple[Any, ...], str]] = {
    "eig": (lambda a: np.linalg.eig(a), (np.eye(2),), "np.linalg.eigh"),
    "eigvals": (lambda a: np.linalg.eigvals(a), (np.eye(2),), "np.linalg.eigvalsh"),
    "roots": (lambda a: np.roots(a), (np.ones(3),), "outside"),
    "qr": (lambda a: LA.qr(a, "raw"), (general(3, 2),), 'mode="reduced"'),
    "pivoting": (lambda a: sl.qr(a, pivoting=True), (np.eye(2),), 'mode="economic"'),
    "subset": (lambda a: sl.eigh(a, subset_by_index=[0, 1]), (np.eye(3),), "take some"),
    "sqrtm": (lambda a: sl.sqrtm(a), (np.eye(2),), "np.linalg.eigh"),
    "logm": (lambda a: sl.logm(a), (np.eye(2),), "np.linalg.eigh"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_name_the_cure(name: str) -> None:
    function, args, cure = REFUSED[name]
    with pytest.raises(TraceError) as raised:
        gradc.compile(function)(*args)
    assert cure in str(raised.value)


MISFITS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "not square": (lambda a: LA.inv(a), (general(2, 3),)),
    "one axis": (lambda a: LA.det(a), (general(3),)),
    "right-hand side": (lambda a, b: LA.solve(a, b), (general(3, 3), general(2))),
    "a number": (lambda a, b: LA.solve(a, b), (general(3, 3), np.float64(1))),
    "stacks": (lambda a, b: LA.solve(a, b), (general(2, 3, 3), general(4, 3, 1))),
    "lstsq": (lambda a, b: LA.lstsq(a, b), (general(2, 3, 3), general(3))),
}


@pytest.mark.parametrize("name", MISFITS)
def test_misfits_show_the_types(name: str) -> None:
    function, args = MISFITS[name]
    with pytest.raises(ShapeError) as raised:
        gradc.compile(function)(*args)
    assert isinstance(raised.value, GradcError)
    assert all(f"f64{list(x.shape) or ''}".replace(" ", "") in str(raised.value) for x in args)
