"""The derivatives of scan and while: loops that carry tangents along, and that run the other way.

Reverse mode runs the loop with more result rows: what each step backward needs of its step forward.
The loop backward carries the cotangents of the carries, and sums of those of the consts, to which
what reads elements adds in place. How often a while runs is no smooth function of anything: neither
its condition nor its count has a derivative.
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
from gradc_ir import ops
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import TAPE


def push_through_loop(site: Site, tangents: Tangents) -> tuple[list[Value], Tangents]:
    """A loop: the loop of the body with its tangents, carried along where carries vary."""
    loop = Loop.of(site)
    found = loop.run(*pushed(loop, tangents[loop.first :]), site.attributes["length"])
    results, pushed_tangents, count = sorted_out(loop, found)
    return results + count, [*pushed_tangents, *(None for _ in count)]


def run_loop(site: Site) -> tuple[list[Value], object]:
    """A loop with result rows for all that the loop backward needs of each step."""
    if site.attributes.get("checkpoint") is not None:
        made, stack = checkpointed.augment(site)
        return list(made), stack
    loop = Loop.of(site)
    halves = halves_of(loop)
    length = site.attributes["length"]
    if length is None and halves.residuals:
        length = TAPE
    end = loop.consts + loop.carries
    consts, init = loop.operands[: loop.consts], loop.operands[loop.consts : end]
    found = loop.run(halves.forward, consts, init, loop.operands[end:], length)
    count = found[len(halves.forward.results) :]
    return [*found[: len(loop.body.results)], *count], Kept(loop, halves, found, length)


def pull_through_loop(site: Site, cotangents: Cotangents) -> Cotangents:
    """A loop: the loop of the body's cotangents, as many steps, the other way round."""
    if site.attributes.get("checkpoint") is not None:
        return checkpointed.pull(site, cotangents)
    return pull(site.kept, site, cotangents, reverse=not site.attributes.get("reverse"))


for _op in (ops.scan, ops.while_):
    joint_rule(_op)(push_through_loop)
    augmented_rule(_op)(run_loop)
    reverse_rule(_op, accumulates=True)(pull_through_loop)
