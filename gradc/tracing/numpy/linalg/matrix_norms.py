"""Norms with all orders: sums and extremes of elements or of singular values."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.tracing.building.axes import position, reduced_shape
from gradc.tracing.building.by_name import array, numpy, refuse
from gradc.tracing.core.state import running
from gradc.tracing.core.tracer import make, read
from gradc.tracing.numpy.linalg import norms
from gradc.tracing.numpy.linalg.factorisations import svdvals
from gradc.tracing.numpy.shape import shaping
from gradc.tracing.registry.numpy_function import numpy_function
from gradc_ir import build


@numpy_function("linalg.norm")
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Record ``np.linalg.norm``: all orders of vectors and matrices."""
    given = array(x)
    if given.dtype.kind != "f":
        given = given.astype(np.float64)
    axes = _axes(given, ord, axis)
    if axes is None or ord in (None, "fro"):
        return norms.norm(given, ord, axis, keepdims)
    if len(axes) == 1:
        if ord in (1, 2, np.inf, -np.inf):
            return norms.norm(given, ord, axes, keepdims)
        return _power_norm(given, ord, axes[0], keepdims)
    if len(axes) == 2 and ord in (1, -1, np.inf, -np.inf):
        over, along = axes if abs(ord) == 1 else axes[::-1]
        sums = numpy.sum(numpy.abs(given), axis=over, keepdims=True)
        found = (numpy.max if ord > 0 else numpy.min)(sums, axis=along, keepdims=True)
        return found if keepdims else numpy.squeeze(found, axis=axes)
    if len(axes) == 2 and ord in (2, -2, "nuc"):
        return _singular_norm(given, ord, axes, keepdims)
    raise refuse(f"np.linalg.norm with ord={ord!r} over {len(axes)} axes",
                 "of matrices: None, 'fro', 'nuc', 2, 1, inf, and -2, -1, -inf")  # fmt: skip


def _singular_norm(x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    s = array(svdvals(shaping.moveaxis(x, axes, (-2, -1))))
    place = 0 if ord == 2 else -1
    found = array(numpy.sum(s, axis=-1) if ord == "nuc" else s[..., place])
    # as that of the others, the derivative at zero is zero
    found = array(numpy.where(found == 0, np.zeros((), found.dtype), found))
    if not keepdims:
        return found
    return found.reshape(reduced_shape(x.shape, axes))


def _axes(x: Any, ord: Any, axis: Any) -> tuple[int, ...] | None:
    if axis is None:
        return tuple(range(x.ndim)) if ord is not None and x.ndim in (1, 2) else None
    given = axis if isinstance(axis, tuple | list) else (axis,)
    return tuple(position(one, x.ndim) for one in given)


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
        # as that of the 2-norm, the derivative at zero is zero
        root = build.select(build.eq(value, 0.0), value, root)
    return make(running(), root, contiguous=x.contiguous)


@numpy_function("linalg.vector_norm")
def vector_norm(x: Any, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """Record ``np.linalg.vector_norm``: over all axes, as of one vector, by default."""
    given = array(x)
    if axis is None or isinstance(axis, tuple):
        axes = tuple(range(given.ndim)) if axis is None else tuple(
            position(one, given.ndim) for one in axis
        )  # fmt: skip
        rest = tuple(i for i in range(given.ndim) if i not in axes)
        kept = tuple(given.shape[i] for i in rest)
        flat = array(numpy.transpose(given, (*axes, *rest))).reshape((-1, *kept))
        found = array(norm(flat, ord, 0))
        if not keepdims:
            return found
        return found.reshape(reduced_shape(given.shape, axes))
    return norm(given, ord, axis, keepdims)


@numpy_function("linalg.matrix_norm")
def matrix_norm(x: Any, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """Record ``np.linalg.matrix_norm``: of the matrices in the last two axes."""
    return norm(x, ord, (-2, -1), keepdims)
