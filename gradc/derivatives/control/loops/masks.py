"""Where the cotangents of a loop's operands are no zeros that stay zero.

The masks of a body's cotangents go through a loop of their own, over what the loop backward reads:
those of consts hold where one holds in some step, those of carries are carried. It is made when a
mask is needed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from gradc.autodiff.cotangents.mask import Mask, either, on_demand
from gradc.autodiff.reverse import pull_body
from gradc.autodiff.table import Site
from gradc.derivatives.control.layout import arranged
from gradc.derivatives.control.loops.halves import Halves, Kept, consecutive, halves_of, trips
from gradc.derivatives.control.loops.loop import Loop
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import at_least
from gradc_ir.core.types import DType

Masks = dict[int, Mask]  # by the position of a body's parameter; none is one that holds everywhere


def operand_masks(
    kept: Kept, site: Site, given: Mapping[int, Mask], masked: Collection[int], *, reverse: bool
) -> Masks:
    """Return the masks of the operands' cotangents, those of consts with their totals'.

    ``given`` are those of the results' cotangents, by the number of the active result. The
    parameters at ``masked`` have some in each step. ``reverse`` is the direction of the loop
    backward.
    """
    loop = kept.loop
    own = [i for i in loop.active.wrt if i in masked and not _has_solid_total(loop, site, i)]
    carries = [i for i in own if 0 <= i - loop.consts < loop.carries]

    def make(position: int) -> dict[int, Value]:
        # sums of masks must not be begun in a step that is only asked for those of carries
        asked = carries if position in carries else own
        return _run_backward(kept, site, given, asked, reverse)

    return {**_masks_of_steps(loop, site, masked), **on_demand(own, make)}


def masks_run_again(
    loop: Loop,
    site: Site,
    seeded: Sequence[int],
    given: Mapping[int, Value],
    masked: Collection[int],
) -> Masks:
    """Return masks of consts and rows as of :func:`operand_masks`, from a scan that keeps nothing.

    ``seeded`` are the body's results that have cotangents, ``given`` masks of result rows' by their
    numbers among these. The scan runs forward once more; the cotangents of carries are as if they
    held everywhere.
    """
    own = [
        i
        for i in (*loop.active_consts, *loop.active_rows)
        if i in masked and not _has_solid_total(loop, site, i)
    ]

    def make(position: int) -> dict[int, Value]:
        return dict(zip(own, _run_forward(loop, site, seeded, given, own)))

    return {**_masks_of_steps(loop, site, masked), **on_demand(own, make)}


def _masks_of_steps(loop: Loop, site: Site, masked: Collection[int]) -> Masks:
    """Return masks, with totals', of other consts and rows, which all steps that are taken read."""
    masks = {}
    for i in loop.active.wrt:
        taken = None if i in masked else _taken(loop, site, i)
        if taken is not None:
            total = site.totals[loop.first + i] if i < loop.consts else None
            both = either(total.mask, taken) if total else taken
            if both is not None:
                masks[i] = both
    return masks


def _has_solid_total(loop: Loop, site: Site, position: int) -> bool:
    """Whether a parameter is a const, and what its cotangent is added to has no mask."""
    total = site.totals[loop.first + position] if position < loop.consts else None
    return total is not None and total.mask is None


def _taken(loop: Loop, site: Site, position: int) -> Mask | None:
    """Return where a parameter is a const and there is a step, or a row that a step visits."""
    count, length = trips(site), site.attributes["length"]
    shape = site.operands[loop.first + position].type.shape
    if position < loop.consts:
        if count is None and at_least(length, 1):
            return None

        def any_step() -> Value:
            steps = build.size_value(length) if count is None else count
            return build.broadcast(build.gt(steps, 0), shape, ())

        return Mask(build=any_step)
    if position < loop.consts + loop.carries or count is None:
        return None

    def visited() -> Value:
        rows = build.iota(DType.I64, shape[0])
        return build.broadcast(build.lt(rows, build.broadcast(count, shape[:1], ())), shape, (0,))

    return Mask(build=visited)


