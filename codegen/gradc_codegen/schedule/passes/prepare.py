"""Preparing a function for its schedule: the list of passes."""

from __future__ import annotations

from collections.abc import Iterable

from gradc_codegen.arrays.sort_pieces import OWN_OPS as SORT_OPS
from gradc_codegen.schedule.choices import COPY
from gradc_codegen.schedule.estimates import Estimates
from gradc_codegen.schedule.interchange.interchange_loops import OWN_OPS as STRIP_OPS
from gradc_codegen.schedule.interchange.interchange_loops import InterchangeLoops
from gradc_codegen.schedule.passes.copy_cheap_values import CopyCheapValues
from gradc_codegen.schedule.passes.gather_rows import GatherRows
from gradc_codegen.schedule.passes.sample_contractions import SampleContractions
from gradc_codegen.schedule.passes.spell_out import OWN_OPS, SpellOut
from gradc_codegen.schedule.passes.split_windows import SplitWindows
from gradc_codegen.schedule.passes.view_windows import VIEW, ViewWindows
from gradc_ir.pipeline import Pass, Pipeline

# The ops that the passes make besides those of the language.
OPS = {op.name: op for op in (COPY, VIEW, *OWN_OPS, *STRIP_OPS, *SORT_OPS)}


def preparation(
    blas: bool = False, symbols: Iterable[str] = (), estimate: Estimates | None = None
) -> Pipeline:
    """Return the passes to an equal function of ops that the schedule knows.

    Bodies of control flow stay as they are.

    Parameters
    ----------
    blas: whether large contractions go to BLAS, whose bits are its own.
    symbols: for the body of a loop or branch the sizes that the functions around it bind.
    estimate: what sizes are taken for.
    """
    estimate = estimate or Estimates()
    copies = CopyCheapValues(estimate)
    passes: tuple[Pass, ...] = (
        SampleContractions(),
        SpellOut(blas),
        ViewWindows(),
        GatherRows(),  # what BLAS computes is spelled out before, by the sizes of the whole
        SplitWindows(),
        copies,
    )
    if not symbols:  # all loops are in what is outermost
        passes = (InterchangeLoops(blas, estimate.rows), *passes)
    return Pipeline("codegen", passes, OPS, tuple(symbols))
