"""Solves with sparse matrices in traced code: by SuperLU, which kernels call back.

Where A x = b, a change of both changes x by dx with A dx = db - dA x, a solve with the
same factors. Reverse mode solves with the transposed matrix, by the same factors too.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from gradc.custom.custom_gradient import CustomGradient
from gradc.scipy.sparse.captured import constant
from gradc.scipy.sparse.matrix import SparseMatrix
from gradc.scipy.sparse.products import picked, product
from gradc.solving.called_back import called_back
from gradc.tracing import call
from gradc.tracing.building.by_name import array, numpy, refuse
from gradc.tracing.core.promote import unify
from gradc.tracing.core.source import dtype_error, shape_error
from gradc.tracing.registry.scipy_function import scipy_function
from gradc_ir.core.types import Array

_splu: Any = scipy.sparse.linalg.splu
_ORDERS = ("NATURAL", "MMD_ATA", "MMD_AT_PLUS_A", "COLAMD")


class _Factors(threading.local):
    """The last matrix of a thread, and its factors: derivatives solve with the same ones."""

    def __init__(self) -> None:
        self._of: tuple[Any, ...] = ()
        self._made: Any = None

    def find(self, order: str, size: int, *parts: Array) -> Any:
        """Return the factors of a matrix, or None where it is singular."""
        key = (order, size, *((part.dtype, part.shape, part.tobytes()) for part in parts))
        if key != self._of:
            data, rows, columns = parts
            matrix = scipy.sparse.csc_array((data, (rows, columns)), shape=(size, size))
            try:
                self._made = _splu(matrix, permc_spec=order)
            except RuntimeError:
                self._made = None
            self._of = key
        return self._made


_factors = _Factors()


def _solved(
    turned: bool, order: str, data: Array, rows: Array, columns: Array, right: Array
) -> Array:
    """Return the solution; nan for a singular matrix, as of SciPy's."""
    size = right.shape[0]
    if not size:
        return np.zeros_like(right)
    factors = _factors.find(order, size, data, rows, columns)
    if factors is None or not np.isfinite(data).all():
        return np.full_like(right, np.nan)
    found: Array = factors.solve(np.array(right), trans="T" if turned else "N")
    return found


@functools.cache
def _solver(dtype: str, rank: int, order: str, turned: bool) -> CustomGradient:
    """Return the function of elements, rows, columns and right sides to solutions."""
    right = f"{dtype}[n]" if rank == 1 else f"{dtype}[n,m]"
    places = "rows: i64[k], columns: i64[k]"
    spec = f"data: {dtype}[k], {places}, right: {right} -> {right}"

    def spsolve(data: Array, rows: Array, columns: Array, right: Array) -> Array:
        return _solved(turned, order, data, rows, columns, right)

    run = called_back(spsolve, spec)

    def record(data: Any, rows: Any, columns: Any, right: Any) -> Any:
        return call(run, data, rows, columns, right)

    solution = CustomGradient(record, "spsolve")

    def slopes(x: Any, weights: Any, rows: Any, columns: Any) -> Any:
        places = (columns, rows) if turned else (rows, columns)
        found: Any = numpy.multiply(picked(weights, places[0]), picked(x, places[1]))
        return -(found if rank == 1 else numpy.sum(found, axis=1))

    @solution.def_jvp
    def push(tangents: Any, data: Any, rows: Any, columns: Any, right: Any) -> Any:
        x = solution(data, rows, columns, right)
        places = (columns, rows) if turned else (rows, columns)
        size = x.type.shape[0]
        moved = tangents[3] - product("A", (size, size), tangents[0], *places, x)
        return solution(data, rows, columns, moved)

    @solution.def_vjp
    def pull(upstream: Any, data: Any, rows: Any, columns: Any, right: Any) -> Any:
        x = solution(data, rows, columns, right)
        weights = _solver(dtype, rank, order, not turned)(data, rows, columns, upstream)
        return slopes(x, weights, rows, columns), None, None, weights

    return solution


def solved(name: str, A: Any, b: Any, order: str = "COLAMD", turned: bool = False) -> Any:
    """Return the solution of equations with a sparse matrix, for one right side or several."""
    matrix = constant(A)
    if type(matrix) is not SparseMatrix:
        raise refuse(f"{name} of a dense matrix", "write np.linalg.solve(A, b)")
    if scipy.sparse.issparse(b):
        raise refuse(f"{name} of a sparse right side", "make it dense: b.toarray()")
    right = array(b)
    height, width = matrix.shape
    if height != width or right.ndim not in (1, 2):
        raise shape_error(f"{name}: A has shape {matrix.shape}, b is {right.type}")
    unify(
        right.type.shape[0],
        height,
        lambda: shape_error(f"{name}: A has shape {matrix.shape}, b is {right.type}"),
    )
    if order not in _ORDERS:
        raise dtype_error(f"{name}: permc_spec is {order!r:.40}", help=f"write one of {_ORDERS}")
    dtype = np.result_type(matrix.dtype, right.dtype)
    dtype = dtype if dtype == np.float32 else np.dtype(np.float64)
    words = "f32" if dtype == np.float32 else "f64"
    solution = _solver(words, right.ndim, order, turned)
    places = [
        array(one).astype(np.int64) for one in (matrix.structure.rows, matrix.structure.columns)
    ]
    return solution(matrix.elements.astype(dtype), *places, right.astype(dtype))


@scipy_function("sparse.linalg.spsolve")
def spsolve(A: Any, b: Any, permc_spec: Any = None, use_umfpack: bool = True) -> Any:
    """Record ``scipy.sparse.linalg.spsolve``: by SuperLU."""
    return solved("scipy.sparse.linalg.spsolve", A, b, permc_spec or "COLAMD")


@scipy_function("sparse.linalg.factorized")
def factorized(A: Any) -> Callable[[Any], Any]:
    """Record ``scipy.sparse.linalg.factorized``."""
    return lambda b: solved("scipy.sparse.linalg.factorized", A, b)


class Factors:
    """What ``splu`` returns in traced code."""

    def __init__(self, A: Any, order: str) -> None:
        self._matrix, self._order = A, order

    def solve(self, rhs: Any, trans: str = "N") -> Any:
        """Return the solution with the matrix, or with its transpose."""
        if trans not in ("N", "T", "H"):
            raise shape_error(f'splu(A).solve: trans is {trans!r:.20}, and is to be "N" or "T"')
        return solved("scipy.sparse.linalg.splu", self._matrix, rhs, self._order, trans != "N")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise refuse(f"splu(A).{name}", "of the factors there is solve(b) alone")


@scipy_function("sparse.linalg.splu")
def splu(A: Any, permc_spec: Any = None) -> Factors:
    """Record ``scipy.sparse.linalg.splu``, of whose result there is ``solve``."""
    return Factors(A, permc_spec or "COLAMD")
