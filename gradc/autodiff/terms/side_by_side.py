"""The elements of a Jacobian as slices of coefficients, side by side."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Container, Sequence

from gradc.sparsity.runs import Run, Source, Sum, window
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import Shape
from gradc_ir.core.types import DType
from gradc_ir.graphs.rearrange import peel, scalar_constant


def side_by_side(runs: Sequence[Run], arrays: Sequence[Value], dtype: DType) -> Value:
    """Return all elements of runs, one after another, of flat arrays of coefficients."""
    runs = _joined(runs)
    times = Counter(band.columns for run in runs for band in run.bands)
    once = {columns for columns, count in times.items() if count == 1}
    return _concatenated([_of_run(run, arrays, dtype, once) for run in runs], 0)


def _joined(runs: Sequence[Run]) -> list[Run]:
    """Return runs of which those are one that follow one another and have the same row."""
    found: list[Run] = []
    for run in runs:
        before = found[-1] if found else None
        if before is not None and _row(run) is not None and _row(before) == _row(run):
            rows = before.bands[0].rows + run.bands[0].rows
            found[-1] = Run(1, (run.bands[0]._replace(rows=rows),))
        else:
            found.append(run)
    return found


def _row(run: Run) -> tuple[Sum, ...] | None:
    """Return the columns of a run whose rows all are the same elements."""
    if run.times != 1 or len(run.bands) != 1:
        return None
    (band,) = run.bands
    moves = any(source.step or source.stride for one in band.columns for source in one)
    return None if moves else band.columns


def _of_run(
    run: Run, arrays: Sequence[Value], dtype: DType, once: Container[tuple[Sum, ...]]
) -> Value:
    times, found = run.times, []
    for rows, columns in run.bands:
        shape = (times, rows) if times > 1 else (rows,)
        made = [_sum(column, arrays, shape, dtype) for column in columns]
        are_numbers = all(scalar_constant(one) is not None for one in made)
        if are_numbers and len(made) > 1 and columns in once:
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
