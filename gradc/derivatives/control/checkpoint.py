"""The derivative of a checkpoint is one, too: reverse mode runs its body again."""

from __future__ import annotations

from collections.abc import Sequence

from gradc.autodiff import active as activity
from gradc.autodiff.forward import jvp
from gradc.autodiff.table import Cotangents, Site, Tangents, joint_rule, reverse_rule
from gradc.derivatives.control.bodies import Bodies
from gradc_ir import build, ops
from gradc_ir.core.graph import Function, Value


@joint_rule(ops.checkpoint)
def push_through_checkpoint(site: Site, tangents: Tangents) -> tuple[list[Value], Tangents]:
    """A checkpoint: the checkpoint of the body with its tangents."""
    body: Function = site.attributes["body"]
    active = activity.active_in_body(
        body, [tangent is not None for tangent in tangents], site.asked
    )
    asked = [i for i, is_active in enumerate(active.results) if is_active]
    more = [
        tangent for i, tangent in enumerate(tangents) if active.params[i] and tangent is not None
    ]
    found = build.checkpoint(jvp(body, active.wrt, asked), [*site.operands, *more])
    made = iter(found[len(body.results) :])
    pushed = [next(made) if is_active else None for is_active in active.results]
    return list(found[: len(body.results)]), pushed


@reverse_rule(ops.checkpoint, accumulates=True)
def pull_through_checkpoint(site: Site, cotangents: Cotangents) -> Cotangents:
    """A checkpoint: the body again, and its cotangents, each added to the sum there is."""
    body: Function = site.attributes["body"]
    asked = [cotangent is not None for cotangent in cotangents]
    wrt = activity.active_in_body(body, site.wanted, asked).wrt

    def run(bodies: Sequence[Function], operands: Sequence[Value]) -> Sequence[Value]:
        return build.checkpoint(bodies[0], operands)

    return Bodies(site, [body], wrt, cotangents, run).pull()
