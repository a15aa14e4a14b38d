"""The equations of scipy.linalg: of full, triangular, banded and positive definite matrices."""

from __future__ import annotations

import functools
from typing import Any

from gradc.scipy.linalg.special_matrices import places_in, toeplitz
from gradc.tracing.building.by_name import array, number, numpy, refuse
from gradc.tracing.core.source import shape_error
from gradc.tracing.numpy.linalg.solving import inverse, with_columns
from gradc.tracing.numpy.linalg.stacks import Stacks
from gradc.tracing.registry.scipy_function import scipy_function
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.graphs.matrices import diagonal, identity, mirrored, on_diagonal, transposed
from gradc_ir.graphs.matrices import lower as lower_triangle
from gradc_ir.graphs.matrices import upper as upper_triangle

_GENERAL = (None, "gen", "general", "banded", "tridiagonal")
_SYMMETRIC = ("sym", "her", "symmetric", "hermitian")
_POSITIVE = ("pos", "positive definite")


def by_cholesky(factor: Value, right: Value, lower: bool) -> Value:
    """Return the solution of L Lᵀ x = b, or of Uᵀ U x = b."""
    first = build.triangular_solve(factor, right, lower=lower, transposed=not lower)
    return build.triangular_solve(factor, first, lower=lower, transposed=lower)


def _solved(matrix: Value, right: Value, assume: Any, lower: bool, transposed_too: bool) -> Value:
    if assume in _POSITIVE:
        return by_cholesky(build.cholesky(matrix if lower else transposed(matrix)), right, True)
    if assume in _SYMMETRIC:
        return build.solve(mirrored(matrix, lower), right)
    if assume == "diagonal":
        entries = diagonal(matrix)
        rank = right.type.rank
        return right / build.broadcast(entries, right.type.shape, tuple(range(rank - 1)))
    if assume in ("upper triangular", "lower triangular"):
        return build.triangular_solve(
            matrix, right, lower=assume == "lower triangular", transposed=transposed_too
        )
    if assume not in _GENERAL:
        raise refuse(f"scipy.linalg.solve with assume_a={assume!r}", 'write assume_a="gen"')
    if assume == "tridiagonal":
        matrix = lower_triangle(upper_triangle(matrix, -1), -1)
    return build.solve(matrix, right, transposed=transposed_too)


@scipy_function("linalg.solve")
def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    assume_a: Any = None,
    transposed: bool = False,
) -> Any:
    """Record ``scipy.linalg.solve``: nan where the matrix is singular, or not what is assumed."""
    stacks = Stacks("scipy.linalg.solve", a, b, double=False)
    return with_columns(stacks, lambda m, r: _solved(m, r, assume_a, lower, transposed))


def inverse_of(x: Value, assume: Any, lower: bool) -> Value:
    """Return the inverses of matrices of a structure."""
    if assume in _GENERAL:
        return inverse(x)
    found = _solved(x, identity(x.type.shape, x.type.dtype), assume, lower, False)
    if assume == "diagonal":
        return build.select(on_diagonal(x.type.shape), found, build.zeros_like(found))
    return found


@scipy_function("linalg.solve_triangular")
def solve_triangular(
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """Record ``scipy.linalg.solve_triangular``: not finite where a diagonal element is zero."""
    stacks = Stacks("scipy.linalg.solve_triangular", a, b, double=False)
    solved = functools.partial(
        build.triangular_solve, lower=lower, transposed=trans not in (0, "N"), unit=unit_diagonal
    )
    return with_columns(stacks, solved)


@scipy_function("linalg.cho_solve")
def cho_solve(
    c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """Record ``scipy.linalg.cho_solve``: of what ``cho_factor`` gives."""
    factor, lower = c_and_lower
    stacks = Stacks("scipy.linalg.cho_solve", factor, b, double=False)
    return with_columns(stacks, lambda c, r: by_cholesky(c, r, bool(lower)))


# -- banded ----------------------------------------------------------------------------------------


def _from_bands(bands: Any, below: int, above: int) -> Any:
    """Return the matrix whose element (i, j) is ``bands[above + i - j, j]``, zero beside them."""
    row, column = places_in(bands.shape[1], bands.shape[1])
    place = above + row - column
    inside = (place >= 0) & (place <= below + above)
    return numpy.where(inside, bands[numpy.clip(place, 0, below + above), column], 0.0)


def _bands(name: str, ab: Any, count: int) -> Any:
    bands = array(ab)
    if bands.ndim != 2 or number(bands.shape[0], name) != count:
        raise shape_error(
            f"{name}: the bands are a matrix of {count} rows",
            found=f"{bands.type}",
        )
    return bands


@scipy_function("linalg.solve_banded")
def solve_banded(
    l_and_u: Any,
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """Record ``scipy.linalg.solve_banded``, by the full matrix."""
    name = "scipy.linalg.solve_banded"
    below, above = (number(part, name) for part in l_and_u)
    return solve(_from_bands(_bands(name, ab, below + above + 1), below, above), b)


@scipy_function("linalg.solveh_banded")
def solveh_banded(
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    lower: bool = False,
    check_finite: bool = True,
) -> Any:
    """Record ``scipy.linalg.solveh_banded``, by the full matrix."""
    name = "scipy.linalg.solveh_banded"
    width = number(array(ab).shape[0], name) - 1
    bands = _bands(name, ab, width + 1)
    full = _from_bands(bands, *((width, 0) if lower else (0, width)))
    return solve(full, b, lower=lower, assume_a="pos")


@scipy_function("linalg.solve_toeplitz")
def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Any:
    """Record ``scipy.linalg.solve_toeplitz``, by the full matrix."""
    parts = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr,)
    return solve(array(toeplitz(*parts)).astype(float), array(b).astype(float))


# -- matrix equations ------------------------------------------------------------------------------


def _by_rows(name: str, left: Any, right: Any) -> Any:
    """Solve for a matrix whose rows, one after another, are the unknowns."""
    rows, columns = (number(size, name) for size in array(right).shape)
    flat = array(right).reshape((rows * columns,))
    return array(solve(left, flat)).reshape((rows, columns))


def _unit(size: Any, like: Any) -> Any:
    return numpy.eye(size, dtype=like.dtype)


@scipy_function("linalg.solve_sylvester")
def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """Record ``scipy.linalg.solve_sylvester``: a x + x b = q, as one system of equations."""
    x, y = array(a), array(b)
    system = numpy.kron(x, _unit(y.shape[0], y)) + numpy.kron(_unit(x.shape[0], x), y.T)
    return _by_rows("scipy.linalg.solve_sylvester", system, q)


@scipy_function("linalg.solve_continuous_lyapunov")
def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    """Record ``scipy.linalg.solve_continuous_lyapunov``: a x + x aᵀ = q."""
    return solve_sylvester(a, array(a).T, q)


@scipy_function("linalg.solve_discrete_lyapunov")
def solve_discrete_lyapunov(a: Any, q: Any, method: Any = None) -> Any:
    """Record ``scipy.linalg.solve_discrete_lyapunov``: a x aᵀ - x + q = 0."""
    x = array(a)
    size = x.shape[0]
    system = _unit(size * size, x) - numpy.kron(x, x)
    return _by_rows("scipy.linalg.solve_discrete_lyapunov", system, q)
