"""The factorisations of scipy.linalg, and what NumPy has as well."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.scipy.linalg.equations import inverse_of
from gradc.scipy.linalg.pivots import order_of, pivots_of
from gradc.tracing.building.by_name import array, number, refuse
from gradc.tracing.numpy.linalg.determinants import determinant
from gradc.tracing.numpy.linalg.factorisations import (
    complete_qr,
    singular_values,
    vectors_and_values,
)
from gradc.tracing.numpy.linalg.least_squares import (
    Cutoff,
    counted,
    fitted,
    fraction,
    pseudo_inverse,
    relative,
)
from gradc.tracing.numpy.linalg.norms import norm as matrix_norm
from gradc.tracing.numpy.linalg.solving import with_columns
from gradc.tracing.numpy.linalg.stacks import Stacks, one_stack
from gradc.tracing.registry.scipy_function import scipy_function
from gradc_ir import build
from gradc_ir.core import sizes
from gradc_ir.core.graph import Value
from gradc_ir.core.types import DType
from gradc_ir.graphs.matrices import (
    identity,
    matrix_product,
    mirrored,
    on_diagonal,
    rows_put_back,
    solution_with_order,
    solve_right,
    transposed,
    window,
)
from gradc_ir.graphs.matrices import lower as lower_triangle
from gradc_ir.graphs.matrices import upper as upper_triangle


def _given(name: str, *given: Any) -> Stacks:
    return Stacks(f"scipy.linalg.{name}", *given, double=False)


def _one_matrix(name: str, a: Any, *, square: bool = False) -> tuple[Stacks, Value]:
    return one_stack(f"scipy.linalg.{name}", a, square=square, double=False)


@scipy_function("linalg.cholesky")
def cholesky(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """Record ``scipy.linalg.cholesky``: the upper factor by default; nan where there is none."""
    stacks, x = _one_matrix("cholesky", a, square=True)
    return stacks.result(_factor(x, lower))


def _factor(x: Value, lower: bool) -> Value:
    return build.cholesky(x) if lower else transposed(build.cholesky(transposed(x)))


@scipy_function("linalg.cho_factor")
def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """Record ``scipy.linalg.cho_factor``: the other triangle is that of the matrix, as SciPy's."""
    stacks, x = _one_matrix("cho_factor", a, square=True)
    rest = upper_triangle(x, 1) if lower else lower_triangle(x, 1)
    return stacks.result(_factor(x, lower) + rest), lower


@scipy_function("linalg.lu")
def lu(
    a: Any,
    permute_l: bool = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
    p_indices: bool = False,
) -> Any:
    """Record ``scipy.linalg.lu``: P, L and U; P L and U; or p with a = L[p] U."""
    stacks, x = _one_matrix("lu", a)
    factors, order = build.lu(x)
    height, width = x.type.shape[-2:]
    k = sizes.minimum(height, width)
    below = window(lower_triangle(factors, 1), height, k)
    below = build.select(on_diagonal(below.type.shape), build.ones_like(below), below)
    above = stacks.result(window(upper_triangle(factors), k, width))
    if permute_l:
        return stacks.result(rows_put_back(below, order)), above
    if p_indices:
        places = build.argsort(order, order.type.rank - 1)
        return stacks.result(build.cast(places, DType.I32)), stacks.result(below), above
    unit = identity((*x.type.shape[:-1], height), x.type.dtype)
    return stacks.result(rows_put_back(unit, order)), stacks.result(below), above


@scipy_function("linalg.lu_factor")
def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Record ``scipy.linalg.lu_factor``: L and U in one matrix, and LAPACK's exchanges of rows."""
    stacks, x = _one_matrix("lu_factor", a)
    steps = min(number(size, "scipy.linalg.lu_factor") for size in stacks.arrays[0].shape[-2:])
    factors, order = build.lu(x)
    return stacks.result(factors), stacks.result(pivots_of(order, steps))


