"""Derivatives of control flow: a call's own rule, the branches of a cond; loops have none yet."""

from __future__ import annotations

from collections.abc import Callable

from gradc.autodiff.masks import Cotangent
from gradc.autodiff.zeros import solid, zeros
from gradc.derivatives.registry import (
    Cotangents,
    Site,
    Tangents,
    forward_rule,
    nondifferentiable,
    reverse_rule,
)
from gradc_ir import build, ops
from gradc_ir.graph import Function, Value


@forward_rule(ops.call)
def push_through_call(site: Site, tangents: Tangents) -> Tangents:
    """A call: its jvp, or the transpose of its vjp, inlined."""
    from gradc.autodiff.transpose import forward_of

    filled = [solid(t, operand.type) for t, operand in zip(tangents, site.operands)]
    rule = forward_of(site.attributes["name"], site.attributes)
    return build.active().inline(rule, [*site.operands, *filled])


@reverse_rule(ops.call)
def pull_through_call(site: Site, cotangents: Cotangents) -> Cotangents:
    """A call: its vjp, or the transpose of its jvp, inlined."""
    from gradc.autodiff.transpose import reverse_of

    rule = reverse_of(site.attributes["name"], site.attributes)
    found = build.active().inline(rule, [*site.operands, *_filled(site, cotangents)])
    return [Cotangent(value) for value in found]


def _filled(site: Site, cotangents: Cotangents) -> list[Value]:
    return [
        zeros(result.type) if cotangent is None else cotangent.solid()
        for cotangent, result in zip(cotangents, site.results)
    ]


@forward_rule(ops.cond)
def push_through_cond(site: Site, tangents: Tangents) -> Tangents:
    """A cond: the cond of the branches' tangents."""
    from gradc.autodiff.forward import jvp

    _, *given = tangents
    wrt = [i for i, tangent in enumerate(given) if tangent is not None]
    count = len(site.results)

    def pushed(branch: Function) -> Function:
        return _without_first(jvp(branch, wrt), count)

    found = iter(_cond(site, pushed, [given[i] for i in wrt]))  # type: ignore[misc]
    return [next(found) if result.type.dtype.is_float else None for result in site.results]


@reverse_rule(ops.cond)
def pull_through_cond(site: Site, cotangents: Cotangents) -> Cotangents:
    """A cond: the cond of the branches' cotangents."""
    from gradc.autodiff.reverse import vjp

    wrt = [i for i, wanted in enumerate(site.wanted[1:]) if wanted]
    count = len(site.results)
    seeds = [
        value
        for value, result in zip(_filled(site, cotangents), site.results)
        if result.type.dtype.is_float
    ]

    def pulled(branch: Function) -> Function:
        return _without_first(vjp(branch, wrt), count)

    found = dict(zip(wrt, _cond(site, pulled, seeds)))
    gradients = [Cotangent(found[i]) if i in found else None for i in range(len(site.wanted) - 1)]
    return [None, *gradients]


def _cond(site: Site, derive: Callable[[Function], Function], more: list[Value]) -> list[Value]:
    """Return the cond of both branches' derivatives, on the operands and ``more``."""
    return list(
        build.apply_all(
            "cond",
            *site.operands,
            *more,
            then=derive(site.attributes["then"]),
            otherwise=derive(site.attributes["otherwise"]),
        )
    )


def _without_first(function: Function, count: int) -> Function:
    return Function(
        function.name,
        function.params,
        function.results[count:],
        names=function.names,
        locations=function.locations,
        location=function.location,
    )


nondifferentiable(
    ops.scan, ops.while_,
    why="is a loop in the graph, and loops in the graph cannot be differentiated yet; "
    "a Python `for` over a range of known length can",
)  # fmt: skip
