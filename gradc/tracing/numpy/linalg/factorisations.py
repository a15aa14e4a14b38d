"""np.linalg's factorisations: cholesky, qr, eigh and svd, with their short forms.

Of a symmetric matrix one triangle is read, and the gradient is by what is read: zero for the other
one. Vectors of a repeated eigenvalue or singular value are not determined, and a derivative that
asks for them is not finite; the values' own derivatives do not ask.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.tracing.building.by_name import refuse
from gradc.tracing.core.source import trace_error
from gradc.tracing.numpy.linalg.completing import completed
from gradc.tracing.numpy.linalg.stacks import Stacks, one_stack
from gradc.tracing.registry.numpy_function import numpy_function
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.graphs.matrices import rows, scale_columns, transposed

_RESULTS: dict[str, Any] = {}


def named(name: str, *parts: Any) -> Any:
    """Return the named tuple that NumPy gives, e.g. ``EighResult``."""
    if not _RESULTS:
        for function in (np.linalg.eigh, np.linalg.qr, np.linalg.slogdet, np.linalg.svd):
            made = type(function(np.eye(1)))
            _RESULTS[made.__name__] = made
    return _RESULTS[name](*parts)


@numpy_function("linalg.cholesky")
def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    """Record ``np.linalg.cholesky``: nan where a matrix is not positive definite."""
    stacks, x = one_stack("np.linalg.cholesky", a, square=True)
    if upper:
        return stacks.result(transposed(build.cholesky(transposed(x))))
    return stacks.result(build.cholesky(x))


@numpy_function("linalg.qr")
def qr(a: Any, mode: str = "reduced") -> Any:
    """Record ``np.linalg.qr``."""
    stacks, x = one_stack("np.linalg.qr", a)
    if mode not in ("reduced", "complete", "r"):
        raise refuse(f"np.linalg.qr with mode={mode!r}", 'write mode="reduced"')
    q, r = complete_qr(x) if mode == "complete" else build.qr(x)
    if mode == "r":
        return stacks.result(r)
    return named("QRResult", stacks.result(q), stacks.result(r))


def complete_qr(x: Value) -> tuple[Value, Value]:
    """Return Q as a square, and R with a row for each of its columns."""
    q, r = build.qr(x)
    rank = x.type.rank
    return completed(q), build.pad(r, (0,) * rank, x.type.shape, (1,) * rank)


def _eigh(name: str, a: Any, UPLO: str) -> tuple[Stacks, Value, Value]:
    if UPLO.upper() not in ("L", "U"):
        raise trace_error(f"{name}: UPLO is 'L' or 'U', not {UPLO!r}")
    stacks, x = one_stack(name, a, square=True)
    w, v = build.eigh(x, lower=UPLO.upper() == "L")
    return stacks, w, v


@numpy_function("linalg.eigh")
def eigh(a: Any, UPLO: str = "L") -> Any:
    """Record ``np.linalg.eigh``."""
    stacks, w, v = _eigh("np.linalg.eigh", a, UPLO)
    return named("EighResult", stacks.result(w), stacks.result(v))


@numpy_function("linalg.eigvalsh")
def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    """Record ``np.linalg.eigvalsh``."""
    stacks, w, _ = _eigh("np.linalg.eigvalsh", a, UPLO)
    return stacks.result(w)


@numpy_function("linalg.svd")
def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """Record ``np.linalg.svd``."""
    stacks, x = one_stack("np.linalg.svd", a, square=hermitian)
    if not compute_uv:
        return stacks.result(singular_values(x, hermitian))
    parts = vectors_and_values(x, full_matrices, hermitian)
    return named("SVDResult", *map(stacks.result, parts))


def vectors_and_values(
    x: Value, full_matrices: bool, hermitian: bool = False
) -> tuple[Value, Value, Value]:
    """Return U, s and Vᵀ, with U and V completed to squares if they shall be full."""
    if hermitian:
        # as NumPy: the signs of the eigenvalues go to Vᵀ, the largest in size come first
        w, v = build.eigh(x)
        order = build.argsort(-build.abs(w), w.type.rank - 1)
        w, v = rows(w, order), transposed(rows(transposed(v), order))
        return v, build.abs(w), transposed(scale_columns(v, build.sign(w)))
    u, s, vt = build.svd(x)
    if full_matrices:
        u, vt = completed(u), transposed(completed(transposed(vt)))
    return u, s, vt


def singular_values(x: Value, hermitian: bool = False) -> Value:
    """Return the singular values, descending."""
    if not hermitian:
        return build.svd(x)[1]
    w, _ = build.eigh(x)
    return rows(build.abs(w), build.argsort(-build.abs(w), w.type.rank - 1))


@numpy_function("linalg.svdvals")
def svdvals(x: Any, /) -> Any:
    """Record ``np.linalg.svdvals``."""
    stacks, value = one_stack("np.linalg.svdvals", x)
    return stacks.result(singular_values(value))
