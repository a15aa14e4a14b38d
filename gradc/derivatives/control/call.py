"""The derivative of a call is its own rule; the direction it does not have is its transpose."""

from __future__ import annotations

from gradc.autodiff.masks import Cotangent
from gradc.autodiff.zeros import solid
from gradc.derivatives.control.layout import solid_cotangents
from gradc.derivatives.registry import Cotangents, Site, Tangents, forward_rule, reverse_rule
from gradc_ir import build, ops


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
    types = [result.type for result in site.results]
    given = solid_cotangents(cotangents, types)
    found = build.active().inline(rule, [*site.operands, *given])
    return [Cotangent(value) for value in found]
