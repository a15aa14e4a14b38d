"""Forward mode: a function and its tangents, from each op's partials or by its own linearity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gradc.autodiff import zeros
from gradc.autodiff.active import active_values
from gradc.autodiff.constants import check_constants
from gradc.autodiff.cotangents import masks
from gradc.autodiff.cotangents.masks import Cotangent
from gradc.autodiff.formulas import Formulas
from gradc.autodiff.open_calls import open_ruleless
from gradc.autodiff.parameters import parameters
from gradc.autodiff.table import Site, derivative_of
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.graph import Function, Value
from gradc_ir.location import derivatives, parts


def jvp(
    function: Function,
    wrt: Sequence[int],
    asked: Sequence[int] | None = None,
    *,
    units: bool = False,
    apart: bool = False,
) -> Function:
    """Return the function that also pushes tangents forward.

    Parameters: the function's, then one tangent for each position in ``wrt``, of the parameter's
    type. Results: the function's, then the tangent of each float result, in order; or of those at
    the positions in ``asked``. ``units``: the tangents are unit arrays, whose zeros stay zero.
    ``apart``: what is known of a derivative is multiplied first, and with the tangent last.

    Raises DTypeError when a parameter of ``wrt`` is no float, NoGradientError when an op on the way
    from it to a float result has no derivative.
    """
    function = open_ruleless(function)
    zeros.check_wrt(function, wrt)
    if asked is None:
        asked = [i for i, type_ in enumerate(function.result_types) if type_.dtype.is_float]
    ends = [function.results[position] for position in asked]
    active = active_values(function, wrt, ends)
    check_constants(function, wrt, active)
    builder = Builder()
    with builder:
        params = parameters(function.param_types)
        seeds = parameters((function.params[i].type for i in wrt), len(params))
        new: dict[Value, Value] = dict(zip(function.params, params))
        tangents: dict[Value, Cotangent] = {}
        for position, seed in zip(wrt, seeds):
            param = function.params[position]
            pushed = masks.unit(seed) if units else Cotangent(seed)
            pushed = pushed.apart() if apart else pushed
            total = masks.add(tangents.get(param), pushed)
            assert total is not None
            tangents[param] = total
        _push(function, active, builder, new, tangents, apart)
        builder.here = ()
        outgoing = masks.filled(map(tangents.get, ends), [result.type for result in ends])
        names = (*function.names, *(f"d{function.names[position]}" for position in wrt))
        results = [new[result] for result in function.results]
        return builder.function(
            f"{function.name}_jvp", params + seeds, results + outgoing, names, function.location
        )


def push_linear(
    function: Function, operands: Sequence[Value], given: Mapping[int, Cotangent]
) -> list[Cotangent | None]:
    """Build a function that is linear in some parameters, in the active builder, keeping masks.

    Parameters
    ----------
    function: what is built; only its results are.
    operands: a value for each parameter; those it is linear in do not count.
    given: what the parameters are that it is linear in; all others of these are zero.

    Returns a cotangent for each result, None for zero.
    """
    function = open_ruleless(function)
    ends = [result for result in function.results if result.type.dtype.is_float]
    active = active_values(function, tuple(given), ends)
    new = dict(zip(function.params, operands, strict=True))
    tangents: dict[Value, Cotangent] = {}
    for position, cotangent in given.items():
        param = function.params[position]
        new[param] = zeros.zeros(param.type)
        tangents[param] = cotangent
    builder = build.active()
    with builder.at(builder.here):
        _push(function, active, builder, new, tangents)
    return [tangents.get(result) for result in function.results]


def _push(
    function: Function,
    active: set[Value],
    builder: Builder,
    new: dict[Value, Value],
    tangents: dict[Value, Cotangent],
    apart: bool = False,
) -> None:
    """Build a function's nodes and the tangents that those of its parameters lead to."""
    outer = builder.here
    formulas = Formulas(function, new, tangents) if apart else None
    for node in function.body:
        lines = builder.here = function.locations.get(node, ()) or outer
        pushing = derivatives(lines, "d")
        wanted = tuple([x in tangents or _waits(formulas, x) for x in node.operands])
        reaches = tuple(result in active for result in node.results)
        if not any(wanted) or not any(reaches):
            builder.copy(node, new)
            continue
        if formulas is not None:
            if formulas.takes(node):
                builder.copy(node, new)
                continue
            builder.here = parts(pushing)
            for operand in node.operands:
                formulas.settle(operand)
        incoming = [tangents.get(operand) for operand in node.operands]
        derivative = derivative_of(node, function)
        operands = tuple(new[operand] for operand in node.operands)
        site = Site(node.op, (), operands, node.attributes, wanted, reaches)
        found: Sequence[Cotangent | None]
        if derivative.joint:
            builder.here = parts(lines)
            made, pushed = derivative.joint(site, masks.plain(incoming))
            for value in made:
                builder.replace(value, lines)
            new.update(zip(node.results, made, strict=True))
            found = masks.unmasked(pushed)
        else:
            site = site._replace(results=builder.copy(node, new, lines).results)
            assert derivative.forward is not None
            builder.here = parts(pushing)
            found = derivative.forward(site, incoming)
        for result, tangent in zip(node.results, found):
            if tangent is not None and result.type.dtype.is_float:
                builder.replace(tangent.factor, pushing)
                tangents[result] = tangent.apart() if apart else tangent
    if formulas is not None:
        for result in function.results:
            formulas.settle(result)


def _waits(formulas: Formulas | None, value: Value) -> bool:
    return formulas is not None and formulas.waits(value)
