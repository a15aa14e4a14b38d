"""The derivative of a cond: a cond of the branches' derivatives; only the one taken runs.

Reverse mode runs the branch that was taken again: what it would have to keep differs from branch to
branch.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradc.autodiff import active as activity
from gradc.autodiff.masks import Cotangent, Mask, either
from gradc.derivatives.control.layout import pulled_bodies
from gradc.derivatives.control.reads import mask_of_reads
from gradc.derivatives.registry import Cotangents, Site, Tangents, joint_rule, reverse_rule
from gradc_ir import build, ops
from gradc_ir.graph import Function, Value


@joint_rule(ops.cond)
def push_through_cond(site: Site, tangents: Tangents) -> tuple[list[Value], Tangents]:
    """A cond: the cond of the branches with their tangents."""
    from gradc.autodiff.forward import jvp

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
    (then, otherwise), more = pulled_bodies(site, _branches(site), wrt, cotangents, first=1)
    pred, *operands = site.operands
    found = build.cond(pred, then, otherwise, [*operands, *more])
    gradients: list[Cotangent | None] = [None] * len(site.operands)
    for i, value in zip(wrt, found):
        total = site.totals[1 + i]
        mask = _mask(site, 1 + i, [branch.params[i] for branch in active])
        gradients[1 + i] = Cotangent(value, either(total.mask, mask) if total else mask)
    return gradients


def _mask(site: Site, position: int, reads: Sequence[bool]) -> Mask | None:
    """Return where an operand's cotangent is: nowhere if the branch taken does not read it."""
    found = mask_of_reads(site, position)
    if found is not None or all(reads):
        return found
    pred = build.broadcast(site.operands[0], site.operands[position].type.shape, ())
    return Mask(condition=pred, holds=reads[0])


def _active(site: Site, given: Sequence[bool], asked: Sequence[bool]) -> list[activity.Active]:
    return [activity.active_in_body(branch, given, asked) for branch in _branches(site)]


def _branches(site: Site) -> tuple[Function, Function]:
    return site.attributes["then"], site.attributes["otherwise"]
