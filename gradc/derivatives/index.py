"""Derivatives of the ops that read and write at integer-array indices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradc.autodiff.masks import Cotangent, Mask, everywhere
from gradc.autodiff.table import masked_transpose
from gradc_ir import build, ops
from gradc_ir.core import sizes
from gradc_ir.core.builder import active
from gradc_ir.core.graph import Value
from gradc_ir.core.types import DType


@masked_transpose(ops.gather)
def gather(
    cotangent: Cotangent, x: Value, *indices: Value, wanted: Sequence[bool], axes: tuple[int, ...]
) -> list[Cotangent | None]:
    """Reading: add each cotangent where its element was read; elements never read have none.

    Reverse mode adds to a sum that is there already itself.
    """
    empty = build.full(x.type.shape, 0, x.type.dtype)
    added = build.scatter_add(empty, cotangent.solid(), indices, axes)
    return [Cotangent(added, was_read(cotangent, x, indices, axes)), *(None for _ in indices)]


def was_read(
    cotangent: Cotangent, x: Value, indices: Sequence[Value], axes: tuple[int, ...]
) -> Mask:
    """Return where x was read, by a gather of this cotangent."""
    lines = active().here

    def read(mask: Value) -> Value:
        with active().at(lines):  # it is made later; an index outside is shown at its line
            empty = build.full(x.type.shape, 0, DType.I64)
            times = build.scatter_add(empty, build.cast(mask, DType.I64), indices, axes)
            return build.lt(build.zeros_like(times), times)

    return (cotangent.mask or everywhere(cotangent.value)).moved(read)


@masked_transpose(ops.scatter_set)
def scatter_set(
    cotangent: Cotangent,
    x: Value,
    part: Value,
    *indices: Value,
    wanted: Sequence[bool],
    axes: tuple[int, ...],
) -> list[Cotangent | None]:
    """Writing: the part has the cotangents of what it wrote last, x those of what was left."""

    def without(value: Value) -> Value:
        hole = build.full(part.type.shape, 0, value.type.dtype)
        return build.scatter_set(value, hole, indices, axes)

    written: Cotangent | None = None
    if wanted[1]:
        written = cotangent.moved(lambda value: build.gather(value, indices, axes))
        if not distinct(indices):
            written = written.under(_wrote_last(x, part, indices, axes))
    kept = cotangent.spread(without) if wanted[0] else None
    return [kept, written, *(None for _ in indices)]


def distinct(indices: Sequence[Value]) -> bool:
    """Whether no element is certainly indexed twice."""
    if sizes.at_least(1, indices[0].type.count):
        return True
    for index in indices:
        if index.op.name == "iota":
            return True
        if index.op.name == "constant":
            array = index.node.attributes["value"].array
            # a negative index may be another name of a positive one
            if array.min() >= 0 and np.unique(array).size == array.size:
                return True
    return False


def _wrote_last(x: Value, part: Value, indices: Sequence[Value], axes: tuple[int, ...]) -> Value:
    """Return whether each element of the part is the last one written to its place."""
    shape = indices[0].type.shape
    count = indices[0].type.count
    number = build.reshape(build.iota(DType.I64, count), shape)
    table = build.full(tuple(x.type.shape[axis] for axis in axes), 0, DType.I64)
    every = tuple(range(len(axes)))
    last = build.gather(build.scatter_set(table, number, indices, every), indices, every)
    return build.broadcast(build.eq(last, number), part.type.shape, tuple(range(len(shape))))


@masked_transpose(ops.scatter_add)
def scatter_add(
    cotangent: Cotangent,
    x: Value,
    part: Value,
    *indices: Value,
    wanted: Sequence[bool],
    axes: tuple[int, ...],
) -> list[Cotangent | None]:
    """Adding: x keeps its cotangents, the part reads them."""
    added = cotangent.moved(lambda value: build.gather(value, indices, axes))
    return [cotangent, added if wanted[1] else None, *(None for _ in indices)]
