"""Matrices outside of the function: how traced code sees them, and constants among them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import scipy.sparse

from gradc.scipy.sparse.coordinates import PARTS, READ, Coordinates, PartOf
from gradc.scipy.sparse.matrix import SparseMatrix
from gradc.scipy.sparse.structure import Structure
from gradc.tracing.captured.captures import Guard, SameElements
from gradc.tracing.core.state import Lens
from gradc.tracing.core.tracer import make_known
from gradc.tracing.registry.scipy_function import CAPTURED, MAKERS
from gradc_ir.core.types import _FROM_NUMPY as _SUPPORTED
from gradc_ir.core.types import Array


def _is_sparse(value: Any) -> bool:
    return type(value) is not SparseMatrix and bool(scipy.sparse.issparse(value))


def _is_matrix(value: Any) -> bool:
    return _is_sparse(value) and value.ndim == 2 and value.dtype in _SUPPORTED


def captured(
    value: Any, name: str, fetch: Callable[[], Any], outside: Callable[[], Any], lens: Lens
) -> Any:
    """Return what stands for a matrix that ``fetch`` finds again; None for all else.

    Its numbers, rows and columns are hidden inputs. A matrix whose elements are no such arrays is
    left to what stands for it ``outside``.
    """
    if not _is_sparse(value):
        return None
    if not _is_matrix(value) or value.format not in READ:
        return outside()
    if lens.trace is not None:
        lens.trace.keep_not(f"it reads {name}, a sparse matrix")
    coordinates = Coordinates(fetch)
    key = id(coordinates)  # which the captures keep alive
    lens.guard((key, "shape"), Guard(f"{name}.shape", _shape(value), lambda: _shape(fetch())))
    arrays = []
    for part in PARTS:
        read = PartOf(coordinates, part)
        arrays.append(lens.captured(read(), (key, part), f"{name}.{part}", read))

    def known() -> tuple[Array, Array]:
        found = []
        for part in PARTS[1:]:
            read = PartOf(coordinates, part)
            found.append(read().copy())
            lens.guard((key, f"{part} known"), SameElements(f"{name}.{part}", found[-1], read))
        return found[0], found[1]

    return SparseMatrix(
        name,
        isinstance(value, scipy.sparse.sparray),
        value.format,
        arrays[0],
        Structure(_shape(value), arrays[1], arrays[2], known),
        value.format not in ("dia", "bsr"),
        outside,
    )


def constant(value: Any) -> Any:
    """Return what stands for a matrix that is known while tracing; all else as it is."""
    if not _is_matrix(value):
        return value
    given = value.tocoo() if value.format not in ("csr", "csc") else value
    coordinates = Coordinates(lambda: given)
    data, rows, columns = (coordinates.read(part).copy() for part in PARTS)
    places = make_known(rows), make_known(columns)
    return SparseMatrix(
        f"a {type(value).__name__}",
        isinstance(value, scipy.sparse.sparray),
        value.format,
        make_known(data),
        Structure(_shape(value), *places, lambda: (rows, columns), _starts(given)),
        value.format in ("csr", "csc", "coo"),
    )


def _starts(matrix: Any) -> Any:
    return make_known(matrix.indptr.copy()) if matrix.format in ("csr", "csc") else None


def _shape(value: Any) -> tuple[int, int]:
    height, width = value.shape
    return int(height), int(width)


CAPTURED.append(captured)
MAKERS.append(constant)
