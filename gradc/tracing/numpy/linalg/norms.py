"""Norms with all orders: sums and extremes of elements or of singular values.

The derivative of a norm at zero is zero: where the sum of squares is zero it is the norm itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.tracing.building.axes import each, positions, reduced_shape
from gradc.tracing.building.by_name import array, numpy, refuse
from gradc.tracing.building.floats import as_float, reduced
from gradc.tracing.core.source import trace_error
from gradc.tracing.core.state import running
from gradc.tracing.core.table import call
from gradc.tracing.core.tracer import make, read
from gradc.tracing.numpy.shape import shaping
from gradc.tracing.registry.numpy_function import numpy_function
from gradc_ir import build

# order of a norm of vectors -> what it is of the sizes of elements
_OF_SIZES = {1: build.reduce_sum, np.inf: build.reduce_max, -np.inf: build.reduce_min}


@numpy_function("linalg.norm", computes=True)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Record ``np.linalg.norm``: all orders of vectors and matrices."""
    given = as_float(x)
    rank = given.ndim
    count = rank if axis is None else len(each(axis))
    if ord is None or (ord == 2 and count == 1) or (ord == "fro" and count == 2):
        return reduced(given, axis, keepdims, build.norm)
    if ord == "fro" or not count or (axis is None and count > 2):
        raise trace_error(
            f"np.linalg.norm: ord={ord!r} over {count} axes is not supported for traced arrays",
            help="supported: None, 2, 1, inf and -inf of vectors, None and 'fro' of matrices",
        )
    axes = positions(axis, rank)
    if count == 1 and ord in _OF_SIZES:
        reduce = _OF_SIZES[ord]
        return reduced(given, axes, keepdims, lambda x, axes: reduce(build.abs(x), axes))
    if count == 1:
        return _power_norm(given, ord, axes[0], keepdims)
    if count == 2 and ord in (1, -1, np.inf, -np.inf):
        over, along = axes if abs(ord) == 1 else axes[::-1]
        sums = numpy.sum(numpy.abs(given), axis=over, keepdims=True)
        found = (numpy.max if ord > 0 else numpy.min)(sums, axis=along, keepdims=True)
        return found if keepdims else numpy.squeeze(found, axis=axes)
    if count == 2 and ord in (2, -2, "nuc"):
        return _singular_norm(given, ord, axes, keepdims)
    raise refuse(
        f"np.linalg.norm with ord={ord!r} over {count} axes",
        "of matrices: None, 'fro', 'nuc', 2, 1, inf, and -2, -1, -inf",
    )


def _singular_norm(x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    s = array(call("linalg.svdvals", shaping.moveaxis(x, axes, (-2, -1))))
    place = 0 if ord == 2 else -1
    found = array(numpy.sum(s, axis=-1) if ord == "nuc" else s[..., place])
    found = array(numpy.where(found == 0, np.zeros((), found.dtype), found))
    if not keepdims:
        return found
    return found.reshape(reduced_shape(x.shape, axes))


def _power_norm(x: Any, ord: Any, axis: int, keepdims: bool) -> Any:
    if not isinstance(ord, int | float):
        raise refuse(f"np.linalg.norm with ord={ord!r} of vectors", "give a known number")
    if ord == 0:
        found = numpy.sum(numpy.not_equal(x, 0), axis=axis, keepdims=keepdims)
        return array(found).astype(x.dtype)
    total = array(numpy.sum(numpy.power(numpy.abs(x), ord), axis=axis, keepdims=keepdims))
    value = read(total)
    root = build.power(value, 1.0 / ord)
    if ord > 0:
        root = build.select(build.eq(value, 0.0), value, root)
    return make(running(), root, contiguous=x.contiguous)


@numpy_function("linalg.vector_norm", computes=True)
def vector_norm(x: Any, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """Record ``np.linalg.vector_norm``: over all axes, as of one vector, by default."""
    given = array(x)
    if axis is None or isinstance(axis, tuple):
        axes = positions(axis, given.ndim)
        rest = tuple(i for i in range(given.ndim) if i not in axes)
        kept = tuple(given.shape[i] for i in rest)
        flat = array(numpy.transpose(given, (*axes, *rest))).reshape((-1, *kept))
        found = norm(flat, ord, 0)
        if not keepdims:
            return found
        return found.reshape(reduced_shape(given.shape, axes))
    return norm(given, ord, axis, keepdims)


@numpy_function("linalg.matrix_norm", computes=True)
def matrix_norm(x: Any, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """Record ``np.linalg.matrix_norm``: of the matrices in the last two axes."""
    return norm(x, ord, (-2, -1), keepdims)