@scipy_function("linalg.lu_solve")
def lu_solve(
    lu_and_piv: Any, b: Any, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """Record ``scipy.linalg.lu_solve``: of what ``lu_factor`` gives."""
    given, pivots = lu_and_piv
    stacks = _given("lu_solve", given, b)
    order = order_of(pivots)
    return with_columns(
        stacks,
        lambda f, r: solution_with_order(
            f, build.broadcast_to(order, f.type.shape[:-1]), r, from_transposed=bool(trans)
        ),
    )


@scipy_function("linalg.qr")
def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> Any:
    """Record ``scipy.linalg.qr``, without pivoting."""
    stacks, x = _one_matrix("qr", a)
    if pivoting or mode not in ("full", "economic", "r"):
        what = "pivoting=True" if pivoting else f"mode={mode!r}"
        raise refuse(f"scipy.linalg.qr with {what}", 'write mode="economic"')
    if mode == "economic":
        return tuple(map(stacks.result, build.qr(x)))
    q, r = map(stacks.result, complete_qr(x))
    return (r,) if mode == "r" else (q, r)


@scipy_function("linalg.svd")
def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """Record ``scipy.linalg.svd``."""
    stacks, x = _one_matrix("svd", a)
    if not compute_uv:
        return stacks.result(singular_values(x))
    return tuple(map(stacks.result, vectors_and_values(x, full_matrices)))


@scipy_function("linalg.svdvals")
def svdvals(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Record ``scipy.linalg.svdvals``."""
    return svd(a, compute_uv=False)


@scipy_function("linalg.eigh")
def eigh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: Any = None,
) -> Any:
    """Record ``scipy.linalg.eigh``, of all eigenvalues; with ``b`` those of a v = w b v."""
    if subset_by_index is not None or subset_by_value is not None or type != 1:
        raise refuse("scipy.linalg.eigh of some eigenvalues, or of another type than 1",
                     "compute all eigenvalues and take some of them")  # fmt: skip
    stacks = _given("eigh", *((a,) if b is None else (a, b)))
    x, *other = stacks.matrices(square=True)
    if not other:
        w, v = build.eigh(x, lower=lower)
    else:
        x, y = stacks.together(mirrored(x, lower), other[0])
        factor = build.cholesky(y if lower else transposed(y))
        inner = solve_right(
            build.triangular_solve(factor, x, lower=True), factor, transposed_too=True, lower=True
        )
        w, v = build.eigh(inner)
        v = build.triangular_solve(factor, v, lower=True, transposed=True)
    return stacks.result(w) if eigvals_only else (stacks.result(w), stacks.result(v))


@scipy_function("linalg.eigvalsh")
def eigvalsh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: Any = None,
) -> Any:
    """Record ``scipy.linalg.eigvalsh``, of all eigenvalues."""
    return eigh(a, b, lower=lower, eigvals_only=True, type=type,
                subset_by_index=subset_by_index, subset_by_value=subset_by_value)  # fmt: skip


@scipy_function("linalg.det")
def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Record ``scipy.linalg.det``, a float64 in any case."""
    stacks, x = one_stack("scipy.linalg.det", a, square=True)
    stacks.dtype = DType.F64
    return stacks.result(determinant(x))


@scipy_function("linalg.inv")
def inv(
    a: Any,
    overwrite_a: bool = False,
    check_finite: bool = True,
    *,
    assume_a: Any = None,
    lower: bool = False,
) -> Any:
    """Record ``scipy.linalg.inv``: nan where the matrix is singular."""
    stacks, x = _one_matrix("inv", a, square=True)
    return stacks.result(inverse_of(x, assume_a, lower))


@scipy_function("linalg.pinv")
def pinv(
    a: Any, *, atol: Any = None, rtol: Any = None, return_rank: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    """Record ``scipy.linalg.pinv``; the rank is a result where it is asked for."""
    stacks, x = _one_matrix("pinv", a)
    part = relative(fraction(rtol, "scipy.linalg.pinv: rtol"), x)
    least = fraction(atol, "scipy.linalg.pinv: atol")
    cutoff: Cutoff = part if least is None else lambda s: part(s) + least
    found = stacks.result(pseudo_inverse(x, cutoff))
    if not return_rank:
        return found
    counts = build.cast(counted(singular_values(x), cutoff), DType.I64)
    return found, stacks.result(build.reduce_sum(counts, (counts.type.rank - 1,)))


@scipy_function("linalg.lstsq")
def lstsq(
    a: Any,
    b: Any,
    cond: Any = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    lapack_driver: Any = None,
) -> Any:
    """Record ``scipy.linalg.lstsq``; residuals are nan where the rank is not full."""
    stacks = _given("lstsq", a, b)
    matrix, right = stacks.values
    epsilon = 2.0**-52 if matrix.type.dtype is DType.F64 else 2.0**-23
    part = epsilon if cond is None else fraction(cond, "scipy.linalg.lstsq: cond")
    x, rest, rank, s = fitted(stacks, matrix, right, relative(part, matrix))
    if rest.type.shape == (1,) and right.type.rank == 1:
        rest = build.reshape(rest, ())
    found = stacks.result(x), stacks.result(rest), stacks.result(build.cast(rank, DType.I64))
    if lapack_driver == "gelsy":
        raise refuse('scipy.linalg.lstsq with lapack_driver="gelsy"', "leave it out")
    return (*found, stacks.result(s))


@scipy_function("linalg.norm")
def norm(
    a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True
) -> Any:
    """Record ``scipy.linalg.norm``."""
    found = matrix_norm(a, ord, axis, keepdims)
    if array(a).ndim == 2 and axis is None and not keepdims and ord in (1, np.inf):
        return array(found).astype(np.float64)  # LAPACK's function for it gives a double
    return found


@scipy_function("linalg.polar")
def polar(a: Any, side: str = "right") -> Any:
    """Record ``scipy.linalg.polar``: a = U P, or P U for the left side."""
    stacks, x = _one_matrix("polar", a)
    u, s, vt = build.svd(x)
    around = transposed(vt) if side == "right" else u
    stretched = build.broadcast(s, around.type.shape, (*range(s.type.rank - 1), s.type.rank))
    positive = matrix_product(around * stretched, transposed(around))
    return stacks.result(matrix_product(u, vt)), stacks.result(positive)


@scipy_function("linalg.orthogonal_procrustes")
def orthogonal_procrustes(A: Any, B: Any, check_finite: bool = True) -> Any:
    """Record ``scipy.linalg.orthogonal_procrustes``: the rotation R nearest to A R = B."""
    stacks = _given("orthogonal_procrustes", A, B)
    x, y = stacks.matrices()
    stacks.match(x.type.shape[-2], y.type.shape[-2], "the shapes differ")
    u, s, vt = build.svd(matrix_product(transposed(x), y))
    return stacks.result(matrix_product(u, vt)), stacks.result(build.reduce_sum(s, (0,)))
