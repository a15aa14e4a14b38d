"""The derivative of a call is its own rule; the direction it does not have is its transpose.

What comes with masks is pushed through the rule as tangents are, if the rule is linear: a zero that
stays zero does so through a rule of the user's too.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradc.autodiff.cotangents.masks import filled, unmasked
from gradc.autodiff.forward import push_linear
from gradc.autodiff.table import Cotangents, Site, masked_forward_rule, reverse_rule
from gradc.autodiff.transpose import forward_of, is_plainly_linear, reverse_of
from gradc_ir import build, ops
from gradc_ir.core.graph import Function
from gradc_ir.core.types import Type


@masked_forward_rule(ops.call)
def push_through_call(site: Site, tangents: Cotangents) -> Cotangents:
    """A call: its jvp, or the transpose of its vjp, inlined."""
    rule = forward_of(site.attributes["name"], site.attributes)
    return _applied(rule, site, tangents, [operand.type for operand in site.operands])


@reverse_rule(ops.call)
def pull_through_call(site: Site, cotangents: Cotangents) -> Cotangents:
    """A call: its vjp, or the transpose of its jvp, inlined."""
    rule = reverse_of(site.attributes["name"], site.attributes)
    return _applied(rule, site, cotangents, [result.type for result in site.results])


def _applied(rule: Function, site: Site, given: Cotangents, types: Sequence[Type]) -> Cotangents:
    """Return what a rule makes of a site's operands and of tangents or cotangents."""
    plain = filled(given, types)
    count = len(site.operands)
    masked = any(x is not None and x.mask is not None for x in given)
    if masked and is_plainly_linear(rule, count):
        there = {count + i: x for i, x in enumerate(given) if x is not None}
        return push_linear(rule, [*site.operands, *plain], there)
    return unmasked(build.active().inline(rule, [*site.operands, *plain]))
