"""Parameters of functions that are made here: new ones, and more of them than are read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gradc.autodiff import zeros
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.types import Type


def parameters(types: Iterable[Type], first: int = 0) -> list[Value]:
    """Return parameters of these types of the function that is being built, from a position on."""
    return [build.active().param(i, type_) for i, type_ in enumerate(types, first)]


def with_parameters(
    function: Function,
    types: Sequence[Type],
    places: Iterable[int],
    name: str | None = None,
    more: Iterable[Type] = (),
) -> Function:
    """Return the function with parameters of these types; its own are those at ``places``.

    ``more``: its results are followed by zeros of these types.
    """
    with Builder() as builder:
        params = parameters(types)
        found = builder.inline(function, [params[i] for i in places])
        results = [*found, *map(zeros.zeros, more)]
        return builder.function(name or function.name, params, results, location=function.location)
