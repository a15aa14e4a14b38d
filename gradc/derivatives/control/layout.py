"""What the derivatives of control flow share: the order of parameters, and sums to start from."""

from __future__ import annotations

from collections.abc import Sequence

from gradc.autodiff import zeros
from gradc.autodiff.table import Site
from gradc_ir.core.graph import Function, Value, topological
from gradc_ir.graphs.subgraph import closed


def arranged(function: Function, params: Sequence[int], results: Sequence[int]) -> Function:
    """Return the function with the parameters and results at these positions, in this order."""
    return closed(
        function,
        function.name,
        [function.params[i] for i in params],
        [function.results[i] for i in results],
    )


def begun(site: Site, position: int) -> Value:
    """Return the sum that the cotangent of an operand is to be added to."""
    total = site.totals[position] if site.totals else None
    return zeros.zeros(site.operands[position].type) if total is None else total.solid()


def reads(function: Function, position: int) -> bool:
    """Whether a function reads a parameter."""
    return function.params[position].node in topological((), function.results)
