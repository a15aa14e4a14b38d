"""Derivatives of the ops that make values and move elements about."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradc.autodiff.cotangents.masks import Cotangent
from gradc.autodiff.table import Cotangents, masked_transpose, transpose, zero_derivative
from gradc_ir import build, ops
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import Shape, Size
from gradc_ir.core.types import Axes

zero_derivative(ops.param, why="is where differentiation starts")
zero_derivative(ops.constant, ops.iota, ops.size, why="is a constant")


@masked_transpose(ops.broadcast)
def broadcast(
    cotangent: Cotangent,
    x: Value,
    *,
    wanted: Sequence[bool],
    shape: Shape,
    axes: Axes,
) -> Cotangents:
    """Repetition: the sum over the repeats."""
    return [cotangent.summed(tuple(axis for axis in range(len(shape)) if axis not in axes))]


@transpose(ops.reshape)
def reshape(cotangent: Value, x: Value, *, shape: Shape) -> Value:
    """Another shape: the shape it had."""
    return build.reshape(cotangent, x.type.shape)


@transpose(ops.transpose)
def permute(cotangent: Value, x: Value, *, permutation: Axes) -> Value:
    """Permuted axes: the inverse permutation."""
    return build.transpose(cotangent, tuple(map(permutation.index, range(len(permutation)))))


@transpose(ops.concatenate)
def concatenate(cotangent: Value, *parts: Value, axis: int) -> list[Value]:
    """Parts in a row: each part's window."""
    found = []
    start: Size = 0
    for part in parts:
        starts = tuple(start if i == axis else 0 for i in range(part.type.rank))
        found.append(build.slice(cotangent, starts, part.type.shape, (1,) * part.type.rank))
        start = start + part.type.shape[axis]
    return found


@transpose(ops.element, among_zeros=True)
def element(cotangent: Value, x: Value, *, at: tuple[int | None, ...]) -> Value:
    """Elements at places: these among zeros. Reverse mode joins many of one x itself."""
    starts = tuple(place or 0 for place in at)
    return build.pad(as_window(cotangent, x, at), starts, x.type.shape, (1,) * x.type.rank)


def as_window(part: Value, x: Value, at: tuple[int | None, ...]) -> Value:
    """Return what x has at places with the axes that it lacks, of size 1."""
    shape = (size if place is None else 1 for place, size in zip(at, x.type.shape))
    return build.reshape(part, tuple(shape))


@transpose(ops.stack)
def stack(cotangent: Value, *parts: Value, shape: Shape, axes: Axes) -> list[Value]:
    """Parts along new axes: the elements there."""
    places = np.ndindex(*[size for size in (shape[axis] for axis in axes) if isinstance(size, int)])
    return [
        build.element(cotangent, [at.get(axis) for axis in range(len(shape))])
        for at in (dict(zip(axes, place)) for place in places)
    ]


@transpose(ops.slice, among_zeros=True)
def slice(
    cotangent: Value,
    x: Value,
    *,
    starts: Shape,
    shape: Shape,
    steps: tuple[int, ...],
) -> Value:
    """A window: the window among zeros. Reverse mode joins many windows of one x itself."""
    return build.pad(cotangent, starts, x.type.shape, steps)


@transpose(ops.pad)
def pad(
    cotangent: Value,
    x: Value,
    *,
    starts: Shape,
    shape: Shape,
    steps: tuple[int, ...],
) -> Value:
    """A window among zeros: the window."""
    return build.slice(cotangent, starts, x.type.shape, steps)


@masked_transpose(ops.set_slice)
def set_slice(
    cotangent: Cotangent,
    x: Value,
    part: Value,
    *,
    wanted: Sequence[bool],
    starts: Shape,
    steps: tuple[int, ...],
) -> Cotangents:
    """A replaced window: the window, and what is left without it."""

    def without(value: Value) -> Value:
        hole = build.full(part.type.shape, 0, value.type.dtype)
        return build.set_slice(value, hole, starts, steps)

    def window(value: Value) -> Value:
        return build.slice(value, starts, part.type.shape, steps)

    return [
        cotangent.spread(without) if wanted[0] else None,
        cotangent.moved(window) if wanted[1] else None,
    ]
