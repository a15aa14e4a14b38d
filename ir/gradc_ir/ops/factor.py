"""Factorisations of matrices in the last two axes; the axes before them are a stack of matrices.

Nothing raises for what a matrix holds: where there is no factorisation the factors are nan.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradc_ir.core import sizes
from gradc_ir.core.op import TypeRule, declare
from gradc_ir.core.types import Array, DType, Type, Types
from gradc_ir.errors import DTypeError, ShapeError


def _matrix(name: str, x: Type, *, square: bool = False) -> Type:
    """Check that x is a stack of float matrices, square ones if asked for."""
    if not x.dtype.is_float:
        raise DTypeError(f"{name}: the matrix must be of floats", found=str(x))
    if x.rank < 2:
        raise ShapeError(f"{name}: a matrix has two axes", found=str(x))
    if square and x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"{name}: the matrix is not square", found=str(x))
    return x


def _or_nan(function: Callable[..., Any], x: Array) -> tuple[Array, ...]:
    """Apply one of NumPy's factorisations to a stack; nan for the matrices on which it fails."""

    def factors(part: Array) -> tuple[Array, ...]:
        found = function(part)
        return tuple(found) if isinstance(found, tuple) else (found,)

    with np.errstate(all="ignore"):
        try:
            return tuple(np.asarray(factor) for factor in factors(x))
        except np.linalg.LinAlgError:
            # the shapes of the factors are those of a matrix that has some
            like = factors(np.eye(*x.shape[-2:], dtype=x.dtype))
    stack = x.shape[:-2]
    made = tuple(np.full((*stack, *factor.shape), np.nan, x.dtype) for factor in like)
    for place in np.ndindex(stack):
        try:
            with np.errstate(all="ignore"):
                for target, factor in zip(made, factors(x[place])):
                    target[place] = factor
        except np.linalg.LinAlgError:
            continue
    return made


def _of_finite(function: Callable[..., Any], x: Array, read: Array) -> tuple[Array, ...]:
    """As :func:`_or_nan`, with nan for every matrix that is not finite where it is ``read``."""
    finite = np.all(np.isfinite(read), axis=(-2, -1))[..., None, None]
    factors = _or_nan(function, np.where(finite, x, np.zeros_like(x)))
    return tuple(
        np.where(finite if factor.ndim == x.ndim else finite[..., 0], factor, x.dtype.type(np.nan))
        for factor in factors
    )


def _cholesky(a: Array) -> Array:
    (found,) = _or_nan(np.linalg.cholesky, a)
    failed = np.any(np.isnan(np.diagonal(found, axis1=-2, axis2=-1)), -1)
    return np.where(failed[..., None, None], np.nan, found).astype(a.dtype)


declare(
    "cholesky",
    "factor",
    1,
    lambda a: (_matrix("cholesky", a, square=True),),
    _cholesky,
    summary="The lower factor L of a = L Lᵀ, by a's lower triangle; all nan where a is not "
    "positive definite.",
)


def _infer_lu(a: Type) -> Types:
    _matrix("lu", a)
    return a, Type(DType.I64, a.shape[:-1])


def _lu(a: Array) -> tuple[Array, Array]:
    """Eliminate column by column; a column without a pivot is left as it is."""
    packed = a.copy()
    *stack, rows, columns = a.shape
    order = np.empty((*stack, rows), np.int64)
    order[...] = np.arange(rows)
    with np.errstate(all="ignore"):
        for place in np.ndindex(*stack):
            f, permutation = packed[place], order[place]
            for k in range(min(rows, columns)):
                pivot = k + int(np.argmax(np.abs(f[k:, k])))
                f[[k, pivot]] = f[[pivot, k]]
                permutation[[k, pivot]] = permutation[[pivot, k]]
                if f[k, k] != 0:
                    f[k + 1 :, k] /= f[k, k]
                f[k + 1 :, k + 1 :] -= f[k + 1 :, k, None] * f[None, k, k + 1 :]
    return packed, order


declare(
    "lu",
    "factor",
    1,
    _infer_lu,
    _lu,
    summary="L below the diagonal (its own is 1) and U on and above it, and the order p of "
    "rows, such that a[p] = L U; the largest pivot of each column.",
)


