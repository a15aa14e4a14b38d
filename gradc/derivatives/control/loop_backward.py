"""Reverse mode of a loop: the halves of its body, and the loop that runs backward.

Cotangents of carries are carried, those of consts are summed, and those of rows are rows. Where the
cotangents that come in have masks, the loop takes them along.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gradc.autodiff import zeros
from gradc.autodiff.masks import Cotangent, Mask, add, either
from gradc.derivatives.control.layout import arranged, begun, solid_cotangents
from gradc.derivatives.control.loop import Loop
from gradc.derivatives.control.reads import mask_of_reads
from gradc.derivatives.registry import Cotangents, Site
from gradc_ir import build, walk
from gradc_ir.graph import Function, Value
from gradc_ir.sizes import Size
from gradc_ir.types import DType


class Halves(NamedTuple):
    """The reverse mode of a loop's body, in two halves.

    Parameters
    ----------
    forward: takes what the body does, to its results and further rows.
    backward: the body of the loop backward. Consts: invariants. Carries: retraced carries, sums of
        the cotangents of consts, cotangents of carries, masks of these. Rows: residuals, rows,
        cotangents and masks of result rows. Further results: cotangents of rows.
    retraced: which carries go back to what they were, counted from 0.
    invariants, rows: the positions of those among the body's parameters.
    residuals: the positions of those among the results of ``forward``.
    """

    forward: Function
    backward: Function
    retraced: tuple[int, ...]
    invariants: tuple[int, ...]
    rows: tuple[int, ...]
    residuals: tuple[int, ...]


class Kept(NamedTuple):
    """What a loop that runs forward leaves for the one that runs backward.

    ``found`` are the results of the one that runs forward, carries and rows, ``length`` is how many
    rows they have.
    """

    loop: Loop
    halves: Halves
    found: Sequence[Value]
    length: Size | None


def halves_of(loop: Loop, masked: Sequence[int] = ()) -> Halves:
    """Return the body's reverse mode; ``masked`` are active results whose cotangents have masks."""
    from gradc.autodiff.residuals import divide
    from gradc.autodiff.reverse import vjp

    body, end = loop.body, loop.consts + loop.carries
    seeds = loop.active_results
    carried = len(loop.active_carries)
    of_carries = [loop.consts + loop.active_carries[k] for k in masked if k < carried]
    pulled = vjp(body, loop.active.wrt, seeds, loop.active_consts, masked, of_carries)
    known, results = len(body.params), len(body.results)
    division = divide(
        pulled,
        unknown=range(known, len(pulled.params)),
        invariants=range(loop.consts),
        rows=range(end, known),
        results=results,
        stacked=range(loop.carries, results),
        carried=range(loop.consts, end),
    )
    new, residuals = _rows_to_keep(division.forward.results, loop.carries, results)
    counts = (
        len(division.invariants),
        len(division.retraced),
        division.residuals,
        len(division.rows),
        carried,
        len(seeds) - carried,
        len(loop.active_consts),
        len(of_carries),
        len(masked) - len(of_carries),
    )
    groups = _consecutive(counts)
    invariants, retraced, kept, rows, carries, stacked, sums, their_masks, masks = groups
    order = [*invariants, *retraced, *sums, *carries, *their_masks, *kept, *rows, *stacked, *masks]
    ends = (len(retraced) + len(sums) + carried, len(loop.active_rows), len(of_carries))
    carries, of_rows, their_masks = _consecutive(ends)
    return Halves(
        arranged(division.forward, range(known), [*range(results), *new]),
        arranged(division.backward, order, [*carries, *their_masks, *of_rows]),
        division.retraced,
        division.invariants,
        division.rows,
        residuals,
    )


def _rows_to_keep(
    found: Sequence[Value], carries: int, results: int
) -> tuple[list[int], tuple[int, ...]]:
    """Return which of what is found after the results is new, and where all of it is kept.

    What is a row of the loop anyway is not kept twice.
    """
    own = {value: i for i, value in enumerate(found[:results])}
    new: list[int] = []
    kept = []
    for i in range(results, len(found)):
        position = own.get(found[i], -1)
        if position < carries:
            position = results + len(new)
            new.append(i)
        kept.append(position)
    return new, tuple(kept)


def _consecutive(counts: Sequence[int]) -> Iterator[range]:
    start = 0
    for count in counts:
        yield range(start, start + count)
        start += count


