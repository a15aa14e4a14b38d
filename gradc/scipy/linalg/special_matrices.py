"""Matrices of scipy.linalg that only arrange the elements of vectors and matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.tracing.building.by_name import array, numpy
from gradc.tracing.core.source import shape_error
from gradc.tracing.numpy.shape import shaping
from gradc.tracing.registry.scipy_function import scipy_function


def _vector(name: str, x: Any) -> Any:
    found = array(x)
    if found.ndim != 1:
        raise shape_error(f"scipy.linalg.{name} takes vectors", found=f"{found.type}")
    return found


def places_in(rows: Any, columns: Any) -> tuple[Any, Any]:
    """Return the row and the column of each element of a matrix, to be broadcast."""
    return numpy.arange(rows)[:, None], numpy.arange(columns)[None, :]


@scipy_function("linalg.toeplitz")
def toeplitz(c: Any, r: Any = None) -> Any:
    """Record ``scipy.linalg.toeplitz``: constant diagonals, by the first column and row."""
    column = _vector("toeplitz", c)
    row = column if r is None else _vector("toeplitz", r)
    values: Any = shaping.concatenate([column[::-1], row[1:]], 0)
    i, j = places_in(column.shape[0], row.shape[0])
    return values[column.shape[0] - 1 - i + j]


@scipy_function("linalg.hankel")
def hankel(c: Any, r: Any = None) -> Any:
    """Record ``scipy.linalg.hankel``: constant antidiagonals, by the first column and last row."""
    column = _vector("hankel", c)
    row = numpy.zeros_like(column) if r is None else _vector("hankel", r)
    values: Any = shaping.concatenate([column, row[1:]], 0)
    i, j = places_in(column.shape[0], row.shape[0])
    return values[i + j]


@scipy_function("linalg.circulant")
def circulant(c: Any) -> Any:
    """Record ``scipy.linalg.circulant``: each column is the one before, moved down by one."""
    column = _vector("circulant", c)
    size = column.shape[0]
    i, j = places_in(size, size)
    return column[(i - j) % size]


@scipy_function("linalg.companion")
def companion(a: Any) -> Any:
    """Record ``scipy.linalg.companion``: the matrix whose eigenvalues are a polynomial's roots."""
    p = _vector("companion", a)
    first = array(-p[1:] / (1.0 * p[0]))
    size = first.shape[0]
    below = array(numpy.eye(size, k=-1, dtype=first.dtype))
    return shaping.concatenate([first[None], below[1:]], 0)


@scipy_function("linalg.block_diag")
def block_diag(*arrs: Any) -> Any:
    """Record ``scipy.linalg.block_diag``: matrices along a diagonal, zeros beside them."""
    blocks = [array(numpy.atleast_2d(array(block))) for block in arrs]
    if not blocks:
        return np.zeros((1, 0))
    for block in blocks:
        if block.ndim > 2:
            raise shape_error(
                "scipy.linalg.block_diag takes matrices",
                found=f"{block.type}",
            )
    rows = []
    for i, block in enumerate(blocks):
        height = block.shape[0]
        row = [
            block if i == j else numpy.zeros((height, other.shape[1]), dtype=block.dtype)
            for j, other in enumerate(blocks)
        ]
        rows.append(shaping.concatenate(row, 1))
    return shaping.concatenate(rows, 0)


@scipy_function("linalg.khatri_rao")
def khatri_rao(a: Any, b: Any) -> Any:
    """Record ``scipy.linalg.khatri_rao``: the Kronecker product of each pair of columns."""
    x, y = array(a), array(b)
    if x.ndim != 2 or y.ndim != 2:
        raise shape_error("scipy.linalg.khatri_rao takes matrices")
    product = array(x[:, None, :] * y[None, :, :])
    return product.reshape((x.shape[0] * y.shape[0], x.shape[1]))
