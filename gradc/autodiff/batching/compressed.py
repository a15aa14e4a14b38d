"""Jacobians by few seeds: passes for sums of columns and of rows, of which elements are picked."""

from __future__ import annotations

from gradc.autodiff.batching import batch
from gradc.autodiff.forward import jvp
from gradc.autodiff.parameters import parameters
from gradc.autodiff.reverse import vjp
from gradc.sparsity.seeds import Seeds
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType, Type
from gradc_ir.graphs.subgraph import drop_results


def compressed(function: Function, wrt: int, seeds: Seeds) -> Function:
    """Return the function of some elements of the Jacobian of its first result by a parameter.

    Parameters: the function's; the tangents of forward mode, one a row, where there are any; the
    cotangents of reverse mode, likewise; the places of the elements, i64. They count the elements
    of the result for each tangent, then those of the parameter for each cotangent. The result is
    the elements there, of the parameter's dtype. Zeros of the seeds stay zero, whatever they meet.
    """
    of_input, of_result = function.param_types[wrt], function.result_types[0]
    more: list[Type] = []
    for count, type_ in ((seeds.forward, of_input), (seeds.reverse, of_result)):
        if count != 0:
            more.append(type_.with_shape((count, *type_.shape)))
    with Builder() as builder:
        params = parameters(function.param_types)
        given = parameters((*more, Type(DType.I64, (seeds.elements,))), len(params))
        *rows, places = given
        found = []
        if seeds.forward != 0:
            pushed = jvp(function, [wrt], [0], units=True, apart=True)
            found.append(_all(function, pushed, params, rows[0], seeds.forward))
        if seeds.reverse != 0:
            pulled = vjp(function, [wrt], [0], units=True, apart=True)
            found.append(_all(function, pulled, params, rows[-1], seeds.reverse))
        flat = [build.cast(build.reshape(one, (one.type.count,)), of_input.dtype) for one in found]
        whole = flat[0] if len(flat) == 1 else build.concatenate(flat, 0)
        return builder.function(
            function.name,
            [*params, *given],
            [build.gather(whole, [places], (0,))],
            names=(*function.names, *(f"seeds{i or ''}" for i in range(len(more))), "places"),
            location=function.location,
        )


def _all(
    function: Function, derivative: Function, params: list[Value], rows: Value, count: Size
) -> Value:
    """Return what a derivative makes of each row of seeds."""
    beside = drop_results(derivative, len(function.results))
    wide = batch(beside, [False] * len(params) + [True], count)
    return build.active().inline(wide, [*params, rows])[0]
