"""``batch``: a Function of one point to the Function of many."""

from __future__ import annotations

from collections.abc import Sequence

from gradc.autodiff.batching import branches, foreign, index, linalg, loops, shape
from gradc.autodiff.batching.points import Mapped, Points, Rule, ValueRule, all_vary, elementwise
from gradc.autodiff.batching.varying import Varying
from gradc_ir.build import Builder
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.op import Op
from gradc_ir.core.sizes import Size
from gradc_ir.errors import TraceError

_VALUE_RULES: dict[str, ValueRule] = {
    **shape.RULES,
    **index.RULES,
    **linalg.RULES,
    **foreign.RULES,
}
_RULES: dict[str, Rule] = {
    **{name: all_vary(made) for name, made in _VALUE_RULES.items()},
    **loops.RULES,
    **branches.RULES,
}
# of each family whose ops differ in their attributes only
_FAMILIES: dict[str, Rule] = {
    "elementwise": all_vary(elementwise),
    "composed": all_vary(elementwise),
    "special": all_vary(elementwise),
    "unbounded": all_vary(elementwise),
    "reduce": all_vary(shape.reduction),
    "order": all_vary(shape.along_axis),
    "factor": all_vary(linalg.stacked),
}


def rule_of(op: Op) -> Rule:
    """Return the batching rule of an op; raises TraceError where there is none."""
    found = _RULES.get(op.name) or _FAMILIES.get(op.family)
    if found is None:
        raise TraceError(
            f"{op.name} cannot be batched",
            help="take the Jacobian or the map of a function without it",
        )
    return found


def batch(function: Function, batched: Sequence[bool], size: Size) -> Function:
    """Return the function over ``size`` points at once.

    Parameters
    ----------
    function: the function of one point.
    batched: for each parameter, whether it has a leading axis of points in the new function; the
        others are shared by all points.
    size: how many points.

    Every result of the new function has the leading axis.
    """
    return batch_each(function, batched, size, [True] * len(function.results))[0]


def batch_each(
    function: Function, batched: Sequence[bool], size: Size, wanted: Sequence[bool]
) -> tuple[Function, tuple[bool, ...]]:
    """Return the function over ``size`` points, and which of its results have the axis of points.

    As :func:`batch`, but only those results have the leading axis that are ``wanted`` with it, and
    those that vary from point to point.
    """
    with Builder() as builder:
        points = Points(size, None, rule_of, Varying())
        params = points.parameters(function.param_types, batched)
        found = points.run(function, params)
        flags = tuple(has or want for (_, has), want in zip(found, wanted, strict=True))
        made = builder.function(
            function.name,
            [param.value for param in params],
            [
                points.spread(*result) if flag else result.value
                for result, flag in zip(found, flags)
            ],
            names=function.names,
            location=function.location,
        )
    return made, flags


def at_points(
    function: Function, shared: Sequence[Value], rows: Sequence[Value], size: Size
) -> list[Value]:
    """Build a function at points here, and return its results, each with the leading axis.

    Parameters
    ----------
    function: of one point.
    shared: its first operands, the same for all points.
    rows: those with a leading axis of points.
    size: how many points.

    Both branches are run where points do not agree, whether or not there is a point that takes one:
    an axis that is indexed in a branch has an element.
    """
    points = Points(size, None, rule_of, Varying(), both=True)
    operands = [*(Mapped(x, False) for x in shared), *(Mapped(x, True) for x in rows)]
    return points.spread_all(points.run(function, operands))
