"""The two halves of a loop's body in reverse mode: one runs with the loop, one backward."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradc.autodiff.bodies import finished
from gradc.autodiff.loops.residuals import divide
from gradc.autodiff.reverse import pull_body
from gradc.autodiff.table import Site
from gradc.derivatives.control.layout import arranged
from gradc.derivatives.control.loops.loop import Loop
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.sizes import Size


class Halves(NamedTuple):
    """The reverse mode of a loop's body, in two halves.

    Parameters
    ----------
    forward: takes what the body does, to its results and further rows.
    backward: the body of the loop backward. Consts: invariants. Carries: retraced carries, sums of
        the cotangents of consts, cotangents of carries, masks of sums, masks of carries. Rows:
        residuals, rows, cotangents and masks of result rows. Further results: cotangents of rows,
        masks of these.
    retraced: which carries go back to what they were, counted from 0.
    invariants, rows: the positions of those among the body's parameters.
    residuals: the positions of those among the results of ``forward``.
    masked: the positions of the parameters whose cotangents have masks after a step.
    """

    forward: Function
    backward: Function
    retraced: tuple[int, ...]
    invariants: tuple[int, ...]
    rows: tuple[int, ...]
    residuals: tuple[int, ...]
    masked: frozenset[int]

    def keeps_as(self, other: Halves) -> bool:
        """Whether both find what they need in what the same forward half leaves."""
        return (self.forward, self.residuals) == (other.forward, other.residuals)


class Kept(NamedTuple):
    """What a loop that runs forward leaves for the one that runs backward.

    ``found`` are the results of the one that runs forward, carries and rows, ``length`` is how many
    rows they have.
    """

    loop: Loop
    halves: Halves
    found: Sequence[Value]
    length: Size | None


def halves_of(loop: Loop, masked: Sequence[int] = (), masks_of: Sequence[int] = ()) -> Halves:
    """Return the body's reverse mode; ``masked`` are active results whose cotangents have masks.

    Masks of carries are carried. ``masks_of`` are active consts and rows for masks of theirs.
    """
    body, end = loop.body, loop.consts + loop.carries
    seeds = loop.active_results
    carried = len(loop.active_carries)
    of_sums = [i for i in loop.active_consts if i in masks_of]
    of_carries = [loop.consts + loop.active_carries[k] for k in masked if k < carried]
    of_rows = [i for i in loop.active_rows if i in masks_of]
    pulled = pull_body(
        body,
        loop.active.wrt,
        seeds,
        loop.active_consts,
        masked,
        [*of_sums, *of_carries, *of_rows],
    )
    known, results = len(body.params), len(body.results)
    division = divide(
        finished(pulled.function),
        unknown=range(known, len(pulled.function.params)),
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
        len(of_sums),
    )
    groups = consecutive(counts)
    invariants, retraced, kept, rows, carries, stacked, sums, masks, row_masks, sum_masks = groups
    order = [*invariants, *retraced, *sums, *carries, *sum_masks, *masks]
    order += [*kept, *rows, *stacked, *row_masks]
    ends = (
        len(retraced) + len(sums) + carried,
        len(loop.active_rows),
        len(of_sums) + len(of_carries),
        len(of_rows),
    )
    carries, rows, masks, row_masks = consecutive(ends)
    return Halves(
        arranged(division.forward, range(known), [*range(results), *new]),
        arranged(division.backward, order, [*carries, *masks, *rows, *row_masks]),
        division.retraced,
        division.invariants,
        division.rows,
        residuals,
        pulled.masked,
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


def consecutive(counts: Sequence[int]) -> Iterator[range]:
    """Yield ranges of these lengths, one after the other."""
    start = 0
    for count in counts:
        yield range(start, start + count)
        start += count


def trips(site: Site) -> Value | None:
    """Return how many steps a loop took, None where as many as it has rows."""
    if site.op.name == "while":
        return site.results[-1]
    return site.operands[0] if site.attributes["counted"] else None
