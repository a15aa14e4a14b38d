"""Differentiating the body of a loop: which carries have tangents, and what a step keeps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gradc.autodiff import active as activity
from gradc.autodiff import zeros
from gradc.autodiff.masks import Cotangent, Mask, add, either
from gradc.derivatives.control.layout import arranged, begun, reads, solid_cotangents
from gradc.derivatives.control.reads import mask_of_reads
from gradc.derivatives.registry import Cotangents, Site, Tangents
from gradc_ir import build
from gradc_ir.graph import Function, Value
from gradc_ir.sizes import Size
from gradc_ir.types import DType


class Loop(NamedTuple):
    """A scan or a while, as far as its derivative is concerned.

    Parameters
    ----------
    site: where it stands.
    body: takes consts, carries and rows to carries and rows.
    consts, carries: how many there are.
    first: how many operands come before the body's consts.
    active: what is active in the body.
    """

    site: Site
    body: Function
    consts: int
    carries: int
    first: int
    active: activity.Active

    @classmethod
    def of(cls, site: Site, body: Function, consts: int, carries: int, first: int) -> Loop:
        """Return the loop of a node: active is what is wanted of it and asked for."""
        asked = site.asked[: len(body.results)]
        active = activity.active_in_loop(body, consts, carries, site.wanted[first:], asked)
        return cls(site, body, consts, carries, first, active)

    @property
    def operands(self) -> tuple[Value, ...]:
        """The operands that the body's parameters stand for."""
        return self.site.operands[self.first :]

    @property
    def active_consts(self) -> list[int]:
        """The positions among the body's parameters of consts with a cotangent."""
        return [i for i in range(self.consts) if self.active.params[i]]

    @property
    def active_carries(self) -> list[int]:
        """Which carries, counted from 0, have a tangent."""
        return [i for i in range(self.carries) if self.active.results[i]]

    @property
    def active_rows(self) -> list[int]:
        """The positions among the body's parameters of rows with a cotangent."""
        first = self.consts + self.carries
        return [i for i in range(first, len(self.body.params)) if self.active.params[i]]

    @property
    def active_results(self) -> list[int]:
        """The positions of the body's results with a tangent: carries, then rows."""
        return [i for i, active in enumerate(self.active.results) if active]


# -- forward --------------------------------------------------------------------------------------


class Pushed(NamedTuple):
    """A loop with tangents: its body, and its consts, initial carries and rows."""

    body: Function
    consts: list[Value]
    init: list[Value]
    rows: list[Value]


def pushed(loop: Loop, tangents: Tangents) -> Pushed:
    """Return the loop that carries the tangents of active carries along, each group after its own.

    The body takes consts, their tangents, carries, theirs, rows and theirs, and so do its results
    follow each other. ``tangents`` are those of ``loop.operands``.
    """
    from gradc.autodiff.forward import jvp

    body, wrt, asked = loop.body, loop.active.wrt, loop.active_results
    both = jvp(body, wrt, asked)
    place = {param: len(body.params) + i for i, param in enumerate(wrt)}
    end = loop.consts + loop.carries
    groups = [range(loop.consts), range(loop.consts, end), range(end, len(body.params))]
    order = [
        position
        for group in groups
        for position in (*group, *(place[param] for param in group if param in place))
    ]
    carried = len(loop.active_carries)
    first = len(body.results)
    results = [
        *range(loop.carries),
        *range(first, first + carried),
        *range(loop.carries, first),
        *range(first + carried, first + len(asked)),
    ]
    operands = [
        [
            *(loop.operands[i] for i in group),
            *(zeros.solid(tangents[i], loop.operands[i].type) for i in group if i in place),
        ]
        for group in groups
    ]
    return Pushed(arranged(both, order, results), *operands)


def sorted_out(
    loop: Loop, found: Sequence[Value]
) -> tuple[list[Value], list[Value | None], list[Value]]:
    """Return results, tangents and what else there is from the results of a pushed loop."""
    rest = iter(found)

    def group(positions: range) -> tuple[list[Value], list[Value | None]]:
        values = [next(rest) for _ in positions]
        return values, [next(rest) if loop.active.results[i] else None for i in positions]

    carries, their_tangents = group(range(loop.carries))
    rows, tangents_of_rows = group(range(loop.carries, len(loop.body.results)))
    return [*carries, *rows], [*their_tangents, *tangents_of_rows], list(rest)


# -- reverse --------------------------------------------------------------------------------------