def _infer_solution(name: str) -> TypeRule:
    def infer(a: Type, b: Type, **_: bool) -> Types:
        _matrix(name, a, square=True)
        _matrix(name, b)
        if a.dtype is not b.dtype:
            raise DTypeError(f"{name}: dtypes differ", found=f"{a} and {b}")
        if a.shape[:-1] != b.shape[:-1]:
            raise ShapeError(f"{name}: the right-hand sides do not fit", found=f"{a} and {b}")
        return (b,)

    return infer


def _triangular_solve(a: Array, b: Array, *, lower: bool, transposed: bool, unit: bool) -> Array:
    """Substitute one unknown after another, each into all the equations that are left."""
    matrix = np.swapaxes(a, -1, -2) if transposed else a
    forward = lower != transposed
    x = b.copy()
    n = a.shape[-1]
    with np.errstate(all="ignore"):
        for k in range(n) if forward else range(n - 1, -1, -1):
            if not unit:
                x[..., k, :] /= matrix[..., k, k, None]
            rest = slice(k + 1, n) if forward else slice(0, k)
            x[..., rest, :] -= matrix[..., rest, k, None] * x[..., None, k, :]
    return x


declare(
    "triangular_solve",
    "factor",
    2,
    _infer_solution("triangular_solve"),
    _triangular_solve,
    attributes=("lower", "transposed", "unit"),
    linear=(1,),
    summary="x of a x = b, or of aᵀ x = b if transposed; only the lower (or upper) triangle of "
    "a is read, and not its diagonal if that is unit.",
)


def _solve(a: Array, b: Array, *, transposed: bool) -> Array:
    f, order = _lu(a)
    lower = {"lower": True, "unit": True, "transposed": transposed}
    upper = {"lower": False, "unit": False, "transposed": transposed}
    rows = order[..., None]
    if transposed:
        y = _triangular_solve(f, _triangular_solve(f, b, **upper), **lower)
        x = np.empty_like(b)
        np.put_along_axis(x, np.broadcast_to(rows, b.shape), y, -2)
    else:
        y = np.take_along_axis(b, np.broadcast_to(rows, b.shape), -2)
        x = _triangular_solve(f, _triangular_solve(f, y, **lower), **upper)
    singular = np.any(np.diagonal(f, axis1=-2, axis2=-1) == 0, -1)
    return np.where(singular[..., None, None], np.nan, x).astype(b.dtype)


declare(
    "solve",
    "factor",
    2,
    _infer_solution("solve"),
    _solve,
    attributes=("transposed",),
    linear=(1,),
    summary="x of a x = b, or of aᵀ x = b if transposed, by lu; all nan where a pivot is 0.",
)


def _infer_qr(a: Type) -> Types:
    _matrix("qr", a)
    *stack, m, n = a.shape
    k = sizes.minimum(m, n)
    return a.with_shape((*stack, m, k)), a.with_shape((*stack, k, n))


declare(
    "qr",
    "factor",
    1,
    _infer_qr,
    lambda a: _or_nan(lambda part: tuple(np.linalg.qr(part)), a),
    summary="Q with orthonormal columns and the upper triangle R of a = Q R, min(m, n) columns "
    "and rows; signs as LAPACK's Householder reflections give them.",
)


def _infer_eigh(a: Type, **_: bool) -> Types:
    _matrix("eigh", a, square=True)
    return a.with_shape(a.shape[:-1]), a


def _eigh(a: Array, *, lower: bool) -> tuple[Array, ...]:
    read = np.tril(a) if lower else np.triu(a)
    return _of_finite(lambda part: tuple(np.linalg.eigh(part, "L" if lower else "U")), a, read)


declare(
    "eigh",
    "factor",
    1,
    _infer_eigh,
    _eigh,
    attributes=("lower",),
    summary="Eigenvalues, ascending, and orthonormal eigenvectors, as columns, of the symmetric "
    "matrix with a's lower (or upper) triangle; signs as LAPACK's syevd gives them for it.",
)


def _infer_svd(a: Type) -> Types:
    _matrix("svd", a)
    *stack, m, n = a.shape
    k = sizes.minimum(m, n)
    return (
        a.with_shape((*stack, m, k)),
        a.with_shape((*stack, k)),
        a.with_shape((*stack, k, n)),
    )


declare(
    "svd",
    "factor",
    1,
    _infer_svd,
    lambda a: _of_finite(lambda part: tuple(np.linalg.svd(part, full_matrices=False)), a, a),
    summary="U, the descending singular values, and Vᵀ of a = U diag(s) Vᵀ, min(m, n) of each.",
)
