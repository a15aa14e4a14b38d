"""What the derivatives of control flow share: the order of parameters, and sums to start from."""

from __future__ import annotations

from collections.abc import Sequence

from gradc.autodiff import zeros
from gradc.autodiff.table import Cotangents, Site
from gradc_ir.build import Builder
from gradc_ir.core.graph import Function, Value, topological
from gradc_ir.core.types import Type
from gradc_ir.graphs.subgraph import closed


def arranged(function: Function, params: Sequence[int], results: Sequence[int]) -> Function:
    """Return the function with the parameters and results at these positions, in this order."""
    return closed(
        function,
        function.name,
        [function.params[i] for i in params],
        [function.results[i] for i in results],
    )


def solid_cotangents(cotangents: Cotangents, types: Sequence[Type]) -> list[Value]:
    """Return a plain value for each cotangent: zeros where there is none."""
    return [
        zeros.zeros(type_) if cotangent is None else cotangent.solid()
        for cotangent, type_ in zip(cotangents, types)
    ]


def begun(site: Site, position: int) -> Value:
    """Return the sum that the cotangent of an operand is to be added to."""
    total = site.totals[position] if site.totals else None
    return zeros.zeros(site.operands[position].type) if total is None else total.solid()


def reads(function: Function, position: int) -> bool:
    """Whether a function reads a parameter."""
    return function.params[position].node in topological((), function.results)


def with_more_params(function: Function, types: Sequence[Type]) -> Function:
    """Return the function with more parameters at the end, which it does not read."""
    with Builder() as builder:
        params = [builder.param(i, t) for i, t in enumerate((*function.param_types, *types))]
        results = builder.inline(function, params[: len(function.params)])
        return builder.function(function.name, params, results, location=function.location)
