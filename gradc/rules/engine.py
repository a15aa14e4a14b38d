"""What a rule is: a name, an equation, a class and a reason; and the passes' record of firings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from enum import Enum
from typing import Final, Protocol, TypedDict, Unpack

from gradc_ir.classes.quick import dataclass
from gradc_ir.core.graph import Function, Value
from gradc_ir.matching.choice import Entry, Looks, parse_looks
from gradc_ir.matching.pattern import Match
from gradc_ir.matching.rewrite import Fired, PatternRule, Rewriter

Interval = tuple[float, float]
Guard = Callable[[Match], bool]
Procedure = Callable[[Value], Value | None]


class Form(Protocol):
    """What stands for a value and is built in the type of one: a product."""

    def value(self, like: Value) -> Value:
        """Build it."""
        ...


Finder = Callable[[Value], Value | Form | None]

INF: Final = float("inf")
REALS: Final[Interval] = (-INF, INF)
POSITIVE: Final[Interval] = (0.0, INF)


class Kind(Enum):
    """The promise of a rule.

    ``exact``: the same bits for every input. ``stable``: equal over the reals on the domain, and
    never less accurate. ``fast``: equal over the reals; may change nan, the sign of zero, or
    rounding.
    """

    EXACT = "exact"
    STABLE = "stable"
    FAST = "fast"

    def __str__(self) -> str:
        return self.value


exact: Final = Kind.EXACT
stable: Final = Kind.STABLE
fast: Final = Kind.FAST


@dataclass(frozen=True, eq=False, repr=False)
class Rule:
    """A rewrite rule with its reason, ready for :func:`gradc_ir.matching.rewrite.rewrite`.

    Parameters
    ----------
    name: left to right, in kebab case.
    text: the equation, ``"left => right"``; the data that proofs and documentation read.
    kind: exact, stable or fast.
    reason: one line about why the right side is better.
    apply: the rewriting itself: a value to its replacement, built in the active builder, or None.
    root_ops: the ops of the values it may fire on, None for any.
    looks: what must stand below each of these ops, see :class:`gradc_ir.matching.choice.Look`.
    may_match: whether it can fire on a value whose operands are made by these ops.
    direct: ops of which one must make an operand, not seen through rearrangements.
    domain: per variable, the open interval on which the two sides are equal; the reals for the
        others.
    condition: the relation between variables that the domain needs too, as text (``"y < x"``).
    examples: further equations of a rule that is more than one equation; each is proved and
        measured.
    loss: bits of error that a single point may lose against the left side, where that is the price
        of the right side's range; the reason says why.
    guard: the guard of a user's rule; it is asked where the rule is checked, since it may stand in
        place of a domain.
    """

    name: str
    text: str
    kind: Kind
    reason: str
    apply: Procedure
    root_ops: frozenset[str] | None
    looks: Looks | None = None
    may_match: Callable[[tuple[str, ...]], bool] | None = None
    direct: frozenset[str] | None = None
    domain: Mapping[str, Interval] = field(default_factory=dict)
    condition: str | None = None
    examples: Sequence[str] = ()
    loss: float = 0.0
    guard: Guard | None = None

    @property
    def equations(self) -> tuple[str, ...]:
        """Every equation that stands for the rule in proofs: its text, or its examples."""
        return tuple(self.examples) or (self.text,)

    def __str__(self) -> str:
        return f"{self.name}: {self.text}"

    def __repr__(self) -> str:
        return f"<{self.kind} rule {self.name}: {self.text}>"


class Claims(TypedDict, total=False):
    """What is proved and measured of a rule, as :class:`Rule` has it."""

    domain: Mapping[str, Interval]
    condition: str
    examples: Sequence[str]
    loss: float


def rule(
    name: str,
    text: str,
    kind: Kind,
    reason: str,
    *,
    when: Guard | None = None,
    build: Callable[[Match], Value | None] | None = None,
    **claims: Unpack[Claims],
) -> Rule:
    """Return a rule made of patterns: ``rule("log-exp", "log(exp(?x)) => ?x", stable, "…")``.

    ``when`` is a guard on the match, which answers no when it does not know. ``build`` makes the
    right side in Python where patterns cannot say it (then ``text`` says it to the reader, and
    ``examples`` to the proofs).
    """
    left = text.partition("=>")[0] if build is not None else text
    pattern = PatternRule(name, left, when=when, build=build, known=True)
    apply, ops, may_match = pattern.apply, pattern.root_ops, pattern.may_match
    return Rule(name, text, kind, reason, apply, ops, may_match=may_match, **claims)


def procedure(
    name: str,
    text: str,
    kind: Kind,
    reason: str,
    *,
    on: str,
    direct: Iterable[str] | None = None,
    **claims: Unpack[Claims],
) -> Callable[[Finder], Rule]:
    """Return a decorator that makes a rule of a Python function from a value to its replacement.

    The function may return a :class:`gradc.rules.algebra.factors.Product` for its value.
    ``on`` says what values look like that the function is asked about, so that it need not be asked
    about every product or sum: ``"div mul: sin / sin"`` is a quotient or a product with a sine as a
    factor and a sine below the line, see :func:`gradc_ir.matching.choice.parse_looks`. Functions of
    stable and fast rules are asked about floats only. ``direct``: see :class:`Rule`.
    """
    looks = parse_looks(on)
    above = None if direct is None else frozenset(direct)

    def decorate(find: Finder) -> Rule:
        def apply(value: Value) -> Value | None:
            if kind is not exact and not value.type.dtype.is_float:
                return None
            made = find(value)
            return made if made is None or isinstance(made, Value) else made.value(value)

        ops = frozenset(looks)
        return Rule(name, text, kind, reason, apply, ops, looks, direct=above, **claims)

    return decorate


# -- applying rules and telling which fired --------------------------------------------------------

Watcher = Callable[[str, Fired], None]
_watcher: ContextVar[Watcher | None] = ContextVar("gradc_firings", default=None)


@contextmanager
def watch_firings(watcher: Watcher) -> Iterator[None]:
    """Tell ``watcher`` the name of the pass and each firing of a rule in passes run within."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


def tell(pass_name: str, fired: Fired) -> None:
    """Tell the watcher what a pass put in place of a value, where no rule did it."""
    watcher = _watcher.get()
    if watcher is not None:
        watcher(pass_name, fired)


def apply_rules(pass_name: str, function: Function, rules: Sequence[Entry]) -> Function:
    """Return the function with rules applied until none fires; the watcher is told."""
    watcher = _watcher.get()
    if watcher is not None:
        told = watcher
        return Rewriter(rules, lambda fired: told(pass_name, fired)).function(function)
    return Rewriter(rules).function(function)
