"""Forward mode: a function and its tangents, from each op's partials or by its own linearity."""

from __future__ import annotations

from collections.abc import Sequence

from gradc.autodiff import masks, zeros
from gradc.autodiff.active import active_nodes
from gradc.autodiff.masks import Cotangent
from gradc.autodiff.open_calls import open_ruleless
from gradc.derivatives.registry import Site, derivative_of
from gradc_ir.build import Builder
from gradc_ir.graph import Function, Value


def jvp(function: Function, wrt: Sequence[int]) -> Function:
    """Return the function that also pushes tangents forward.

    Parameters: the function's, then one tangent for each position in ``wrt``, of the parameter's
    type. Results: the function's, then the tangent of each float result, in order.

    Raises DTypeError when a parameter of ``wrt`` is no float, NoGradientError when an op on the way
    from it to a float result has no derivative.
    """
    function = open_ruleless(function)
    zeros.check_wrt(function, wrt)
    active = active_nodes(function, wrt, function.results)
    builder = Builder()
    with builder:
        params = [builder.param(i, type_) for i, type_ in enumerate(function.param_types)]
        seeds = [
            builder.param(len(params) + i, function.params[position].type)
            for i, position in enumerate(wrt)
        ]
        new: dict[Value, Value] = dict(zip(function.params, params))
        tangents: dict[Value, Cotangent] = {}
        for position, seed in zip(wrt, seeds):
            param = function.params[position]
            total = masks.add(tangents.get(param), Cotangent(seed))
            assert total is not None
            tangents[param] = total
        for node in function.body:
            locations = function.locations.get(node, ())
            made = builder.copy(node, new, locations)
            if node not in active:
                continue
            incoming = [tangents.get(operand) for operand in node.operands]
            if all(tangent is None for tangent in incoming):
                continue
            builder.here = locations
            derivative = derivative_of(node, function)
            wanted = tuple(tangent is not None for tangent in incoming)
            site = Site(node.op, made.results, made.operands, node.attributes, wanted)
            assert derivative.forward is not None
            for result, tangent in zip(node.results, derivative.forward(site, incoming)):
                if tangent is not None and result.type.dtype.is_float:
                    tangents[result] = tangent
        builder.here = ()
        outgoing = [
            zeros.zeros(result.type) if tangent is None else tangent.solid()
            for result, tangent in ((result, tangents.get(result)) for result in function.results)
            if result.type.dtype.is_float
        ]
        names = (*function.names, *(f"d{function.names[position]}" for position in wrt))
        results = [new[result] for result in function.results]
        return builder.function(
            f"{function.name}_jvp", params + seeds, results + outgoing, names, function.location
        )