def _run_backward(
    kept: Kept, site: Site, given: Mapping[int, Mask], own: Sequence[int], reverse: bool
) -> dict[int, Value]:
    """Return the masks of the operands at these positions, from a loop backward of masks alone."""
    loop = kept.loop
    carried = [k for k, c in enumerate(loop.active_carries) if loop.consts + c in own or k in given]
    stacked = [k for k in given if k >= len(loop.active_carries)]
    consts = [i for i in own if i < loop.consts]
    rows = [i for i in own if i >= loop.consts + loop.carries]
    halves = halves_of(loop, [*carried, *stacked], [*consts, *rows])
    if not halves.keeps_as(kept.halves):
        # the loop that ran has not kept what masks need: they hold everywhere
        return {i: _full(site.operands[loop.first + i], True) for i in own}
    starts = _begun(loop, site, consts)
    carries = [loop.active_carries[k] for k in carried]
    starts += [
        given[k].value() if k in given else _full(loop.operands[loop.consts + c], True)
        for k, c in zip(carried, carries)
    ]
    found = _scan_of_masks(kept, halves, starts, [given[k].value() for k in stacked], site, reverse)
    return dict(zip((*consts, *(loop.consts + c for c in carries), *rows), found, strict=True))


def _scan_of_masks(
    kept: Kept,
    halves: Halves,
    starts: Sequence[Value],
    stacked: Sequence[Value],
    site: Site,
    reverse: bool,
) -> Sequence[Value]:
    """Run the masks of a loop backward: those that are carried, and rows."""
    loop, body = kept.loop, halves.backward
    retraced = len(halves.retraced)
    cotangents = len(loop.active_consts) + len(loop.active_carries)
    results = len(loop.active_results) - len(loop.active_carries)
    counts = (
        len(halves.invariants),
        retraced,
        cotangents,
        len(starts),
        len(halves.residuals) + len(halves.rows),
        results,
        len(stacked),
    )
    invariants, before, _, masks, rows, _, row_masks = consecutive(counts)
    ends = (retraced, cotangents, len(starts), len(loop.active_rows))
    after, _, carried, _ = consecutive(ends)
    last = range(carried.stop + len(loop.active_rows), len(body.results))
    only = arranged(
        body,
        [*invariants, *before, *masks, *rows, *row_masks],
        [*after, *carried, *last],
    )
    found = build.scan(
        only,
        [loop.operands[i] for i in halves.invariants],
        [*(kept.found[i] for i in halves.retraced), *starts],
        [
            *(kept.found[i] for i in halves.residuals),
            *(loop.operands[i] for i in halves.rows),
            *stacked,
        ],
        length=kept.length,
        reverse=reverse,
        count=trips(site),
    )
    return found[retraced:]


def _run_forward(
    loop: Loop,
    site: Site,
    seeded: Sequence[int],
    given: Mapping[int, Value],
    own: Sequence[int],
) -> Sequence[Value]:
    """Return the masks of consts and rows at these positions, from a loop forward."""
    body, attributes = loop.body, site.attributes
    consts = [i for i in own if i < loop.consts]
    sums = loop.active_consts
    pulled = pull_body(body, loop.active.wrt, seeded, sums, list(given), own).function
    end, known = loop.consts + loop.carries, len(body.params)
    counts = (known, len(seeded) + len(sums), len(given), len(consts))
    _, _, row_masks, sum_masks = consecutive(counts)
    last = len(pulled.results)
    only = arranged(
        pulled,
        [*range(end), *sum_masks, *range(end, known), *row_masks],
        [*range(loop.carries), *range(last - len(own), last)],
    )
    operands = loop.operands
    found = build.scan(
        only,
        operands[: loop.consts],
        [*operands[loop.consts : end], *_begun(loop, site, consts)],
        [*operands[end:], *given.values()],
        length=attributes["length"],
        reverse=attributes["reverse"],
        count=trips(site),
    )
    return found[loop.carries :]


def _begun(loop: Loop, site: Site, consts: Sequence[int]) -> list[Value]:
    """Return what the masks of consts are added to."""
    totals = [site.totals[loop.first + i] for i in consts]
    return [
        total.mask.value() if total and total.mask else _full(loop.operands[i], False)
        for i, total in zip(consts, totals)
    ]


def _full(like: Value, holds: bool) -> Value:
    return build.full(like.type.shape, holds, DType.BOOL)
