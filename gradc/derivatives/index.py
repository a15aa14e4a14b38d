"""Derivatives of the ops that read and write at integer-array indices."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from gradc.autodiff.cotangents.masks import Cotangent
from gradc.autodiff.cotangents.reads import Read, distinct
from gradc.autodiff.table import Cotangents, masked_transpose
from gradc_ir import build, ops
from gradc_ir.core.builder import active
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import Axes, DType


@masked_transpose(ops.gather)
def gather(
    cotangent: Cotangent, x: Value, *indices: Value, wanted: Sequence[bool], axes: Axes
) -> Cotangents:
    """Reading: add each cotangent where its element was read. Reverse mode adds to sums itself."""
    read = Read(cotangent, indices, axes, active().here)
    return [read.added_to(None, x), *(None for _ in indices)]


@masked_transpose(ops.scatter_set)
def scatter_set(
    cotangent: Cotangent,
    x: Value,
    part: Value,
    *indices: Value,
    wanted: Sequence[bool],
    axes: Axes,
) -> Cotangents:
    """Writing: the part has the cotangents of what it wrote last, x those of what was left."""

    def without(value: Value) -> Value:
        hole = build.full(part.type.shape, 0, value.type.dtype)
        return build.scatter_set(value, hole, indices, axes)

    written: Cotangent | None = None
    if wanted[1]:
        written = cotangent.moved(lambda value: _read(value, indices, axes))
        if not distinct(indices):
            written = written.under(_wrote_last(x, part, indices, axes))
    kept = cotangent.spread(without) if wanted[0] else None
    return [kept, written, *(None for _ in indices)]


def _read(x: Value, indices: Sequence[Value], axes: Axes) -> Value:
    """Return the elements at indices, which the function has checked.

    What is read at one place of an array that was written to at one is either the part or of the
    array before, so that no array, nor a mask of one, is made for it.
    """
    node = x.node
    here = [index.type for index in indices]
    if x.op.name == "broadcast" and not x.operands[0].type.rank:
        shape = build.gather(x, indices, axes).type.shape
        return build.broadcast(x.operands[0], shape, ())
    if x.op.name != "scatter_set" or any(type_.rank for type_ in here):
        return build.gather(x, indices, axes)
    before, part, *places = node.operands
    if node.attributes["axes"] != axes or [place.type for place in places] != here:
        return build.gather(x, indices, axes)
    meets = [
        build.eq(_wrapped(one, x.type.shape[axis]), _wrapped(other, x.type.shape[axis]))
        for one, other, axis in zip(indices, places, axes)
    ]
    return build.select(
        build.broadcast(functools.reduce(build.logical_and, meets), part.type.shape, ()),
        part,
        _read(before, indices, axes),
    )


def _wrapped(index: Value, size: Size) -> Value:
    """Return an index that counts from the start."""
    length = build.cast(build.size_value(size), index.type.dtype)
    return build.select(build.lt(index, 0), build.add(index, length), index)


def _wrote_last(x: Value, part: Value, indices: Sequence[Value], axes: Axes) -> Value:
    """Return whether each element of the part is the last one written to its place."""
    shape = indices[0].type.shape
    count = indices[0].type.count
    number = build.reshape(build.iota(DType.I64, count), shape)
    table = build.full(tuple(x.type.shape[axis] for axis in axes), 0, DType.I64)
    every = tuple(range(len(axes)))
    last = build.gather(build.scatter_set(table, number, indices, every), indices, every)
    return build.broadcast(build.eq(last, number), part.type.shape, tuple(range(len(shape))))


@masked_transpose(ops.scatter_add, sums=True)
def scatter_add(
    cotangent: Cotangent,
    x: Value,
    part: Value,
    *indices: Value,
    wanted: Sequence[bool],
    axes: Axes,
) -> Cotangents:
    """Adding: x keeps its cotangents, the part reads them."""
    added = cotangent.moved(lambda value: _read(value, indices, axes))
    return [cotangent, added if wanted[1] else None, *(None for _ in indices)]
