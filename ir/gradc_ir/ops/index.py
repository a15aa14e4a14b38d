"""Ops that read and write at integer-array indices; an index wraps once, then is checked.

All index operands have one shape. The result of gather, and the part that scatters write, has the
index shape first and then the axes of x that are not indexed, in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradc_ir.core.op import TypeRule, Work, declare
from gradc_ir.core.sizes import Shape
from gradc_ir.core.types import Array, Axes, DType, Type, Types
from gradc_ir.errors import DTypeError, IndexError, ShapeError


def _part_shape(name: str, x: Type, indices: Sequence[Type], axes: Axes) -> Shape:
    if not indices or len(indices) != len(axes) or len(set(axes)) != len(axes):
        raise ShapeError(f"{name}: {len(indices)} index arrays for axes {axes}")
    if any(not 0 <= axis < x.rank for axis in axes):
        raise ShapeError(f"{name}: axes {axes} do not fit {x}")
    for i in indices:
        if not i.dtype.is_integer:
            raise DTypeError(f"{name}: an index must be an integer", found=str(i))
        if i.shape != indices[0].shape:
            raise ShapeError(f"{name}: index arrays of different shapes")
    rest = tuple(size for axis, size in enumerate(x.shape) if axis not in axes)
    return indices[0].shape + rest


def checked(x: Array, indices: Sequence[Array], axes: Axes) -> list[Array]:
    """Return the indices with negative ones wrapped once; raise IndexError for any outside."""
    wrapped = []
    for i, axis in zip(indices, axes):
        length = x.shape[axis]
        outside = (i < -length) | (i >= length)
        if np.any(outside):
            bad = int(np.asarray(i)[outside].flat[0]) if np.ndim(i) else int(i)
            raise IndexError(f"index {bad} is out of bounds for axis {axis} with size {length}")
        wrapped.append(np.where(i < 0, i + length, i))
    return wrapped


def _key(x: Array, indices: Sequence[Array], axes: Axes) -> tuple[Array, tuple[Any, ...]]:
    """Return x as a view with the indexed axes first, and the index for it."""
    return np.moveaxis(x, axes, range(len(axes))), tuple(checked(x, indices, axes))


def _infer_gather(x: Type, *indices: Type, axes: Axes) -> Types:
    return (x.with_shape(_part_shape("gather", x, indices, axes)),)


def _gather(x: Array, *indices: Array, axes: Axes) -> Array:
    view, key = _key(x, indices, axes)
    return np.asarray(view[key])


declare(
    "gather",
    "index",
    None,
    _infer_gather,
    _gather,
    attributes=("axes",),
    linear=(0,),
    work=Work(1),
    summary="Elements of x at integer indices along axes.",
)


def _infer_scatter(name: str) -> TypeRule:
    def infer(x: Type, part: Type, *indices: Type, axes: Axes) -> Types:
        if name == "scatter_add" and x.dtype is DType.BOOL:
            raise DTypeError("scatter_add: bool is not summed", help="cast to an integer first")
        wanted = _part_shape(name, x, indices, axes)
        if part.shape != wanted or part.dtype != x.dtype:
            raise ShapeError(
                f"{name}: the written part does not fit",
                found=f"{part}, wanted {x.with_shape(wanted)}",
            )
        return (x,)

    return infer


def _scatter_set(x: Array, part: Array, *indices: Array, axes: Axes) -> Array:
    out = x.copy()
    view, key = _key(out, indices, axes)
    if key[0].ndim == 0:
        view[key] = part[()]  # an array of objects would be one of them
        return out
    # one by one, because NumPy does not promise which of two equal indices wins
    for position in np.ndindex(key[0].shape):
        view[tuple(i[position] for i in key)] = part[position]
    return out


def _scatter_add(x: Array, part: Array, *indices: Array, axes: Axes) -> Array:
    out = x.copy()
    view, key = _key(out, indices, axes)
    np.add.at(view, key, part)
    return out


declare(
    "scatter_set",
    "index",
    None,
    _infer_scatter("scatter_set"),
    _scatter_set,
    attributes=("axes",),
    linear=(0, 1),
    updates=True,
    work=Work(read=2),
    summary="x with elements replaced; of equal indices the last wins.",
)
declare(
    "scatter_add",
    "index",
    None,
    _infer_scatter("scatter_add"),
    _scatter_add,
    attributes=("axes",),
    linear=(0, 1),
    updates=True,
    work=Work(read=2),
    summary="x with elements added to, in row-major order of the indices.",
)
