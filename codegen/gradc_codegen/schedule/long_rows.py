"""Rows that turn out to be long: a second nest for them, where the first one suits short rows only.

The schedule takes an inner axis of unknown length for a short one (:mod:`.estimates`).
"""

from __future__ import annotations

from gradc_codegen.nest.loop_nest import LoopNest
from gradc_codegen.schedule.choices import Choices
from gradc_codegen.schedule.estimates import Estimates, inner_sizes
from gradc_codegen.schedule.schedule import schedule
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Function

# Rows of so many elements are long.
LEAST = 256


class LongRows(NamedTuple):
    """A nest for rows of so many elements and more: the name of the size, and how large it is."""

    nest: LoopNest
    size: str
    least: int


def for_long_rows(function: Function, nest: LoopNest, blas: bool) -> LongRows | None:
    """Return the nest of a function for long rows; None where the one for short rows does."""
    inner = inner_sizes(function)
    if len(inner) != 1:
        return None
    (size,) = inner
    other = schedule(function, blas, Choices(Estimates(function, 1000)))
    return LongRows(other, size, LEAST)
