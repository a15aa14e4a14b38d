"""np.linalg's equations: solve and inv, and the forms of both for tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradc.tracing.building.by_name import array, number, numpy
from gradc.tracing.core.source import shape_error
from gradc.tracing.core.symbolic_size import as_integer
from gradc.tracing.numpy.linalg.stacks import Stacks, as_column, from_column, one_stack
from gradc.tracing.numpy.shape import shaping
from gradc.tracing.registry.numpy_function import numpy_function
from gradc_ir import build
from gradc_ir.core import sizes
from gradc_ir.core.graph import Value
from gradc_ir.graphs.matrices import identity


@numpy_function("linalg.solve")
def solve(a: Any, b: Any) -> Any:
    """Record ``np.linalg.solve``: nan where a matrix is singular; b is a vector if it has one axis.

    Its derivative solves equations with the same matrix (M. Giles, "Collected matrix derivative
    results", 2008, §2.3.1).
    """
    return with_columns(Stacks("np.linalg.solve", a, b), build.solve)


def with_columns(stacks: Stacks, solved: Callable[[Value, Value], Value]) -> Any:
    """Return the solutions for one vector on the right, or for matrices of columns."""
    matrix, right = stacks.values
    stacks.check(matrix, square=True)
    if not right.type.rank:
        raise stacks.failure("the right-hand side has to be a vector or a matrix")
    columns = as_column(right) if right.type.rank == 1 else right
    stacks.match(matrix.type.shape[-1], columns.type.shape[-2], "the right-hand side does not fit")
    found = solved(*stacks.together(matrix, columns))
    return stacks.result(from_column(found) if right.type.rank == 1 else found)


@numpy_function("linalg.inv")
def inv(a: Any) -> Any:
    """Record ``np.linalg.inv``: nan where a matrix is singular."""
    stacks, x = one_stack("np.linalg.inv", a, square=True)
    return stacks.result(inverse(x))


def inverse(x: Value) -> Value:
    """Return the inverses of square matrices."""
    return build.solve(x, identity(x.type.shape, x.type.dtype))


@numpy_function("linalg.tensorinv")
def tensorinv(a: Any, ind: int = 2) -> Any:
    """Record ``np.linalg.tensorinv``: the inverse for ``np.tensordot(…, ind)``."""
    x = array(a)
    split = number(ind, "np.linalg.tensorinv")
    if split <= 0:
        raise shape_error("np.linalg.tensorinv: ind has to be positive")
    first, last = x.type.shape[:split], x.type.shape[split:]
    square = _as_matrix(x, first, last)
    return inv(square).reshape((*x.shape[split:], *x.shape[:split]))


@numpy_function("linalg.tensorsolve")
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """Record ``np.linalg.tensorsolve``: x with ``np.tensordot(a, x, x.ndim) == b``."""
    x, right = array(a), array(b)
    if axes is not None:
        moved = [axis % x.ndim for axis in axes]
        x = array(numpy.transpose(x, [axis for axis in range(x.ndim) if axis not in moved] + moved))
    split = right.ndim
    shape = x.shape[split:]
    square = _as_matrix(x, x.type.shape[:split], x.type.shape[split:])
    return solve(square, shaping.ravel(right)).reshape(shape)


def _as_matrix(x: Any, first: Any, last: Any) -> Any:
    rows, columns = sizes.product(first), sizes.product(last)
    if rows != columns:
        raise shape_error(
            "the products of the first and of the last sizes differ",
            found=f"{x.type}: {rows} and {columns}",
        )
    return x.reshape((as_integer(rows), as_integer(columns)))
