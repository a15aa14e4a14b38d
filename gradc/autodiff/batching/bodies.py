"""Bodies of control flow over all points: closed functions, built beside the graph that uses them.

Where a body heeds the mask, it takes the mask as its first parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from gradc.autodiff.batching.points import Mapped, Points
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.types import DType, Type

Finish = Callable[[Points, int, Mapped], Value]


class Body(NamedTuple):
    """A body over all points.

    ``bases`` has for each result the position of the parameter that it is for all points that are
    not at work, None where it is not known to be one.
    """

    function: Function
    bases: tuple[int | None, ...]


@contextmanager
def building() -> Iterator[Builder]:
    """Build a function of its own, whose nodes come from the line that is being built."""
    here = build.active().here
    with Builder() as builder, builder.at(here):
        yield builder


def mask_of(points: Points, *bodies: Function) -> list[Value]:
    """Return the mask, as the operands that bodies take before their own; none without need."""
    needed = any(points.varying.heeds_mask(body) for body in bodies)
    return [points.mask] if points.mask is not None and needed else []


def mask_type(points: Points) -> Type:
    """Return the type of a mask."""
    return Type(DType.BOOL, (points.size,))


def body_of(
    points: Points, function: Function, flags: Sequence[bool], masked: bool, finish: Finish
) -> Body:
    """Return a function over all points, those parameters with their axis whose flag is set.

    ``finish`` makes each result, by its position, of what the function made.
    """
    with building() as builder:
        given = [build.active().param(0, mask_type(points))] if masked else []
        inside = points.masked(given[0] if masked else None)
        params = inside.parameters(function.param_types, flags, after=len(given))
        found = inside.run(function, params)
        values = [*given, *(param.value for param in params)]
        results = [finish(inside, i, result) for i, result in enumerate(found)]
        bases = tuple(position(values, inside.base(result)) for result in results)
        made = builder.function(function.name, values, results, location=function.location)
    return Body(made, bases)


def position(values: Sequence[Value], value: Value) -> int | None:
    """Return where a value stands among others, None where it does not."""
    return next((i for i, each in enumerate(values) if each is value), None)


def spread_where(flags: Sequence[bool]) -> Finish:
    """Return what gives those results the axis of points whose flag is set."""

    def finish(points: Points, i: int, result: Mapped) -> Value:
        return points.spread(*result) if flags[i] else result.value

    return finish
