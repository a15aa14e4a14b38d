"""The elements of a Jacobian as slices of coefficients, side by side."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from gradc.sparsity.runs import Run, Source, Sum, window
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import Shape
from gradc_ir.core.types import DType
from gradc_ir.graphs.rearrange import peel, scalar_constant


def side_by_side(runs: Sequence[Run], arrays: Sequence[Value], dtype: DType) -> Value:
    """Return all elements of runs, one after another, of flat arrays of coefficients."""
    return _concatenated([_of_run(run, arrays, dtype) for run in runs], 0)


def _of_run(run: Run, arrays: Sequence[Value], dtype: DType) -> Value:
    times, found = run.times, []
    for rows, columns in run.bands:
        shape = (times, rows) if times > 1 else (rows,)
        made = [_sum(column, arrays, shape, dtype) for column in columns]
        if len(made) > 1 and all(scalar_constant(one) is not None for one in made):
            # numbers that repeat are written beside what is computed, and are not copied
            made[0] = build.fence(made[0])
        whole = build.stack(made, (*shape, len(made)), (len(shape),)) if len(made) > 1 else made[0]
        found.append(build.reshape(whole, (*shape[:-1], rows * len(made))))
    line = _concatenated(found, len(found[0].type.shape) - 1)
    return build.reshape(line, (line.type.count,))


def _concatenated(parts: Sequence[Value], axis: int) -> Value:
    return parts[0] if len(parts) == 1 else build.concatenate(parts, axis)


def _sum(column: Sum, arrays: Sequence[Value], shape: Shape, dtype: DType) -> Value:
    if len(column) == 1:
        return _coefficients(column[0], arrays, shape, dtype)
    # each was rounded before they meet: no rule is to see them together
    parts = [build.fence(_coefficients(source, arrays, shape, dtype)) for source in column]
    return functools.reduce(build.add, parts)


def _coefficients(source: Source, arrays: Sequence[Value], shape: Shape, dtype: DType) -> Value:
    """Return the coefficients of one source, an array of rows, or of times and rows."""
    leaf, start, step, stride = source
    if leaf < 0:
        return build.full(shape, 0, dtype)
    x = arrays[leaf]
    number = scalar_constant(peel(x)[0])
    if number is not None:
        return build.full(shape, number, dtype)
    *times, rows = shape
    assert isinstance(rows, int)
    if not times or not stride:
        if not step:
            return build.broadcast(build.element(x, (start,)), shape, ())
        line = build.slice(x, (start,), (rows,), (step,))
        return build.broadcast(line, shape, (len(shape) - 1,)) if times else line
    (count,) = times
    assert isinstance(count, int)
    if not step:
        return build.broadcast(build.slice(x, (start,), (count,), (stride,)), shape, (0,))
    (length,) = x.type.shape
    assert isinstance(length, int)
    first = window(source, count, rows, length)
    assert first is not None  # runs that are none are not asked for
    if length % stride == 0 and first % stride == 0:
        lines = build.reshape(x, (length // stride, stride))
        above = first // stride
    else:
        used = build.slice(x, (first,), (count * stride,), (1,))
        lines, above = build.reshape(used, (count, stride)), 0
    return build.slice(lines, (above, start - first), shape, (1, step))
