"""A part of a graph as a function of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gradc_ir.core.builder import Builder
from gradc_ir.core.graph import Function, Value, topological


def closed(
    function: Function,
    name: str,
    params: Sequence[Value],
    results: Sequence[Value],
    names: Sequence[str] | None = None,
) -> Function:
    """Return the function of the given values, which become parameters, to the results.

    All are values of ``function``; of a node with several results all that are read are given, or
    none.
    """
    builder = Builder()
    with builder:
        made = [builder.param(i, value.type) for i, value in enumerate(params)]
        new: dict[Value, Value] = dict(zip(params, made))
        sources = {value.node for value in params}
        for node in topological(params, results):
            if node not in sources:
                builder.copy(node, new, function.locations.get(node, ()))
        ends = [new[result] for result in results]
        return builder.function(name, made, ends, names, function.location)


def drop_results(function: Function, count: int) -> Function:
    """Return the function without its first ``count`` results."""
    return Function(
        function.name,
        function.params,
        function.results[count:],
        names=function.names,
        locations=function.locations,
        location=function.location,
    )


def chosen_results(function: Function, positions: Iterable[int]) -> Function:
    """Return the function with some of its results, in this order."""
    return Function(
        function.name,
        function.params,
        [function.results[position] for position in positions],
        names=function.names,
        locations=function.locations,
        location=function.location,
    )


def joined_results(function: Function, other: Function) -> Function:
    """Return a function that also has the results of another one, of its first parameters."""
    with Builder() as builder:
        types = function.param_types
        params = [builder.param(position, type_) for position, type_ in enumerate(types)]
        found = builder.inline(function, params)
        more = builder.inline(other, params[: len(other.params)])
        results = [*found, *more]
        return builder.function(
            function.name, params, results, names=function.names, location=function.location
        )
