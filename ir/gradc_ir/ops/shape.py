"""Ops that make values and move their elements about without computing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradc_ir.core import sizes
from gradc_ir.core.op import Work, declare
from gradc_ir.core.sizes import Shape, Size
from gradc_ir.core.types import Array, Axes, DType, Type, Types
from gradc_ir.errors import ShapeError

# -- sources ---------------------------------------------------------------------------------------

declare(
    "param",
    "shape",
    0,
    lambda *, index, type: (type,),
    None,
    attributes=("index", "type"),
    work=Work(),
    summary="A parameter of the function.",
)
declare(
    "constant",
    "shape",
    0,
    lambda *, value: (value.type,),
    lambda *, value: value.array,
    attributes=("value",),
    work=Work(),
    summary="A constant array, held by its bits.",
)
declare(
    "iota",
    "shape",
    0,
    lambda *, dtype, size: (Type(dtype, (size,)),),
    lambda *, dtype, size: np.arange(size).astype(dtype.numpy),
    attributes=("dtype", "size"),
    work=Work(),
    summary="0, 1, 2 … up to size, exclusive.",
)
declare(
    "size",
    "shape",
    0,
    lambda *, size: (Type(DType.I64),),
    lambda *, size: np.asarray(size, dtype=np.int64),
    attributes=("size",),
    work=Work(),
    summary="A symbolic size as a number.",
)

# -- rearrangement ---------------------------------------------------------------------------------


def _infer_broadcast(x: Type, *, shape: Shape, axes: Axes) -> Types:
    if len(axes) != x.rank or list(axes) != sorted(set(axes)):
        raise ShapeError(f"broadcast: axes {axes} do not fit {x}")
    if any(axis >= len(shape) or shape[axis] != have for axis, have in zip(axes, x.shape)):
        raise ShapeError(f"broadcast: {x} at axes {axes} does not fit shape {shape}")
    return (x.with_shape(shape),)


def _broadcast(x: Array, *, shape: tuple[int, ...], axes: Axes) -> Array:
    expanded = np.expand_dims(x, tuple(i for i in range(len(shape)) if i not in axes))
    return np.broadcast_to(expanded, shape)


declare(
    "broadcast",
    "shape",
    1,
    _infer_broadcast,
    _broadcast,
    attributes=("shape", "axes"),
    linear=(0,),
    work=Work(),
    summary="x repeated: its axis i becomes axis axes[i] of shape.",
)


def _infer_reshape(x: Type, *, shape: Shape) -> Types:
    if sizes.product(shape) != x.count:
        raise ShapeError(f"reshape: {x} has not as many elements as shape {shape}")
    return (x.with_shape(shape),)


declare(
    "reshape",
    "shape",
    1,
    _infer_reshape,
    lambda x, *, shape: x.reshape(shape),
    attributes=("shape",),
    linear=(0,),
    work=Work(),
    summary="x in another shape, row-major order.",
)


def _infer_transpose(x: Type, *, permutation: Axes) -> Types:
    if sorted(permutation) != list(range(x.rank)):
        raise ShapeError(f"transpose: {permutation} is no permutation of the axes of {x}")
    return (x.with_shape(tuple(x.shape[axis] for axis in permutation)),)


declare(
    "transpose",
    "shape",
    1,
    _infer_transpose,
    lambda x, *, permutation: np.transpose(x, permutation),
    attributes=("permutation",),
    linear=(0,),
    work=Work(1),
    summary="x with its axes permuted: result axis i is axis permutation[i].",
)


def _infer_concatenate(*types: Type, axis: int) -> Types:
    if not types:
        raise ShapeError("concatenate: nothing to concatenate")
    first = types[0]
    if not 0 <= axis < first.rank:
        raise ShapeError(f"concatenate: no axis {axis} in {first}")
    total: Size = 0
    for x in types:
        if (
            x.dtype != first.dtype
            or x.rank != first.rank
            or any(a != b for i, (a, b) in enumerate(zip(x.shape, first.shape)) if i != axis)
        ):
            raise ShapeError(
                "concatenate: operands do not fit", found=" and ".join(map(str, types))
            )
        total = total + x.shape[axis]
    return (first.with_shape((*first.shape[:axis], total, *first.shape[axis + 1 :])),)


declare(
    "concatenate",
    "shape",
    None,
    _infer_concatenate,
    lambda *arrays, axis: np.concatenate(arrays, axis=axis),
    attributes=("axis",),
    linear=(0,),
    work=Work(1),
    summary="The operands one after another along an axis.",
)

# -- elements --------------------------------------------------------------------------------------


def _infer_element(x: Type, *, at: tuple[int | None, ...]) -> Types:
    if len(at) != x.rank or any(
        place is not None and not (place >= 0 and sizes.at_least(size, place + 1))
        for place, size in zip(at, x.shape)
    ):
        raise ShapeError(f"element: there is no {at} in {x}")
    return (x.with_shape(tuple(size for place, size in zip(at, x.shape) if place is None)),)


declare(
    "element",
    "shape",
    1,
    _infer_element,
    lambda x, *, at: x[tuple(slice(None) if place is None else place for place in at)],
    attributes=("at",),
    linear=(0,),
    work=Work(1),
    summary="What x has at known places along some axes, which disappear; the others have none.",
)


def _infer_stack(*types: Type, shape: Shape, axes: Axes) -> Types:
    if not types:
        raise ShapeError("stack: nothing to stack")
    first = types[0]
    if list(axes) != sorted(set(axes)) or not all(0 <= axis < len(shape) for axis in axes):
        raise ShapeError(f"stack: no axes {axes} of shape {shape}")
    if sizes.product(shape[axis] for axis in axes) != len(types):
        raise ShapeError(f"stack: {len(types)} operands for axes {axes} of shape {shape}")
    rest = tuple(size for axis, size in enumerate(shape) if axis not in axes)
    if any(x.dtype is not first.dtype or x.shape != rest for x in types):
        raise ShapeError("stack: operands do not fit", found=" and ".join(map(str, types)))
    return (first.with_shape(shape),)


def _stack(*arrays: Array, shape: tuple[int, ...], axes: Axes) -> Array:
    rest = [axis for axis in range(len(shape)) if axis not in axes]
    sizes_of = [shape[axis] for axis in (*axes, *rest)]
    return np.transpose(np.stack(arrays).reshape(sizes_of), np.argsort((*axes, *rest)))


declare(
    "stack",
    "shape",
    None,
    _infer_stack,
    _stack,
    attributes=("shape", "axes"),
    linear=(0,),
    work=Work(1),
    summary="The operands in row-major order along new axes, which are axes of shape.",
)

# -- windows: element i of the window is element start + i * step of the whole ---------------------


def window(starts: Sequence[int], shape: Sequence[int], steps: Sequence[int]) -> tuple[Any, ...]:
    """Return the index arrays of a window, for use with ``x[np.ix_(…)]``."""
    return np.ix_(
        *(start + step * np.arange(size) for start, size, step in zip(starts, shape, steps))
    )


def _check_window(name: str, whole: Type, starts: Shape, part: Shape, steps: Axes) -> None:
    fits = len(starts) == len(steps) == len(part) == whole.rank
    if not fits or not all(isinstance(step, int) and step for step in steps):
        raise ShapeError(f"{name}: starts {starts} and steps {steps} do not fit {whole}")
    for start, count, step, length in zip(starts, part, steps, whole.shape):
        if isinstance(start, int) and isinstance(count, int) and isinstance(length, int) and count:
            last = start + (count - 1) * step
            if not (0 <= start < length and 0 <= last < length):
                raise ShapeError(f"{name}: elements {start}…{last} lie outside {whole}")


def _infer_slice(x: Type, *, starts: Shape, shape: Shape, steps: Axes) -> Types:
    _check_window("slice", x, starts, shape, steps)
    return (x.with_shape(shape),)


declare(
    "slice",
    "shape",
    1,
    _infer_slice,
    lambda x, *, starts, shape, steps: x[window(starts, shape, steps)] if x.ndim else x,
    attributes=("starts", "shape", "steps"),
    linear=(0,),
    work=Work(1),
    summary="A window of x.",
)


def _infer_pad(x: Type, *, starts: Shape, shape: Shape, steps: Axes) -> Types:
    whole = x.with_shape(shape)
    _check_window("pad", whole, starts, x.shape, steps)
    return (whole,)


def _pad(x: Array, *, starts: Any, shape: Any, steps: Any) -> Array:
    out = np.zeros(shape, dtype=x.dtype)
    out[window(starts, x.shape, steps) if x.ndim else ()] = x
    return out


declare(
    "pad",
    "shape",
    1,
    _infer_pad,
    _pad,
    attributes=("starts", "shape", "steps"),
    linear=(0,),
    work=Work(1),
    summary="x as a window of zeros: undoes slice.",
)


def _infer_set_slice(x: Type, part: Type, *, starts: Shape, steps: Axes) -> Types:
    if x.dtype != part.dtype:
        raise ShapeError("set_slice: operand dtypes differ", found=f"{x} and {part}")
    _check_window("set_slice", x, starts, part.shape, steps)
    return (x,)


def _set_slice(x: Array, part: Array, *, starts: Any, steps: Any) -> Array:
    out = x.copy()
    out[window(starts, part.shape, steps) if x.ndim else ()] = part
    return out


declare(
    "set_slice",
    "shape",
    2,
    _infer_set_slice,
    _set_slice,
    attributes=("starts", "steps"),
    linear=(0, 1),
    updates=True,
    work=Work(1),
    summary="x with a window replaced by the second operand.",
)
