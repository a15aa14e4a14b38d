"""Splitting a function in two: what does not need some of the parameters, and the rest."""

from __future__ import annotations

from collections.abc import Sequence

from gradc.autodiff import zeros
from gradc.autodiff.cotangents.masks import Cotangent, filled
from gradc.autodiff.forward import push_linear
from gradc.autodiff.parameters import parameters
from gradc_ir.build import Builder
from gradc_ir.core import walk
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.graphs.subgraph import closed
from gradc_ir.passes.dce import RemoveDeadNodes

# built again in the second half from what is there: cheaper than keeping the result
_REBUILT = frozenset({"constant", "iota", "size", "broadcast"})


def split(
    function: Function, unknown: Sequence[int], later: int | None = None
) -> tuple[Function, Function]:
    """Split a function at what its parameters at ``unknown`` reach.

    Returns ``(known, rest)``. ``known`` takes the other parameters to the first results and then
    the residuals: the values the second half needs. ``rest`` takes the residuals and then the
    unknown parameters to the last ``later`` results; by default to all from the first that depends
    on an unknown parameter on. Constants and repetitions are not kept but built again.
    """
    hidden = [function.params[i] for i in unknown]
    given = [param for i, param in enumerate(function.params) if i not in set(unknown)]
    late = walk.depends_on(function, hidden)
    if later is None:
        first = (i for i, result in enumerate(function.results) if result.node in late)
        border = next(first, len(function.results))
    else:
        border = len(function.results) - later
    results = function.results[border:]
    late.update(node for node in function.nodes if node.op.name in _REBUILT)
    needed, residuals = read_late(function, results, late)
    residuals += _sizes_missing(function, given, residuals, hidden, needed)
    return (
        _half(function, "known", given, (*function.results[:border], *residuals)),
        _half(function, "rest", (*residuals, *hidden), results),
    )


def compose(
    function: Function, known: Function, rest: Function, unknown: Sequence[int]
) -> Function:
    """Return the function whose two halves these are, at what its parameters at ``unknown`` reach.

    Values of the first half that are equal, or constants, are so in the second.
    """
    hidden = set(unknown)
    with Builder() as builder:
        params = parameters(function.param_types)
        given = [param for i, param in enumerate(params) if i not in hidden]
        found = builder.inline(known, given)
        count = len(rest.params) - len(hidden)
        residuals = found[len(found) - count :]
        later = builder.inline(rest, [*residuals, *(params[i] for i in unknown)])
        results = [*found[: len(found) - count], *later]
        return builder.function(function.name, params, results, function.names, function.location)


def linear_part(rest: Function, count: int, given: Sequence[int]) -> Function:
    """Return a second half in which some of its unknown parameters are zeros that stay zero.

    ``count`` is how many unknown ones it has, its last parameters; those at the places ``given``
    among them stay, after the residuals.
    """
    first = len(rest.params) - count
    with Builder() as builder:
        kept = parameters(rest.param_types[:first])
        seeds = parameters((rest.param_types[first + i] for i in given), first)
        operands = [*kept, *(zeros.zeros(type_) for type_ in rest.param_types[first:])]
        found = push_linear(
            rest, operands, {first + i: Cotangent(seed) for i, seed in zip(given, seeds)}
        )
        results = filled(found, rest.result_types)
        return builder.function(f"{rest.name}_part", [*kept, *seeds], results)


def _half(
    function: Function, name: str, params: Sequence[Value], results: Sequence[Value]
) -> Function:
    """Return the function of the given values, which become parameters, to the results."""
    # a loop makes values and tangents at once: one that is asked for values alone needs no tangents
    every = tuple(dict.fromkeys((*params, *function.params)))
    lean = RemoveDeadNodes()(closed(function, f"{function.name}_{name}", every, results))
    return Function(
        lean.name,
        lean.params[: len(params)],
        lean.results,
        locations=lean.locations,
        location=lean.location,
    )


def read_late(
    function: Function, results: Sequence[Value], late: set[Node]
) -> tuple[set[Node], list[Value]]:
    """Return the late nodes that the results need, and what these and the results read of others.

    The values are in a fixed order.
    """
    running = {result.node for result in results if result.node in late}
    for node in reversed(function.nodes):
        if node in running:
            running.update(operand.node for operand in node.operands if operand.node in late)
    read = [operand for node in function.nodes if node in running for operand in node.operands]
    found = dict.fromkeys(value for value in (*read, *results) if value.node not in late)
    return running, list(found)


def _sizes_missing(
    function: Function,
    given: Sequence[Value],
    residuals: Sequence[Value],
    hidden: Sequence[Value],
    needed: set[Node],
) -> list[Value]:
    """Return parameters that only tell the second half a size that nothing else it takes has."""
    taken = (*residuals, *hidden)
    told = {name for value in taken for name in _told(value)}
    made = [result for node in needed for result in node.results]
    wanted = {name for value in (*taken, *made) for name in value.type.symbols}
    found: list[Value] = []
    for param in sorted(given, key=lambda param: (param.type.rank, str(param.type))):
        if (wanted - told) & _told(param):
            found.append(param)
            told |= _told(param)
    return found


def _told(value: Value) -> set[str]:
    """Return the sizes that the shape of an array of the value's type shows: n, but not 2 * n."""
    return {str(size) for size in value.type.shape if str(size).isidentifier()}
