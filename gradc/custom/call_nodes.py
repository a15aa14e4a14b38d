"""How the functions of a ``call`` node are put together: one list of operands for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradc.autodiff.parameters import with_parameters
from gradc.tracing import Subtrace
from gradc.tracing.core.state import running
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.types import Type
from gradc_ir.location import Location


def attributes_of(
    name: str,
    paths: Sequence[str],
    body: Subtrace,
    vjp: Subtrace | None,
    jvp: Subtrace | None,
    *,
    line: Location | None,
    covers_variables: bool,
) -> dict[str, Any]:
    """Return what ``build.call`` takes: all functions with parameters for all operands.

    What only a rule captured comes after the operands of the value.

    Parameters
    ----------
    name: what the function is called.
    paths: how each of its arguments is reached.
    body: of the arguments, and what the value captures, to the value.
    vjp: of the same and a cotangent for each result, to gradients by the same.
    jvp: of the same and as many tangents, to a tangent for each result.
    line: where the function is defined.
    covers_variables: whether the rules know of derivatives by what the value captures.
    """
    own = [x for x in body.operands if x is not None]
    captured = [x for sub in (vjp, jvp) if sub for x in sub.captured]
    late = list(dict.fromkeys(x for x in captured if x not in body.captured))
    operands = [*own, *late]
    places = {x: i for i, x in enumerate(operands) if i >= len(own) - len(body.captured)}
    types = [operand.type for operand in operands]
    results = body.function.result_types

    def closed(sub: Subtrace, kind: str, further: Sequence[Type], read: int) -> Function:
        """Return a rule; it reads the first few of its further parameters."""
        further_places = range(len(types), len(types) + read)
        captured = (places[value] for value in sub.captured)
        own_places = [*range(len(own)), *further_places, *captured]
        # a rule has no gradients of what only the other one captured
        missing = types[len(sub.function.results) :] if kind == "vjp" else ()
        every = [*types, *further]
        return with_parameters(sub.function, every, own_places, f"{name}_{kind}", missing)

    names = [*paths, *map(_name_of, operands[-len(places) or len(own) :])]
    arguments = own[: len(own) - len(body.captured)]
    unknown = [*late]
    if not covers_variables:
        # what is made of the arguments alone is behind them, and no further place to change
        unknown += [x for x in body.captured if not _is_made_of(x, arguments)]
    floats = {places[value] for value in unknown if value.type.dtype.is_float}
    if vjp is None and jvp is None:
        floats = set(range(len(operands)))
    value = with_parameters(body.function, types, range(len(own)))
    return {
        "operands": operands,
        "name": name,
        "body": Function(
            name,
            value.params,
            value.results,
            names=names,
            locations=value.locations,
            location=line,
        ),
        "vjp": vjp and closed(vjp, "vjp", results, len(results)),
        "jvp": jvp and closed(jvp, "jvp", types, len(own)),
        "constants": [one if i in floats else "" for i, one in enumerate(names)],
    }


def _is_made_of(value: Value, arguments: Sequence[Value]) -> bool:
    """Whether all floats that a value depends on are arguments or depend on these."""
    pending, seen = [value], {*arguments}
    while pending:
        each = pending.pop()
        if each in seen or not each.type.dtype.is_float or each.op.name == "stop_gradient":
            continue
        if each.op.name == "param":
            return False
        seen.add(each)
        pending += each.operands
    return True


def _name_of(value: Value) -> str:
    """Return what a user calls a captured value: an array by its name, any other by its type."""
    trace = running()
    while True:
        outside = next((one for one, inner in trace.lifted.items() if inner is value), None)
        if outside is not None and trace.outer is not None:
            value, trace = outside, trace.outer
            continue
        if value in trace.params:
            position = trace.params.index(value)
            names = list(trace.names if trace.name_params is None else trace.name_params())
            names += [capture.name for capture in trace.captures]
            if position < len(names):
                return names[position]
        return f"a value of type {value.type}"
