"""Which rules of a list may fire on a value, told by the ops of the value and of its operands."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Node, Value
from gradc_ir.graphs.rearrange import SEEN_THROUGH, peel
from gradc_ir.matching.heads import COMPOUND, bits, factor_heads


class RewriteRule(Protocol):
    """What the engine needs of a rule.

    ``root_ops`` are the names of the ops it may fire on, None for all. A rule may also have

    - ``looks``, which say what must stand below each of these ops: see :func:`parse_looks`;
    - ``may_match(heads)``, which is told the ops of the operands, seen through rearrangements, and
      says no when it surely does not fire;
    - ``direct``, ops of which one must make an operand, not seen through rearrangements.
    """

    @property
    def name(self) -> str:
        """How the rule is called in logs and errors."""

    @property
    def root_ops(self) -> frozenset[str] | None:
        """The names of the ops of the values it may fire on, None for all."""

    def apply(self, value: Value) -> Value | None:
        """Return what to put in place of a value, built in the active builder, or None."""


class Look(NamedTuple):
    """What a value looks like below its op.

    One of ``within`` makes an operand, seen through rearrangements; of a product a factor, of a sum
    a factor of a term. One of ``divisors`` makes a factor below a fraction line there, any op where
    there are none. None for no such question.
    """

    within: frozenset[str] | None = None
    divisors: frozenset[str] | None = None


Looks: TypeAlias = Mapping[str, tuple[Look, ...]]


@functools.cache
def parse_looks(text: str) -> Looks:
    """Return the looks of values by their ops: ``"log; div mul: sin / sin; add sub: /"``.

    Before a colon stand ops of values, behind it ops of which one makes an operand or a factor,
    behind the line those of divisors. Looks of one op are alternatives.
    """
    found: dict[str, tuple[Look, ...]] = {}
    for clause in text.split(";"):
        roots, _, below = clause.partition(":")
        within, line, divisors = below.partition("/")
        look = Look(
            frozenset(within.split()) or None, frozenset(divisors.split()) if line else None
        )
        for root in roots.split():
            found[root] = (*found.get(root, ()), look)
    return found


class Family:
    """Rules that stand together, loaded when a value turns up on which one of them may fire.

    ``looks`` are those of its rules, or coarser ones, None for any value; ``load`` returns them.
    """

    def __init__(
        self, name: str, looks: str | None, load: Callable[[], Iterable[RewriteRule]]
    ) -> None:
        self.name = name
        self.looks = None if looks is None else parse_looks(looks)
        self.root_ops = None if self.looks is None else frozenset(self.looks)
        self.loaded: tuple[Any, ...] | None = None
        self._load = load

    def rules(self) -> tuple[Any, ...]:
        """Return the rules, in their order."""
        if self.loaded is None:
            self.loaded = tuple(self._load())
        return self.loaded

    def __repr__(self) -> str:
        return f"<rules of {self.name}>"


Entry: TypeAlias = RewriteRule | Family


class _Outline:
    """The op of a value, and those of its operands: as they stand, and through rearrangements.

    Identity is equality: there is one for all values that look alike.
    """

    __slots__ = ("heads", "names", "root")

    def __init__(self, root: str, names: tuple[str, ...], heads: tuple[str, ...]) -> None:
        self.root = root
        self.names = names
        self.heads = heads


_OUTLINES: dict[tuple[str, tuple[str, ...], tuple[str, ...]], _Outline] = {}
# Sets of ops of which a factor and a divisor must be; None for no question.
_Question: TypeAlias = tuple[int | None, int | None]
_NO_QUESTION: Sequence[_Question] = ((None, None),)


@functools.lru_cache(maxsize=64)
def choice(entries: tuple[Entry, ...]) -> Choice:
    """Return the choice among rules, which all functions that they are applied to share."""
    return Choice(entries)


# So many lists of rules have a bit by which nodes are known that none of the rules fires on.
_MOST_BITS = 62
_bits_of_lists = (1 << i for i in range(_MOST_BITS))


class Choice:
    """Rules by the outlines of the values they may fire on; what is found is kept.

    ``bit`` stands for the list in :attr:`gradc_ir.core.graph.Node.normal_by`; 0 for none.
    """

    def __init__(self, entries: tuple[Entry, ...]) -> None:
        self.bit = next(_bits_of_lists, 0)
        self._entries = entries
        self._by_root: dict[str, tuple[Entry, ...]] = {}
        self._sieves: dict[Hashable, _Sieve] = {}

    def rules(self, value: Value) -> tuple[Entry, ...]:
        """Return the rules that may fire on a value, in their order, and families of such rules."""
        node = value.node
        outline = node.outline
        if outline is None:
            outline = _outline(node)
        sieve = self._sieves.get(outline)
        if sieve is None:
            sieve = self._sieves[outline] = self._sieve(node)
        return sieve.rules(value) if sieve.is_fine else sieve.all

    def load(self, family: Family, value: Value) -> None:
        """Load a family, so that the next answer for the value has its rules."""
        family.rules()
        self._sieves.pop(_outline(value.node), None)

    def _sieve(self, node: Node) -> _Sieve:
        ask = _ask if node.op.operands is not None else _ask_nothing
        return _Sieve(_outline(node), self._of_root(node.op.name), ask)

    def _of_root(self, name: str) -> tuple[Entry, ...]:
        found = self._by_root.get(name)
        if found is None:
            found = self._by_root[name] = _with_root(self._entries, name)
        return found


def _outline(node: Node) -> _Outline:
    op = node.op
    names: tuple[str, ...] = ()
    if op.operands is not None:
        names = tuple([operand.node.op.name for operand in node.operands])
    heads = names
    if not SEEN_THROUGH.isdisjoint(names):
        heads = tuple([peel(operand)[0].node.op.name for operand in node.operands])
    key = (op.name, names, heads)
    found = _OUTLINES.get(key)
    if found is None:
        found = _OUTLINES.setdefault(key, _Outline(*key))
    node.outline = found
    return found


def _with_root(entries: Iterable[Any], name: str) -> tuple[Any, ...]:
    return tuple(one for one in entries if one.root_ops is None or name in one.root_ops)


def _ask(entry: Entry, outline: _Outline) -> Sequence[_Question]:
    """Return questions of which one is to be answered yes for a rule to fire; none if it cannot."""
    direct: frozenset[str] | None = getattr(entry, "direct", None)
    if direct is not None and direct.isdisjoint(outline.names):
        return ()
    may_match = getattr(entry, "may_match", None)
    if may_match is not None and not may_match(outline.heads):
        return ()
    looks: Looks | None = getattr(entry, "looks", None)
    if looks is None:
        return _NO_QUESTION
    asked: list[_Question] = []
    for within, divisors in looks[outline.root]:
        meets = within is None or not within.isdisjoint(outline.heads)
        if outline.root in COMPOUND:
            below = None if divisors is None else bits(divisors)
            asked.append((None if meets or within is None else bits(within), below))
        elif meets:
            return _NO_QUESTION
    return asked


def _ask_nothing(entry: Entry, outline: _Outline) -> Sequence[_Question]:
    return _NO_QUESTION


_Ask: TypeAlias = Callable[[Entry, _Outline], Sequence[_Question]]


class _Sieve:
    """Rules for values of one outline; some ask what makes the factors of a product or sum."""

    def __init__(self, outline: _Outline, entries: Iterable[Entry], ask: _Ask) -> None:
        asked: list[tuple[Any, Sequence[_Question]]] = []
        for entry in entries:
            questions = ask(entry, outline)
            if questions and isinstance(entry, Family) and entry.loaded is not None:
                rules = _with_root(entry.loaded, outline.root)
                asked += [(rule, ask(rule, outline)) for rule in rules]
            else:
                asked.append((entry, questions))
        self._asked = [(one, questions) for one, questions in asked if questions]
        self.all: tuple[Entry, ...] = tuple(one for one, _ in self._asked)
        everything = [one for _, questions in self._asked for one in questions]
        # whether there is more to ask
        self.is_fine = any(one != (None, None) for one in everything)
        self._factors = _union(factors for factors, _ in everything)
        self._divisors = _union(divisors for _, divisors in everything)
        self._kept: dict[tuple[int, int, bool], tuple[Entry, ...]] = {}

    def rules(self, value: Value) -> tuple[Entry, ...]:
        """Return the rules that may fire on a product or sum, and families of such rules."""
        factors, divisors = factor_heads(value)
        key = (factors & self._factors, divisors & self._divisors, divisors != 0)
        found = self._kept.get(key)
        if found is None:
            found = self._kept[key] = tuple(
                one
                for one, questions in self._asked
                if any([_is_answered(question, *key) for question in questions])
            )
        return found


def _is_answered(question: _Question, factors: int, divisors: int, has_divisor: bool) -> bool:
    within, below = question
    return (within is None or bool(within & factors)) and (
        below is None or (bool(below & divisors) if below else has_divisor)
    )


def _union(sets: Iterable[int | None]) -> int:
    return functools.reduce(int.__or__, (one or 0 for one in sets), 0)
