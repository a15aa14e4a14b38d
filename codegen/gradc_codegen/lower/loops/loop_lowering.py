"""The loops of a function in LLVM's text: where their reductions begin and end, and their turns.

Straight code has none, and is written without any of this.
"""

from __future__ import annotations

from functools import partial

from gradc_codegen.lower.loops.interior_blocks import with_interior
from gradc_codegen.lower.loops.rare_loops import where_needed
from gradc_codegen.lower.loops.register_tiles import inner_of, write_tiles
from gradc_codegen.lower.loops.rest_in_strips import write_iterations
from gradc_codegen.lower.loops.short_sums import undecided, write_both
from gradc_codegen.lower.loops.unroll import unrolled_by, write_unrolled
from gradc_codegen.lower.lowering import MOST_INLINED, Bounds, Lowering
from gradc_codegen.lower.reducing.groups import write_chunk, write_groups
from gradc_codegen.lower.reducing.last_lanes import MOST_CALLED
from gradc_codegen.lower.reducing.running import Running, narrowed
from gradc_codegen.nest.loop_nest import Loop, Statement
from gradc_codegen.schedule.lanes import functions_in
from gradc_codegen.storage.storage import Plan


class LoopLowering:
    """Writes the loops of one LLVM function.

    Parameters
    ----------
    lowering: the function in the making.
    plan: where values live.
    """

    def __init__(self, lowering: Lowering, plan: Plan) -> None:
        self._lowering = lowering
        self._plan = plan

    def begin(
        self, loop: Loop, chunk_at: str | None = None, is_fresh: str | None = None
    ) -> list[Running]:
        """Write the starts of a loop's reductions, see :class:`Lowering`."""
        lowering = self._lowering
        for statement in loop.reductions:
            state, goes_whole = self._plan.accumulators[statement], not loop.has_parts
            made = Running(lowering.elements, state, lowering.own, chunk_at, goes_whole, is_fresh)
            made.begin()
            lowering.running[statement] = made
        return [lowering.running[statement] for statement in loop.reductions]

    def end(self, running: list[Running]) -> None:
        """Put the totals of a loop's reductions where they live."""
        for made in running:
            self._lowering.running.pop(made.statement, None)
            total = made.end()
            if total is not None:
                self._lowering.finished(made.statement, total)

    def write(self, loop: Loop) -> None:
        """Write a loop with its reductions."""
        lowering = self._lowering
        size = undecided(lowering, loop, self._plan)
        if size is not None:
            write_both(lowering, loop, size)
            return
        running = lowering.begin(loop)
        turns = partial(lowering.turns, loop, running)
        where_needed(lowering.elements, loop, lowering.own, self._plan.storage, turns)
        lowering.end(running)

    def turns(self, loop: Loop, running: list[Running], bounds: Bounds | None = None) -> None:
        """Write a loop whose reductions have begun; ``bounds``: one chunk, or a range, of it."""
        lowering = self._lowering
        writer, horizontal = lowering.writer, lowering.elements.horizontal
        grouped = [made for made in running if made.grouped]
        for made in running:
            made.is_among_many = len(running) > MOST_CALLED
        start, end = bounds or ("0", writer.size(loop.size))

        def body(index: str) -> None:
            lowering.indices[loop] = index
            before, writer.inlines = writer.inlines, functions_in(loop.body) <= MOST_INLINED
            write_iterations(lowering, loop, index, self._plan.staged.get(loop, ()))
            writer.inlines = before
            for staged in loop.staged:
                del lowering.elements.transposed[staged]
            del lowering.indices[loop]

        def alone(index: str) -> None:
            body(index)
            horizontal.flush()

        # what is behind the last whole block runs once, and is not worth its code
        is_block = writer.lanes > 1 and writer.mask is None
        times = unrolled_by(loop) if is_block and not grouped else 1
        if times > 1:
            write_unrolled(writer, end, times, body, horizontal)
            return
        horizontal.flush()
        inner = None
        if writer.lanes > 1 and not grouped:
            inner = inner_of(loop, self._plan, self._joins_in_groups)
        stored = self._plan.storage.__contains__
        block = with_interior(lowering.elements, loop, stored, alone) if loop.block > 1 else alone
        if grouped and bounds:
            write_chunk(writer, loop, grouped, start, end, block)
        elif grouped:
            write_groups(writer, loop, grouped, end, block)
        elif loop.block > 1:
            writer.lane_loop(end, loop.block, block, start)
        elif inner is not None and writer.module.machine.is_wide:
            writer.loop(write_tiles(lowering, loop, inner), end, alone)
        else:
            start, end = (None if bounds else narrowed(loop, running)) or (start, end)
            writer.loop(start, end, alone)

    def _joins_in_groups(self, statement: Statement) -> bool:
        """Whether a reduction has partials, as far as it is decided here."""
        size = statement.dims[statement.sequential]
        is_short = not isinstance(size, int) and self._lowering.elements.decided.get(size)
        return self._plan.accumulators[statement].grouped and not is_short
