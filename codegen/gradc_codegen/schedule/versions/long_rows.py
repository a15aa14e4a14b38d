"""Rows that turn out to be long: a nest for them, where the first one is quick for short rows only.

The schedule takes an inner axis of unknown length for a short one, so lanes run over rows, which
are transposed for them. Where each element is read again and again, or summed over the rows, long
rows take less with lanes along each. Which of both is quicker the estimates of lanes say.
"""

from __future__ import annotations

from gradc_codegen.nest.loop_nest import Loop, LoopNest
from gradc_codegen.schedule.choices import Choices
from gradc_codegen.schedule.estimates import Estimates, inner_sizes
from gradc_codegen.schedule.lane_costs import LaneCosts
from gradc_codegen.schedule.lanes import OUTER
from gradc_codegen.schedule.schedule import schedule
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Function

# From so many elements on a row is long, and what the nest for long rows is made for.
LEAST = 48
_USUAL = 256
# The first nest takes so many times as long there.
_WORTH = 1.2


class LongRows(NamedTuple):
    """A nest for rows of so many elements and more: the size they have, and from where on."""

    nest: LoopNest
    size: str
    least: int

    def __str__(self) -> str:
        return f"where {self.size} is {self.least} or more:\n{self.nest}"


def for_long_rows(function: Function, nest: LoopNest, blas: bool = False) -> LongRows | None:
    """Return the nest of a function for long rows; None where the one for short rows will do.

    Rows have one length: with several that only the running program knows there are as many ways.
    """
    inner = inner_sizes(function)
    if len(inner) != 1 or nest.bodies:
        return None
    estimate = Estimates(function, numbers=dict.fromkeys(inner, _USUAL))
    costs = LaneCosts(estimate)
    loops = [item for item in nest.body if isinstance(item, Loop) and item.block == OUTER]
    over_rows = sum(costs.in_lanes(loop, OUTER) for loop in loops if loop.staged)
    along_rows = sum(costs.one_by_one(loop) for loop in loops if loop.staged)
    if over_rows < _WORTH * along_rows or not loops:
        return None
    (size,) = inner
    return LongRows(schedule(function, blas, Choices(estimate)), size, LEAST)
