"""The passes that apply rules: ``Simplify`` a list of them, ``Stabilise`` the stable ones."""

from __future__ import annotations

from collections.abc import Sequence

from gradc.rules.engine import Kind, Rule, apply_rules
from gradc.rules.in_force import entries
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.graph import Function
from gradc_ir.matching.choice import Entry


@dataclass(frozen=True)
class Simplify:
    """Apply rules everywhere until none fires."""

    rules: Sequence[Entry]
    name: str = "simplify"
    summary: str = "apply the given rules everywhere until none fires"

    def __call__(self, function: Function) -> Function:
        """Return the simplified function."""
        return apply_rules(self.name, function, self.rules)


@dataclass(frozen=True)
class Stabilise:
    """Apply the stable rules and, since they meet each other through it, the exact algebra.

    ``more`` are the rules of one function, which are tried first.
    """

    more: tuple[Rule, ...] = ()
    name: str = "stabilise"
    summary: str = "replace spellings that overflow or cancel by stable functions"

    def __call__(self, function: Function) -> Function:
        """Return the function in its stable form."""
        rules = entries(Kind.STABLE, Kind.EXACT, more=self.more)
        return apply_rules(self.name, function, rules)
