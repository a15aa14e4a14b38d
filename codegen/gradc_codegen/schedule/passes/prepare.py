"""Preparing a function for its schedule: the list of passes."""

from __future__ import annotations

from collections.abc import Iterable

from gradc_codegen.arrays.sort_pieces import OWN_OPS as SORT_OPS
from gradc_codegen.nest import strips
from gradc_codegen.nest.views import VIEW
from gradc_codegen.schedule.choices import COPY
from gradc_codegen.schedule.estimates import Estimates
from gradc_codegen.schedule.passes.copy_cheap_values import CopyCheapValues
from gradc_codegen.schedule.passes.spell_out import OWN_OPS, SpellOut
from gradc_ir.core.graph import Function
from gradc_ir.pipeline import OnNeed, Pass, Pipeline

# The ops that the passes make besides those of the language.
OPS = {op.name: op for op in (COPY, VIEW, *OWN_OPS, *strips.OWN_OPS, *SORT_OPS)}


def _has_loops(function: Function) -> bool:
    return any(node.op.name == "scan" for node in function.nodes)


def _looks_up(function: Function) -> bool:
    return any(node.op.name == "gather" for node in function.nodes)


def _pads(function: Function) -> bool:
    return any(node.op.name == "pad" for node in function.nodes)


_PASSES = "gradc_codegen.schedule.passes"


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
        OnNeed(f"{_PASSES}.sample_contractions", "SampleContractions", _looks_up),
        SpellOut(blas),
        OnNeed(f"{_PASSES}.view_windows", "ViewWindows", _looks_up),
        # what BLAS computes is spelled out before, by the sizes of the whole
        OnNeed(f"{_PASSES}.gather_rows", "GatherRows", _looks_up),
        OnNeed(f"{_PASSES}.split_windows", "SplitWindows", _pads),
        copies,
    )
    if not symbols:  # all loops are in what is outermost
        interchange = "gradc_codegen.schedule.interchange.interchange_loops"
        given = blas, estimate.rows
        passes = (OnNeed(interchange, "InterchangeLoops", _has_loops, given), *passes)
    return Pipeline("codegen", passes, OPS, tuple(symbols))
