"""Sparse matrices made in traced code, of numbers that may be traced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc.scipy.sparse.captured import constant
from gradc.scipy.sparse.coordinates import expanded
from gradc.scipy.sparse.matrix import SparseMatrix
from gradc.scipy.sparse.structure import Structure
from gradc.tracing.building.by_name import array, known, number, numpy, refuse
from gradc.tracing.core.source import shape_error
from gradc.tracing.core.tracer import Tracer
from gradc.tracing.registry.scipy_function import scipy_function
from gradc_ir.core.types import Array


def made(
    name: str,
    shape: Sequence[Any],
    data: Any,
    rows: Any,
    columns: Any,
    *,
    format: str = "coo",
    is_array: bool = True,
    starts: Any = None,
    is_stored: bool = True,
) -> SparseMatrix:
    """Return a matrix of elements at places."""
    places = array(rows), array(columns)
    whole = number(shape[0], name), number(shape[1], name)
    structure = Structure(whole, *places, _known(*places), starts)
    return SparseMatrix(name, is_array, format, array(data), structure, is_stored)


def _known(rows: Tracer, columns: Tracer) -> Callable[[], tuple[Array, Array]] | None:
    found = rows.known, columns.known
    if found[0] is None or found[1] is None:
        return None
    places = found[0], found[1]
    return lambda: places


def _constructor(format: str, is_array: bool) -> None:
    kind = f"{format}_{'array' if is_array else 'matrix'}"
    title = f"scipy.sparse.{kind}"

    def build(arg1: Any, shape: Any = None, dtype: Any = None, copy: bool = False) -> SparseMatrix:
        given = constant(arg1)
        if type(given) is SparseMatrix:
            found = given.asformat(format)._like(is_array=is_array)
        elif type(given) is tuple and len(given) == 2:
            data, places = given
            if shape is None:
                each = [known(one, f"the shape of {title}") for one in places]
                shape = [int(one.max(initial=-1)) + 1 for one in each]
            found = made(
                f"a {kind}", shape, data, *places,
                format=format, is_array=is_array, is_stored=format == "coo",
            )  # fmt: skip
        elif type(given) is tuple and len(given) == 3 and format != "coo":
            data, indices, starts = map(array, given)
            count = number(starts.shape[0], title) - 1
            if shape is None:
                other = known(indices, f"the shape of {title}").max(initial=-1) + 1
                shape = (count, other) if format == "csr" else (other, count)
            if number(shape[format != "csr"], title) != count:
                raise shape_error(
                    f"{title}: of shape {tuple(shape)}, and indptr has {count + 1} entries"
                )
            first = _expanded(starts, indices)
            where = (first, indices) if format == "csr" else (indices, first)
            found = made(
                f"a {kind}", shape, data, *where, format=format, is_array=is_array, starts=starts
            )
        else:
            raise refuse(
                f"{title} of what is not (data, (row, col))"
                + (" or (data, indices, indptr)" if format != "coo" else ""),
                "which elements a dense array has other than zero is not known while tracing: give "
                "them with their places, or make the matrix outside",
            )
        return found if dtype is None else found.astype(dtype)

    scipy_function(f"sparse.{kind}")(build)


def _expanded(starts: Any, indices: Any) -> Any:
    """Return the row of each element, from where the rows begin."""
    if starts.known is not None:
        return expanded(starts.known)
    places = numpy.arange(indices.shape[0], dtype=starts.dtype)
    return numpy.searchsorted(starts, places, side="right") - 1


for _format in ("csr", "csc", "coo"):
    for _is_array in (True, False):
        _constructor(_format, _is_array)


def _diagonals(
    name: str, diagonals: Any, offsets: Any, shape: Any, format: Any, dtype: Any, is_array: bool
) -> SparseMatrix:
    if np.ndim(offsets) == 0:
        offsets = [offsets]
        is_one = not isinstance(diagonals, list | tuple) or np.ndim(diagonals[0]) == 0
        diagonals = [diagonals] if is_one else diagonals
    places = [int(offset) for offset in known(offsets, f"the offsets of {name}")]
    parts = [numpy.atleast_1d(part) for part in diagonals]
    if len(parts) != len(places):
        raise shape_error(f"{name}: {len(parts)} diagonals and {len(places)} offsets")
    if shape is None:
        size = number(parts[0].shape[0], name) + abs(places[0])
        shape = (size, size)
    height, width = (number(size, name) for size in shape)
    data, rows = [], []
    for part, offset in zip(parts, places):
        length = min(height + min(offset, 0), width - max(offset, 0))
        own = number(part.shape[0], name)
        if length < 0 or own not in (length, 1):
            raise shape_error(
                f"{name}: the diagonal {offset} of shape {(height, width)} has {max(length, 0)} "
                f"elements, and is given {own}"
            )
        data.append(numpy.broadcast_to(part, (length,)))
        rows.append(np.arange(length) - min(offset, 0))
    columns = [row + offset for row, offset in zip(rows, places)]
    found = made(
        f"a {'dia_array' if is_array else 'dia_matrix'}",
        (height, width),
        numpy.concatenate(data),
        np.concatenate(rows),
        np.concatenate(columns),
        format=format or "dia",
        is_array=is_array,
        is_stored=False,
    )
    return found if dtype is None else found.astype(dtype)


@scipy_function("sparse.diags_array")
def diags_array(
    diagonals: Any, /, *, offsets: Any = 0, shape: Any = None, format: Any = None, dtype: Any = None
) -> SparseMatrix:
    """Record ``scipy.sparse.diags_array``."""
    name = "scipy.sparse.diags_array"
    return _diagonals(name, diagonals, offsets, shape, format, dtype, is_array=True)


@scipy_function("sparse.diags")
def diags(
    diagonals: Any, offsets: Any = 0, shape: Any = None, format: Any = None, dtype: Any = None
) -> SparseMatrix:
    """Record ``scipy.sparse.diags``."""
    return _diagonals(
        "scipy.sparse.diags", diagonals, offsets, shape, format, dtype, is_array=False
    )


@scipy_function("sparse.block_array", "sparse.bmat")
def block_array(blocks: Any, format: Any = None, dtype: Any = None) -> SparseMatrix:
    """Record ``scipy.sparse.block_array``: blocks in rows, None for zeros."""
    name = "scipy.sparse.block_array"
    rows = [[_block(name, one) for one in row] for row in blocks]
    columns = list(zip(*rows, strict=True))
    heights = [_length(name, row, 0) for row in rows]
    widths = [_length(name, column, 1) for column in columns]
    parts: list[tuple[Any, Any, Any]] = []
    for i, row in enumerate(rows):
        for j, one in enumerate(row):
            if one is not None:
                places = one.structure
                above, left = sum(heights[:i]), sum(widths[:j])
                parts.append((one.elements, places.rows + above, places.columns + left))
    data, down, right = (numpy.concatenate(list(each)) for each in zip(*parts))
    given = [one for row in rows for one in row if one is not None]
    found = made(
        "a block array",
        (sum(heights), sum(widths)),
        data,
        down,
        right,
        format=format or "coo",
        is_array=any(one.is_array for one in given),
        is_stored=False,
    )
    return found if dtype is None else found.astype(dtype)


def _block(name: str, value: Any) -> SparseMatrix | None:
    found = constant(value)
    if found is None or type(found) is SparseMatrix:
        return found
    dense = array(value)
    if dense.ndim != 2:
        raise shape_error(f"{name}: a block has {dense.ndim} axes")
    height, width = (number(size, name) for size in dense.shape)
    rows, columns = np.divmod(np.arange(height * width), width)
    return made("a block", (height, width), dense.reshape(-1), rows, columns)


def _length(name: str, blocks: Sequence[SparseMatrix | None], axis: int) -> int:
    found = {one.shape[axis] for one in blocks if one is not None}
    if len(found) != 1:
        raise shape_error(
            f"{name}: {'blocks side by side' if axis == 0 else 'blocks on top of each other'} have "
            f"{'rows' if axis == 0 else 'columns'} of {sorted(found) or 'no'} lengths",
        )
    return found.pop()


@scipy_function("sparse.hstack")
def hstack(blocks: Any, format: Any = None, dtype: Any = None) -> SparseMatrix:
    """Record ``scipy.sparse.hstack``."""
    return block_array([list(blocks)], format, dtype)


@scipy_function("sparse.vstack")
def vstack(blocks: Any, format: Any = None, dtype: Any = None) -> SparseMatrix:
    """Record ``scipy.sparse.vstack``."""
    return block_array([[one] for one in blocks], format, dtype)


@scipy_function("sparse.block_diag")
def block_diag(mats: Any, format: Any = None, dtype: Any = None) -> SparseMatrix:
    """Record ``scipy.sparse.block_diag``."""
    blocks = [[None] * i + [one] + [None] * (len(mats) - i - 1) for i, one in enumerate(mats)]
    return block_array(blocks, format, dtype)


@scipy_function("sparse.issparse")
def issparse(x: Any) -> bool:
    """Record ``scipy.sparse.issparse``."""
    return type(x) is SparseMatrix


@scipy_function("sparse.isspmatrix")
def isspmatrix(x: Any) -> bool:
    """Record ``scipy.sparse.isspmatrix``."""
    return type(x) is SparseMatrix and not x.is_array
