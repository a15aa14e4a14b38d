"""The arguments of a function over many points: what stands for a point, and how they are given."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gradc.tracing import SizesMustMatch
from gradc.tracing.core.source import shape_error, trace_error
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import Size


@dataclass(frozen=True)
class PointLeaf:
    """A leaf of the arguments: what stands for it in the trace of a point.

    ``points`` is the array with the axis of points first, None for what they share; ``found`` tells
    how the leaf is reached, what it is, and how many points it has, for an error.
    """

    of_point: Any
    points: Value | None = None
    found: str = ""


def size_of_points(name: str, leaves: Sequence[PointLeaf]) -> Size:
    """Return the size that all mapped axes have."""
    found = [leaf.points.type.shape[0] for leaf in leaves if leaf.points is not None]
    if not found:
        raise trace_error(
            f"vmap of {name}: no argument is mapped",
            help="write an axis in in_axes for at least one array",
        )
    for size in found:
        if size != found[0]:
            error = shape_error(
                f"vmap of {name}: the mapped axes differ in size",
                found=[leaf.found for leaf in leaves if leaf.found],
                help="map axes of one size, and write None in in_axes for what all points share",
            )
            if isinstance(size, int) and isinstance(found[0], int):
                raise error
            raise SizesMustMatch(found[0], size, error)
    return found[0]


class _Default:
    """Stands for a default value, which is left to the function of a point."""

    def __repr__(self) -> str:
        return "..."


def signature_of(fn: Callable[..., Any], in_axes: Any) -> inspect.Signature:
    """Return how the mapped function is called.

    Where ``in_axes`` tells positional arguments from others it counts how an argument is given, so
    that no call may be turned into one of another form.
    """
    free = inspect.Signature(
        [
            inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
            inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
        ]
    )
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        return free
    if in_axes == 0 and not isinstance(in_axes, bool):
        return inspect.Signature(list(map(_without_default, parameters)))
    if not isinstance(in_axes, tuple | list):
        return free
    count = len(in_axes)
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if sum(parameter.kind in positional for parameter in parameters) < count:
        return free
    by_name = (*positional, inspect.Parameter.KEYWORD_ONLY)
    return inspect.Signature(
        [
            *(
                parameter.replace(
                    kind=inspect.Parameter.POSITIONAL_ONLY, default=inspect.Parameter.empty
                )
                for parameter in parameters[:count]
            ),
            *(
                _without_default(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
                if parameter.kind in by_name
                else parameter
                for parameter in parameters[count:]
                if parameter.kind is not inspect.Parameter.VAR_POSITIONAL
            ),
        ]
    )


def _without_default(parameter: inspect.Parameter) -> inspect.Parameter:
    if parameter.default is inspect.Parameter.empty:
        return parameter
    return parameter.replace(default=_Default())
