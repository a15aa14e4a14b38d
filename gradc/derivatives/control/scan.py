"""The derivative of a scan: one that carries tangents along, and one that runs the other way.

Reverse mode runs the loop with more result rows: what each step backward needs of its step forward.
The loop backward carries the cotangents of the carries, and sums of those of the consts, to which
what reads elements adds in place.
"""

from __future__ import annotations

from gradc.autodiff.table import (
    Cotangents,
    Site,
    Tangents,
    augmented_rule,
    joint_rule,
    reverse_rule,
)
from gradc.derivatives.control.checkpointed import reverse as checkpointed
from gradc.derivatives.control.loops.backward import pull
from gradc.derivatives.control.loops.halves import Kept, halves_of
from gradc.derivatives.control.loops.loop import Loop, pushed, sorted_out
from gradc_ir import build, ops
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import TAPE


@joint_rule(ops.scan)
def push_through_scan(site: Site, tangents: Tangents) -> tuple[list[Value], Tangents]:
    """A scan: the scan of the body with its tangents, carried along where carries vary."""
    loop = Loop.of(site)
    given = site.attributes
    body, consts, init, rows = pushed(loop, tangents[loop.first :])
    found = build.scan(
        body,
        consts,
        init,
        rows,
        length=given["length"],
        reverse=given["reverse"],
        count=_count(site),
        checkpoint=given["checkpoint"],
    )
    results, pushed_tangents, _ = sorted_out(loop, found)
    return results, pushed_tangents


@augmented_rule(ops.scan)
def run_scan(site: Site) -> tuple[list[Value], object]:
    """A scan with result rows for all that the loop backward needs of each step."""
    if site.attributes["checkpoint"] is not None:
        made, stack = checkpointed.augment(site)
        return list(made), stack
    loop = Loop.of(site)
    halves = halves_of(loop)
    given = site.attributes
    start = loop.consts + loop.carries
    operands = loop.operands
    length = given["length"]
    if length is None and halves.residuals:
        length = TAPE
    found = build.scan(
        halves.forward,
        operands[: loop.consts],
        operands[loop.consts : start],
        operands[start:],
        length=length,
        reverse=given["reverse"],
        count=_count(site),
    )
    return list(found[: len(loop.body.results)]), Kept(loop, halves, found, length)


@reverse_rule(ops.scan, accumulates=True)
def pull_through_scan(site: Site, cotangents: Cotangents) -> Cotangents:
    """A scan: the loop of the body's cotangents, the other way round."""
    if site.attributes["checkpoint"] is not None:
        return checkpointed.pull(site, cotangents)
    return pull(site.kept, site, cotangents, reverse=not site.attributes["reverse"])


def _count(site: Site) -> Value | None:
    return site.operands[0] if site.attributes["counted"] else None
