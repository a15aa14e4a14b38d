"""The derivatives of cond and checkpoint, bodies that run once: the same op of their derivatives.

Reverse mode runs a body again: what a branch would have to keep differs from branch to branch, and
to keep nothing is what a checkpoint is for.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradc.autodiff import active as activity
from gradc.autodiff.cotangents.mask import Mask
from gradc.autodiff.forward import jvp
from gradc.autodiff.table import Cotangents, Site, Tangents, joint_rule, reverse_rule
from gradc.derivatives.control.bodies import Bodies
from gradc_ir import build, ops
from gradc_ir.core.graph import Function, Value
from gradc_ir.graphs.control_flow import Roles


class _Branches:
    """The bodies of a site, of which one runs, and what is active in each."""

    def __init__(self, site: Site, given: Sequence[bool], asked: Sequence[bool]) -> None:
        roles = Roles.by_name(site.op.name, site.attributes, len(site.operands))
        assert roles is not None
        self.bodies, self.first = roles.bodies, roles.first
        self.pred, self.operands = site.operands[: self.first], site.operands[self.first :]
        self.active = [
            activity.active_in_body(body, given[self.first :], asked) for body in self.bodies
        ]
        self.wrt = sorted({i for each in self.active for i in each.wrt})

    def run(self, bodies: Sequence[Function], operands: Sequence[Value]) -> Sequence[Value]:
        """Return the results of other bodies under the same condition."""
        if not self.pred:
            return build.checkpoint(bodies[0], operands)
        then, otherwise = bodies
        return build.cond(self.pred[0], then, otherwise, operands)


def push_through_branches(site: Site, tangents: Tangents) -> tuple[list[Value], Tangents]:
    """A cond, or a checkpoint: that of the bodies with their tangents."""
    given = [tangent is not None for tangent in tangents]
    branches = _Branches(site, given, site.asked)
    count, wrt = len(site.asked), branches.wrt
    asked = [i for i in range(count) if any(each.results[i] for each in branches.active)]
    more = [x for i in wrt if (x := tangents[branches.first + i]) is not None]
    both = [jvp(body, wrt, asked) for body in branches.bodies]
    found = branches.run(both, [*branches.operands, *more])
    made = dict(zip(asked, found[count:]))
    return list(found[:count]), [made.get(i) for i in range(count)]


def pull_through_branches(site: Site, cotangents: Cotangents) -> Cotangents:
    """A cond, or a checkpoint: that of the bodies' cotangents, each added to the sum there is."""
    asked = [cotangent is not None for cotangent in cotangents]
    branches = _Branches(site, site.wanted, asked)
    bodies = Bodies(
        site, branches.bodies, branches.wrt, cotangents, branches.run, first=branches.first
    )
    known = {}
    for i in branches.wrt:
        reads = [each.params[i] for each in branches.active]
        if not all(reads) and not bodies.masked(i)[reads.index(True)]:
            whole = build.broadcast(branches.pred[0], branches.operands[i].type.shape, ())
            known[i] = Mask(condition=whole, holds=reads[0])
    return bodies.pull(known)


for _op in (ops.cond, ops.checkpoint):
    joint_rule(_op)(push_through_branches)
    reverse_rule(_op, accumulates=True)(pull_through_branches)
