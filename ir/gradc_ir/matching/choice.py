"""Which rules of a list may fire on a value, told by the ops of the value and of its operands."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Protocol, TypeAlias

from gradc_ir.core.graph import Node, Value
from gradc_ir.graphs.rearrange import REARRANGEMENTS, peel
from gradc_ir.matching.heads import COMPOUND, bits, factor_heads


class RewriteRule(Protocol):
    """What the engine needs of a rule.

    ``root_ops`` are the names of the ops it may fire on, None for all. A rule may also have

    - ``may_match(heads)``, which is told the ops of the operands, seen through rearrangements, and
      says no when it surely does not fire;
    - ``direct``, ops of which one must make an operand, not seen through rearrangements;
    - ``factors``, ops of which one must make a factor of the product, or of a term of the sum, that
      it fires on;
    - ``divisors``, ops of which one must make a factor below a fraction line there, none for any.
    """

    @property
    def name(self) -> str:
        """How the rule is called in logs and errors."""

    @property
    def root_ops(self) -> frozenset[str] | None:
        """The names of the ops of the values it may fire on, None for all."""

    def apply(self, value: Value) -> Value | None:
        """Return what to put in place of a value, built in the active builder, or None."""


Rules: TypeAlias = tuple[RewriteRule, ...]
_Looks: TypeAlias = tuple[str, tuple[str, ...], tuple[str, ...]]


@functools.lru_cache(maxsize=64)
def choice(rules: Rules) -> Choice:
    """Return the choice among rules, which all functions that they are applied to share."""
    return Choice(rules)


class Choice:
    """Rules by the looks of the values they may fire on; what is found is kept."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._by_root: dict[str, Rules] = {}
        self._sieves: dict[_Looks, _Sieve] = {}

    def rules(self, value: Value) -> Rules:
        """Return the rules that may fire on a value, in their order."""
        sieve = self._sieve(value.node)
        return sieve.rules(value) if sieve.is_fine else sieve.all

    def _sieve(self, node: Node) -> _Sieve:
        op = node.op
        names: tuple[str, ...] = ()
        if op.operands is not None:
            names = tuple([operand.node.op.name for operand in node.operands])
        heads = names
        if not REARRANGEMENTS.isdisjoint(names):
            heads = tuple([peel(operand)[0].node.op.name for operand in node.operands])
        found = self._sieves.get((op.name, names, heads))
        if found is None:
            rules = self._of_root(op.name)
            if op.operands is not None:
                rules = tuple(rule for rule in rules if _may_fire(rule, names, heads))
            found = self._sieves[op.name, names, heads] = _Sieve(rules, op.name in COMPOUND)
        return found

    def _of_root(self, name: str) -> Rules:
        found = self._by_root.get(name)
        if found is None:
            found = self._by_root[name] = tuple(
                rule for rule in self._rules if rule.root_ops is None or name in rule.root_ops
            )
        return found


def _may_fire(rule: RewriteRule, names: tuple[str, ...], heads: tuple[str, ...]) -> bool:
    direct: frozenset[str] | None = getattr(rule, "direct", None)
    if direct is not None and direct.isdisjoint(names):
        return False
    may_match = getattr(rule, "may_match", None)
    return may_match is None or bool(may_match(heads))


class _Sieve:
    """Rules for values that look the same; some ask what makes the factors of a product or sum."""

    def __init__(self, rules: Rules, is_compound: bool) -> None:
        self.all = rules
        self._wanted = [(_bits(rule, "factors"), _bits(rule, "divisors")) for rule in rules]
        # whether there is more to ask
        self.is_fine = is_compound and any(each != (None, None) for each in self._wanted)
        self._factors = _union(factors for factors, _ in self._wanted)
        self._divisors = _union(divisors for _, divisors in self._wanted)
        self._kept: dict[tuple[int, int, bool], Rules] = {}

    def rules(self, value: Value) -> Rules:
        """Return the rules that may fire on a product or sum."""
        factors, divisors = factor_heads(value)
        key = (factors & self._factors, divisors & self._divisors, divisors != 0)
        found = self._kept.get(key)
        if found is None:
            found = self._kept[key] = tuple(
                rule
                for rule, (wanted, below) in zip(self.all, self._wanted)
                if (wanted is None or wanted & key[0])
                and (below is None or (below & key[1] if below else key[2]))
            )
        return found


def _bits(rule: RewriteRule, question: str) -> int | None:
    wanted: frozenset[str] | None = getattr(rule, question, None)
    return None if wanted is None else bits(wanted)


def _union(sets: Iterable[int | None]) -> int:
    return functools.reduce(int.__or__, (one or 0 for one in sets), 0)