class Halves(NamedTuple):
    """The reverse mode of a loop's body, in two halves.

    Parameters
    ----------
    forward: takes what the body does, to its results and further rows.
    backward: the body of the loop backward. Consts: invariants. Carries: retraced carries, sums of
        the cotangents of consts, cotangents of carries. Rows: residuals, rows, cotangents and masks
        of result rows. Further results: cotangents of rows.
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
    pulled = vjp(body, loop.active.wrt, seeds, loop.active_consts, masked)
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
    # what is a row of the loop anyway is not kept twice
    own = {value: i for i, value in enumerate(division.forward.results[:results])}
    new: list[int] = []
    residuals = []
    for i in range(results, results + division.residuals):
        position = own.get(division.forward.results[i], -1)
        if position < loop.carries:
            position = results + len(new)
            new.append(i)
        residuals.append(position)
    carried = len(loop.active_carries)
    counts = (
        len(division.invariants),
        len(division.retraced),
        division.residuals,
        len(division.rows),
        carried,
        len(seeds) - carried,
        len(loop.active_consts),
        len(masked),
    )
    invariants, retraced, kept, rows, carries, stacked, sums, masks = _consecutive(counts)
    order = [*invariants, *retraced, *sums, *carries, *kept, *rows, *stacked, *masks]
    return Halves(
        arranged(division.forward, range(known), [*range(results), *new]),
        arranged(division.backward, order, range(len(division.backward.results))),
        division.retraced,
        division.invariants,
        division.rows,
        tuple(residuals),
    )


def _consecutive(counts: Sequence[int]) -> Iterator[range]:
    start = 0
    for count in counts:
        yield range(start, start + count)
        start += count


def pull(kept: Kept, site: Site, cotangents: Cotangents, *, reverse: bool) -> Cotangents:
    """Return the operands' cotangents of a loop, with their totals, from what it kept.

    ``reverse`` is the direction of the loop backward.
    """
    loop, halves = kept.loop, kept.halves
    halves, masks = _with_masks(kept, cotangents)
    carried = len(loop.active_carries)
    results = loop.active_results
    types = [site.results[i].type for i in results]
    seeds = solid_cotangents([cotangents[i] for i in results], types)
    retraced = [kept.found[i] for i in halves.retraced]
    sums = [begun(site, loop.first + i) for i in loop.active_consts]
    residuals = [kept.found[i] for i in halves.residuals]
    rows = [loop.operands[i] for i in halves.rows]
    found = build.scan(
        halves.backward,
        [loop.operands[i] for i in halves.invariants],
        [*retraced, *sums, *seeds[:carried]],
        [*residuals, *rows, *seeds[carried:], *masks],
        length=kept.length,
        reverse=reverse,
        count=_trips(site),
    )
    return by_operand(loop, site, found[len(retraced) :])


def _trips(site: Site) -> Value | None:
    """Return how many steps a loop took, None where as many as it has rows."""
    if site.op.name == "while":
        return site.results[-1]
    return site.operands[0] if site.attributes["counted"] else None


def _with_masks(kept: Kept, cotangents: Cotangents) -> tuple[Halves, list[Value]]:
    """Return halves that know where the cotangents of result rows are zeros that stay zero."""
    loop = kept.loop
    found = {k: cotangents[i] for k, i in enumerate(loop.active_results) if i >= loop.carries}
    masks = {k: given.mask for k, given in found.items() if given and given.mask}
    if not masks:
        return kept.halves, []
    halves = halves_of(loop, list(masks))
    backward, known = halves.backward, len(halves.backward.params) - len(masks)
    read = [i for i in range(len(masks)) if reads(backward, known + i)]
    # the forward half has run already
    same = halves._replace(backward=kept.halves.backward) == kept.halves
    if not read or not same:
        return kept.halves, []
    params = [*range(known), *(known + i for i in read)]
    backward = arranged(backward, params, range(len(backward.results)))
    values = [list(masks.values())[i].value() for i in read]
    return halves._replace(backward=backward), values


def by_operand(loop: Loop, site: Site, found: Sequence[Value]) -> Cotangents:
    """Return the operands' cotangents, with their totals, from those of what is active.

    ``found`` are the cotangents of consts, which started from the totals, of carries and of rows.
    There is none where an operand is not read: its elements, in steps that are not taken.
    """
    order = [*loop.active_consts, *(loop.consts + i for i in loop.active_carries)]
    made = dict(zip((*order, *loop.active_rows), found, strict=True))
    cotangents: list[Cotangent | None] = [None] * len(site.operands)
    for inner, value in made.items():
        position = loop.first + inner
        if site.wanted[position]:
            total, mask = site.totals[position], _mask(loop, site, position)
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
