"""The table of rules: what an op makes of cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from gradc_ir.classes.named import NamedTuple
from gradc_ir.elements.cells import Cells

Wanted: TypeAlias = tuple[bool, ...]  # for each axis of the result whether it is to stay
# From a node, what is wanted, and operands to the cells of the result, None where there are none.
Function: TypeAlias = Callable[..., Cells | Sequence[Cells] | None]


class Rule(NamedTuple):
    """A rule, and of how many operands it takes the cells, the first ones; None for all."""

    function: Function
    operands: int | None


RULES: dict[str, Rule] = {}


def rule(*names: str, operands: int | None = None) -> Callable[[Function], Function]:
    """Enter the rule of ops."""

    def enter(function: Function) -> Function:
        RULES.update(dict.fromkeys(names, Rule(function, operands)))
        return function

    return enter
