"""Limits to the steps of loops: which loops have one, and the error when one takes more."""

from __future__ import annotations

from collections.abc import Mapping

from gradc_ir.core import sizes
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import Size
from gradc_ir.core.walk import nested
from gradc_ir.errors import LoopError
from gradc_ir.interpreter.tape import NAME
from gradc_ir.location import Location


def too_many_steps(limit: Size, at: Location | None = None) -> LoopError:
    """Return the error for a loop that takes more steps than its limit."""
    return LoopError(
        f"the loop takes more than {limit} steps, its limit",
        at=at,
        help="allow it more steps, or none to have no limit: max_iter=",
    )


def limited_loops(
    function: Function, values: Mapping[str, int]
) -> tuple[tuple[int, Location | None], ...]:
    """Return limit and line of each loop that has a limit, each line once for a limit.

    Parameters
    ----------
    function: what holds the loops, bodies included.
    values: the numbers that its size symbols have.
    """
    found: dict[tuple[int, Location | None], None] = {}
    for owner, node in nested(function):
        length = node.attributes.get("length")
        bounded = node.op.name == "while" or node.attributes.get("counted", False)
        if bounded and length is not None and NAME not in sizes.symbols(length):
            at = next(iter(owner.locations.get(node, ())), None)
            found[sizes.evaluate(length, values), at] = None
    return tuple(found)
