"""Preparing a function for its schedule: the list of passes, and the verifier behind each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from gradc_codegen.schedule.choices import COPY
from gradc_codegen.schedule.passes.copy_cheap_values import CopyCheapValues
from gradc_codegen.schedule.passes.sample_contractions import SampleContractions
from gradc_codegen.schedule.passes.spell_out import OWN_OPS, SpellOut
from gradc_codegen.schedule.passes.split_windows import SplitWindows
from gradc_ir.core.graph import Function
from gradc_ir.verify import verify

# What the passes are called together.
NAME = "codegen"

Pass: TypeAlias = SampleContractions | SpellOut | SplitWindows | CopyCheapValues

# The ops that the passes make besides those of the language.
OPS = {op.name: op for op in (COPY, *OWN_OPS)}


def passes(blas: bool = False) -> tuple[Pass, ...]:
    """Return the passes in their order; ``blas`` is an option of :class:`SpellOut`."""
    return SampleContractions(), SpellOut(blas), SplitWindows(), CopyCheapValues()


def prepare(
    function: Function,
    blas: bool = False,
    symbols: Iterable[str] = (),
    watch: Callable[[str, Function], None] | None = None,
) -> Function:
    """Return an equal function of ops the schedule knows; bodies of control flow stay as they are.

    Parameters
    ----------
    blas: whether large contractions go to BLAS, whose bits are its own.
    symbols: for the body of a loop or branch the sizes that the functions around it bind.
    watch: is told the name of each pass and its result.
    """
    for step in passes(blas):
        made = step(function)
        if made is not function:
            verify(made, OPS, symbols)
        function = made
        if watch is not None:
            watch(step.name, function)
    return function
