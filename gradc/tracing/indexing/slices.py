"""Slices of axes: start, count and step, exact for every value of a symbolic size."""

from __future__ import annotations

from typing import Any

from gradc.tracing.building.needed import need_number
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
    forwards = step > 0
    # where the end before the first element is, counted from either side
    least = 0 if forwards else -1
    lower, upper = ends if forwards else ends[::-1]
    low = least if lower is None else _clip_low(lower, size, least)
    high = size + least if upper is None else _clip_high(upper, size, least)
    stride = abs(step)
    count = sizes.maximum(sizes.floor_quotient(high - low + (stride - 1), stride), 0)
    return low if forwards else high, count, step


# With no elements the start does not matter: a bound is clipped only where that changes the count.


def _clip_low(end: Size, size: Size, least: int) -> Size:
    counted = _is_counted_from_start(end, size, least)
    return sizes.maximum(end if counted else size + end, least)


def _clip_high(end: Size, size: Size, least: int) -> Size:
    counted = _is_counted_from_start(end, size, least)
    return sizes.minimum(end, size + least) if counted else size + end


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
            need_number(end, "a slice")
            raise trace_error(
                "a slice cannot begin or end at a traced value: its length would not be known",
                help="for a window of fixed length write x[i + np.arange(length)]",
            )
        return known.item()
    return end