def pull(kept: Kept, site: Site, cotangents: Cotangents, *, reverse: bool) -> Cotangents:
    """Return the operands' cotangents of a loop, with their totals, from what it kept.

    ``reverse`` is the direction of the loop backward.
    """
    loop = kept.loop
    halves, masks = _with_masks(kept, site, cotangents)
    carried = len(loop.active_carries)
    results = loop.active_results
    types = [site.results[i].type for i in results]
    seeds = solid_cotangents([cotangents[i] for i in results], types)
    retraced = [kept.found[i] for i in halves.retraced]
    sums = [begun(site, loop.first + i) for i in loop.active_consts]
    residuals = [kept.found[i] for i in halves.residuals]
    rows = [loop.operands[i] for i in halves.rows]
    of_carries = {k: mask for k, mask in masks.items() if k < carried}
    found = build.scan(
        halves.backward,
        [loop.operands[i] for i in halves.invariants],
        [*retraced, *sums, *seeds[:carried], *of_carries.values()],
        [*residuals, *rows, *seeds[carried:], *(masks[k] for k in masks if k >= carried)],
        length=kept.length,
        reverse=reverse,
        count=_trips(site),
    )
    first = len(retraced) + len(sums) + carried
    made = [*found[len(retraced) : first], *found[first + len(of_carries) :]]
    return by_operand(loop, site, made, dict(zip(of_carries, found[first:])))


def _trips(site: Site) -> Value | None:
    """Return how many steps a loop took, None where as many as it has rows."""
    if site.op.name == "while":
        return site.results[-1]
    return site.operands[0] if site.attributes["counted"] else None


def _with_masks(kept: Kept, site: Site, cotangents: Cotangents) -> tuple[Halves, dict[int, Value]]:
    """Return halves that know where cotangents are zeros that stay zero, and the masks they take.

    The masks are by the number of the active result. Those of carries are carried, if there is one
    in each step.
    """
    loop, carried = kept.loop, len(kept.loop.active_carries)
    masks: dict[int, Mask] = {}
    for k, i in enumerate(loop.active_results):
        given = cotangents[i]
        # in a step of another loop it must not take a new array to have a mask
        if given and given.mask and (k >= carried or given.mask.given or not site.in_place):
            masks[k] = given.mask
    while masks:
        halves = halves_of(loop, list(masks))
        if halves._replace(backward=kept.halves.backward) != kept.halves:
            break  # the forward half has run already
        unneeded = _unneeded(loop, halves, list(masks))
        if not unneeded:
            return halves, {k: mask.value() for k, mask in masks.items()}
        masks = {k: mask for k, mask in masks.items() if k not in unneeded}
    return kept.halves, {}


def _unneeded(loop: Loop, halves: Halves, masked: Sequence[int]) -> set[int]:
    """Return masks that backward does not read, or carries that have none after a step."""
    backward, carried = halves.backward, len(loop.active_carries)
    first = len(halves.retraced) + len(loop.active_consts) + carried
    of_carries = [k for k in masked if k < carried]
    end = first + len(of_carries)
    after = backward.results[first:end]
    lost = {k for k, mask in zip(of_carries, after) if zeros.is_number(mask, True)}
    read = walk.topological((), [*backward.results[:first], *backward.results[end:]])
    before = len(halves.invariants) + first
    rows = len(backward.params) - (len(masked) - len(of_carries))
    places = [*range(before, before + len(of_carries)), *range(rows, len(backward.params))]
    unread = {k for k, place in zip(masked, places) if backward.params[place].node not in read}
    of_rows = {k for k in unread if k >= carried}
    return lost | of_rows | (unread if unread >= set(of_carries) else set())


def by_operand(
    loop: Loop,
    site: Site,
    found: Sequence[Value],
    masks: Mapping[int, Value] | None = None,
) -> Cotangents:
    """Return the operands' cotangents, with their totals, from those of what is active.

    ``found`` are the cotangents of consts, which started from the totals, of carries and of rows.
    There is none where an operand is not read: its elements, in steps that are not taken; and of
    an initial carry where ``masks`` do not hold, which are by the number of the active carry.
    """
    of_carries = {loop.consts + i: (masks or {}).get(k) for k, i in enumerate(loop.active_carries)}
    order = [*loop.active_consts, *(loop.consts + i for i in loop.active_carries)]
    made = dict(zip((*order, *loop.active_rows), found, strict=True))
    cotangents: list[Cotangent | None] = [None] * len(site.operands)
    for inner, value in made.items():
        position = loop.first + inner
        if site.wanted[position]:
            total, mask = site.totals[position], _mask(loop, site, position)
            kept = of_carries.get(inner)
            if kept is not None:
                mask = Mask(condition=kept)
            if inner < loop.consts:
                mask = either(total.mask, mask) if total else mask
                cotangents[position] = Cotangent(value, mask)
            else:
                cotangents[position] = add(total, Cotangent(value, mask))
    return cotangents


def _mask(loop: Loop, site: Site, position: int) -> Mask | None:
    """Return where an operand is read, None where everywhere as far as is known."""
    trips = _trips(site)
    shape = site.operands[position].type.shape
    inner = position - loop.first
    if inner < loop.consts:
        reads = mask_of_reads(site, position)
        if reads is not None or trips is None:
            return reads
        return Mask(build=lambda: build.broadcast(build.gt(trips, 0), shape, ()))
    if inner < loop.consts + loop.carries or trips is None:
        return None

    def visited() -> Value:
        rows = build.iota(DType.I64, shape[0])
        return build.broadcast(build.lt(rows, build.broadcast(trips, shape[:1], ())), shape, (0,))

    return Mask(build=visited)
