"""Reverse mode of a loop: the loop that runs backward, over what the one that ran forward left.

Cotangents of carries are carried, those of consts are summed, and those of rows are rows. Where the
cotangents that come in have masks, the loop takes them along.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gradc.autodiff import zeros
from gradc.autodiff.cotangents.mask import Mask, nowhere
from gradc.autodiff.cotangents.masks import Cotangent, add, filled
from gradc.autodiff.table import Cotangents, Site
from gradc.derivatives.control.layout import begun
from gradc.derivatives.control.loops.halves import Halves, Kept, halves_of, trips
from gradc.derivatives.control.loops.loop import Loop
from gradc.derivatives.control.loops.masks import operand_masks
from gradc.derivatives.control.loops.sums_of_products import SumsOfProducts
from gradc_ir import build
from gradc_ir.core.graph import Value, topological


def pull(kept: Kept, site: Site, cotangents: Cotangents, *, reverse: bool) -> Cotangents:
    """Return the operands' cotangents of a loop, with their totals, from what it kept.

    ``reverse`` is the direction of the loop backward.
    """
    loop = kept.loop
    given = _given_masks(loop, site, cotangents)
    halves, taken, masked = _with_masks(kept, given)
    carried = len(loop.active_carries)
    results = loop.active_results
    seeds = filled([cotangents[i] for i in results], [site.results[i].type for i in results])
    retraced = [kept.found[i] for i in halves.retraced]
    sums = [begun(site, loop.first + i) for i in loop.active_consts]
    residuals = [kept.found[i] for i in halves.residuals]
    rows = [loop.operands[i] for i in halves.rows]
    masks = {k: given[k].value() for k in taken}
    of_carries = [k for k in taken if k < carried]
    invariants = [loop.operands[i] for i in halves.invariants]
    stacked = [*residuals, *rows, *seeds[carried:], *(masks[k] for k in taken if k >= carried)]
    count = trips(site)
    before = len(invariants) + len(retraced)
    products = SumsOfProducts.find(
        halves.backward,
        len(invariants),
        # of rows that no step went over there is nothing to multiply
        range(before, before + (len(sums) if count is None else 0)),
        range(len(retraced), len(retraced) + len(sums)),
        range(len(halves.backward.params) - len(stacked), len(halves.backward.params)),
    )
    made = build.scan(
        products.body,
        invariants,
        [*retraced, *products.others(sums), *seeds[:carried], *(masks[k] for k in of_carries)],
        stacked,
        length=kept.length,
        reverse=reverse,
        count=count,
    )
    found = products.with_totals(made, len(retraced), sums, stacked)
    first = len(retraced) + len(sums) + carried
    own = [*found[len(retraced) : first], *found[first + len(of_carries) :]]
    return by_operand(loop, site, own, operand_masks(kept, site, given, masked, reverse=reverse))


def _given_masks(loop: Loop, site: Site, cotangents: Cotangents) -> dict[int, Mask]:
    """Return the masks of the results' cotangents, by the number of the active result.

    Beside masks, the cotangent of a carry that there is none of has one that holds nowhere.
    """
    carried = len(loop.active_carries)
    masks: dict[int, Mask] = {}
    for k, i in enumerate(loop.active_results):
        given = cotangents[i]
        # in a step of another loop it must not take a new array to have a mask
        if given and given.mask and (k >= carried or given.mask.given or not site.in_place):
            masks[k] = given.mask
    if masks and not site.in_place:
        for k, i in enumerate(loop.active_results[:carried]):
            if cotangents[i] is None:
                masks[k] = nowhere(site.results[i])
    return dict(sorted(masks.items()))


def _with_masks(
    kept: Kept, given: Mapping[int, Mask]
) -> tuple[Halves, Sequence[int], frozenset[int]]:
    """Return halves that know where cotangents are zeros that stay zero, and the masks they take.

    Masks of carries are carried, if there is one in each step. Last are the positions of the
    parameters whose cotangents have masks after a step, where all that are given are taken.
    """
    taken = list(given)
    masked: frozenset[int] | None = None
    while taken:
        halves = halves_of(kept.loop, taken)
        masked = halves.masked if masked is None else masked
        if not halves.keeps_as(kept.halves):
            break  # the forward half has run already
        unneeded = _unneeded(kept.loop, halves, taken)
        if not unneeded:
            return halves, taken, masked
        taken = [k for k in taken if k not in unneeded]
    return kept.halves, (), kept.halves.masked if masked is None else masked


def _unneeded(loop: Loop, halves: Halves, masked: Sequence[int]) -> set[int]:
    """Return masks that backward does not read, or carries that have none after a step."""
    backward, carried = halves.backward, len(loop.active_carries)
    first = len(halves.retraced) + len(loop.active_consts) + carried
    of_carries = [k for k in masked if k < carried]
    end = first + len(of_carries)
    after = backward.results[first:end]
    lost = {k for k, mask in zip(of_carries, after) if zeros.is_number(mask, True)}
    read = topological((), [*backward.results[:first], *backward.results[end:]])
    before = len(halves.invariants) + first
    rows = len(backward.params) - (len(masked) - len(of_carries))
    places = [*range(before, before + len(of_carries)), *range(rows, len(backward.params))]
    unread = {k for k, place in zip(masked, places) if backward.params[place].node not in read}
    of_rows = {k for k in unread if k >= carried}
    return lost | of_rows | (unread if unread >= set(of_carries) else set())


def by_operand(
    loop: Loop, site: Site, found: Sequence[Value], masks: Mapping[int, Mask]
) -> Cotangents:
    """Return the operands' cotangents, with their totals, from those of what is active.

    ``found`` are the cotangents of consts, which started from the totals, of carries and of rows.
    ``masks`` are theirs, by the positions of the body's parameters; none is one that holds
    everywhere.
    """
    order = [*loop.active_consts, *(loop.consts + i for i in loop.active_carries)]
    made = dict(zip((*order, *loop.active_rows), found, strict=True))
    cotangents: list[Cotangent | None] = [None] * len(site.operands)
    for inner, value in made.items():
        position = loop.first + inner
        if site.wanted[position]:
            cotangent = Cotangent(value, masks.get(inner))
            if inner >= loop.consts:
                total = add(site.totals[position], cotangent)
                assert total is not None
                cotangent = total
            cotangents[position] = cotangent
    return cotangents
