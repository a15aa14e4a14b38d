"""The derivative of a cond: a cond of the branches' derivatives; only the one taken runs.

Reverse mode runs the branch that was taken again: what it would have to keep differs from branch to
branch.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradc.autodiff import active as activity
from gradc.autodiff.cotangents.masks import Mask
from gradc.autodiff.forward import jvp
from gradc.autodiff.table import Cotangents, Site, Tangents, joint_rule, reverse_rule
from gradc.derivatives.control.bodies import Bodies
from gradc_ir import build, ops
from gradc_ir.core.graph import Function, Value


@joint_rule(ops.cond)
def push_through_cond(site: Site, tangents: Tangents) -> tuple[list[Value], Tangents]:
    """A cond: the cond of the branches with their tangents."""
    given = tangents[1:]
    active = _active(site, [tangent is not None for tangent in given], site.asked)
    wrt = sorted({i for branch in active for i in branch.wrt})
    asked = [i for i in range(len(site.asked)) if any(branch.results[i] for branch in active)]
    then, otherwise = (jvp(branch, wrt, asked) for branch in _branches(site))
    more = [given[i] for i in wrt]
    found = build.cond(site.operands[0], then, otherwise, [*site.operands[1:], *more])  # type: ignore[list-item]
    count = len(site.asked)
    pushed: list[Value | None] = [None] * count
    for position, tangent in zip(asked, found[count:]):
        pushed[position] = tangent
    return list(found[:count]), pushed


@reverse_rule(ops.cond, accumulates=True)
def pull_through_cond(site: Site, cotangents: Cotangents) -> Cotangents:
    """A cond: the cond of the branches' cotangents, each added to the sum there is."""
    asked = [cotangent is not None for cotangent in cotangents]
    active = _active(site, site.wanted[1:], asked)
    wrt = sorted({i for branch in active for i in branch.wrt})
    pred = site.operands[0]

    def run(bodies: Sequence[Function], operands: Sequence[Value]) -> Sequence[Value]:
        then, otherwise = bodies
        return build.cond(pred, then, otherwise, operands)

    bodies = Bodies(site, _branches(site), wrt, cotangents, run, first=1)
    known = {}
    for i in wrt:
        reads = [branch.params[i] for branch in active]
        if not all(reads) and not bodies.masked(i)[reads.index(True)]:
            whole = build.broadcast(pred, site.operands[1 + i].type.shape, ())
            known[i] = Mask(condition=whole, holds=reads[0])
    return bodies.pull(known)


def _active(site: Site, given: Sequence[bool], asked: Sequence[bool]) -> list[activity.Active]:
    return [activity.active_in_body(branch, given, asked) for branch in _branches(site)]


def _branches(site: Site) -> tuple[Function, Function]:
    return site.attributes["then"], site.attributes["otherwise"]
