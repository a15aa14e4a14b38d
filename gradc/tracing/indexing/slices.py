"""Slices of axes: start, count and step, exact for every value of a symbolic size."""

from __future__ import annotations

from typing import Any

from gradc.tracing.core import source
from gradc.tracing.core.signals import NeedsConcreteSize
from gradc.tracing.core.source import shape_error, trace_error
from gradc.tracing.core.symbolic_size import as_size
from gradc.tracing.core.tracer import Tracer
from gradc_ir.core import sizes
from gradc_ir.core.sizes import Size


def slice_bounds(item: slice, size: Size) -> tuple[Size, Size, int]:
    """Return start, count and step of a slice of an axis, exact for every value of its symbols."""
    step = 1 if item.step is None else as_size(_bound(item.step))
    if not isinstance(step, int):
        raise NeedsConcreteSize(step, "the step of a slice", source.location())
    if step == 0:
        raise shape_error("a slice needs a step other than 0")
    ends = [None if end is None else as_size(_bound(end)) for end in (item.start, item.stop)]
    if isinstance(size, int) and all(end is None or isinstance(end, int) for end in ends):
        bounds = range(*slice(ends[0], ends[1], step).indices(size))
        return bounds.start, len(bounds), step
    if step > 0:
        first = 0 if ends[0] is None else _clip_low(ends[0], size)
        last = size if ends[1] is None else _clip_high(ends[1], size)
        extent = last - first
    else:
        first = size - 1 if ends[0] is None else _clip_top(ends[0], size)
        last = -1 if ends[1] is None else _clip_bottom(ends[1], size)
        extent = first - last
    stride = abs(step)
    count = sizes.maximum(sizes.floor_quotient(extent + (stride - 1), stride), 0)
    return first, count, step


# With no elements the start does not matter: a bound is clipped only where that changes the count.


def _clip_low(end: Size, size: Size) -> Size:
    counted = _is_counted_from_start(end, size, 0)
    return sizes.maximum(end, 0) if counted else sizes.maximum(size + end, 0)


def _clip_high(end: Size, size: Size) -> Size:
    return sizes.minimum(end, size) if _is_counted_from_start(end, size, 0) else size + end


def _clip_top(end: Size, size: Size) -> Size:
    return sizes.minimum(end, size - 1) if _is_counted_from_start(end, size, -1) else size + end


def _clip_bottom(end: Size, size: Size) -> Size:
    counted = _is_counted_from_start(end, size, -1)
    return sizes.maximum(end, -1) if counted else sizes.maximum(size + end, -1)


def _is_counted_from_start(end: Size, size: Size, least: int) -> bool:
    """Whether an end is never negative, or where it is, lies before ``least`` from either side."""
    if sizes.at_least(end, 0):
        return True
    if sizes.at_least(-1 - end, 0):
        return False
    names = sizes.symbols(end)
    if len(names) == 1 and set(sizes.symbols(size)) <= set(names):
        # n - 2 is negative for n = 0 and 1 alone: those can be looked at
        short = sizes.symbol(names[0]) - end
        if isinstance(short, int) and all(
            sizes.evaluate(end + size, {names[0]: length}) <= least for length in range(short)
        ):
            return True
    raise NeedsConcreteSize(end, "a slice", source.location())


def _bound(end: Any) -> Any:
    if isinstance(end, Tracer):
        known = end.known
        if known is None:
            raise trace_error(
                "a slice cannot begin or end at a traced value: its length would not be known",
                help="for a window of fixed length write x[i + np.arange(length)]",
            )
        return known.item()
    return end
