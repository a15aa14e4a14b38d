"""The derivative of a while: one that carries tangents along, and a counted scan backward.

How often it runs is no smooth function of anything: neither the condition nor the count has a
derivative.
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
from gradc.derivatives.control.layout import with_more_params
from gradc.derivatives.control.loops.backward import pull
from gradc.derivatives.control.loops.halves import Kept, halves_of
from gradc.derivatives.control.loops.loop import Loop, pushed, sorted_out
from gradc_ir import build, ops
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import TAPE


@joint_rule(ops.while_)
def push_through_while(site: Site, tangents: Tangents) -> tuple[list[Value], Tangents]:
    """A while: the while of the body with its tangents, under the same condition."""
    loop = Loop.of(site)
    body, consts, init, _ = pushed(loop, tangents[loop.first :])
    more = [value.type for value in init[loop.carries :]]
    found = build.while_loop(
        with_more_params(site.attributes["condition"], more),
        body,
        site.operands[: loop.first],
        consts,
        init,
        length=site.attributes["length"],
    )
    results, pushed_tangents, count = sorted_out(loop, found)
    return results + count, [*pushed_tangents, None]


@augmented_rule(ops.while_)
def run_while(site: Site) -> tuple[list[Value], Kept]:
    """A while with result rows for all that the loop backward needs of each step."""
    loop = Loop.of(site)
    halves = halves_of(loop)
    operands = loop.operands
    length = site.attributes["length"]
    if length is None and halves.residuals:
        length = TAPE
    found = build.while_loop(
        site.attributes["condition"],
        halves.forward,
        site.operands[: loop.first],
        operands[: loop.consts],
        operands[loop.consts :],
        length=length,
    )
    return [*found[: len(loop.body.results)], found[-1]], Kept(loop, halves, found, length)


@reverse_rule(ops.while_, accumulates=True)
def pull_through_while(site: Site, cotangents: Cotangents) -> Cotangents:
    """A while: as many steps backward as there were forward."""
    return pull(site.kept, site, cotangents, reverse=True)
