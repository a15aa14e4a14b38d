"""What sparse matrices are computed with: elements picked at places, and added up at places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradc.tracing.building.by_name import array
from gradc.tracing.core.promote import unify
from gradc.tracing.core.source import shape_error
from gradc.tracing.core.state import running
from gradc.tracing.core.tracer import Tracer, make, read
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType


def picked(x: Any, *places: Any) -> Tracer:
    """Return the elements of an array at places on its first axes."""
    return make(running(), build.gather(read(x), _indices(places), tuple(range(len(places)))))


def added(part: Any, places: Sequence[Any], sizes: Sequence[Size]) -> Tracer:
    """Return zeros of some sizes, to which elements are added at places on these axes."""
    value = read(part)
    whole = build.full((*sizes, *value.type.shape[1:]), 0, value.type.dtype)
    found = build.scatter_add(whole, value, _indices(places), tuple(range(len(places))))
    return make(running(), found)


def _indices(places: Sequence[Any]) -> list[Value]:
    return [build.cast(read(place), DType.I64) for place in places]


def product(
    name: str, shape: tuple[int, int], data: Any, rows: Any, columns: Any, x: Any
) -> Tracer:
    """Return the product of a sparse matrix and a vector or a matrix.

    Elements are added in the order in which they are stored, row by row as SciPy does.
    """
    right = array(x)
    if right.type.rank not in (1, 2):
        raise shape_error(
            f"{name} is multiplied with an array of {right.type.rank} axes",
            help="multiply with vectors and matrices, or take gradc.vmap over the other axes",
        )
    unify(
        right.type.shape[0],
        shape[1],
        lambda: shape_error(
            f"{name} of shape {shape} does not fit x: {right.type}",
            help=f"x needs {shape[1]} {'entries' if right.type.rank == 1 else 'rows'}",
        ),
    )
    factor = data if right.type.rank == 1 else data[:, None]
    return added(factor * picked(right, columns), [rows], [shape[0]])
