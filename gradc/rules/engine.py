"""What a rule is: a name, an equation, a class and a reason; and the passes' record of firings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum
from typing import Final

from gradc_ir.core.graph import Function, Value
from gradc_ir.errors import RuleError
from gradc_ir.matching.pattern import Match
from gradc_ir.matching.rewrite import Fired, PatternRule, Rewriter

Interval = tuple[float, float]
Guard = Callable[[Match], bool]
Procedure = Callable[[Value], Value | None]

REALS: Final[Interval] = (float("-inf"), float("inf"))


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


class Rule:
    """A rewrite rule with its reason, ready for :func:`gradc_ir.matching.rewrite.rewrite`.

    Parameters
    ----------
    name: left to right, in kebab case.
    text: the equation, ``"left => right"``; the data that proofs and documentation read.
    kind: exact, stable or fast.
    reason: one line about why the right side is better.
    root_ops: the ops of the values it may fire on.
    factors: ops of which one must make a factor of the product, or of a term of the sum.
    divisors: ops of which one must make a factor below a fraction line there, none for any.
    direct: ops of which one must make an operand, not seen through rearrangements.
    function: the rewriting itself: a value to its replacement, built in the active builder, or
    None. domain: per variable, the open interval on which the two sides are equal; the reals for
    the others. condition: the relation between variables that the domain needs too, as text (``"y <
    x"``). examples: further equations of a rule that is more than one equation; each is proved and
    measured. loss: bits of error that a single point may lose against the left side, where that is
    the price of
        the right side's range; the reason says why. guard: the guard of a user's rule; it is asked
        where the rule is checked, since it may stand in place of a domain.
    """

    __slots__ = (
        "_may_match",
        "apply",
        "condition",
        "direct",
        "divisors",
        "domain",
        "examples",
        "factors",
        "guard",
        "kind",
        "loss",
        "name",
        "reason",
        "root_ops",
        "text",
    )

    def __init__(
        self,
        name: str,
        text: str,
        kind: Kind,
        reason: str,
        *,
        root_ops: frozenset[str] | None,
        function: Procedure,
        may_match: Callable[[tuple[str, ...]], bool] | None = None,
        factors: Iterable[str] | None = None,
        divisors: Iterable[str] | None = None,
        direct: Iterable[str] | None = None,
        domain: Mapping[str, Interval] | None = None,
        condition: str | None = None,
        examples: Sequence[str] = (),
        loss: float = 0.0,
        guard: Guard | None = None,
    ) -> None:
        self.name = name
        self.text = text
        self.kind = kind
        self.reason = reason
        self.root_ops = root_ops
        self.apply = function
        self._may_match = may_match
        self.factors = None if factors is None else frozenset(factors)
        self.divisors = None if divisors is None else frozenset(divisors)
        self.direct = None if direct is None else frozenset(direct)
        self.domain = dict(domain or {})
        self.condition = condition
        self.examples = tuple(examples)
        self.loss = loss
        self.guard = guard

    @property
    def equations(self) -> tuple[str, ...]:
        """Every equation that stands for the rule in proofs: its text, or its examples."""
        return self.examples or (self.text,)

    def may_match(self, heads: tuple[str, ...]) -> bool:
        """Whether the rule can fire on a value whose operands are made by these ops."""
        return self._may_match is None or self._may_match(heads)

    def __str__(self) -> str:
        return f"{self.name}: {self.text}"

    def __repr__(self) -> str:
        return f"<{self.kind} rule {self.name}: {self.text}>"


def rule(
    name: str,
    text: str,
    kind: Kind,
    reason: str,
    *,
    when: Guard | None = None,
    build: Callable[[Match], Value | None] | None = None,
    domain: Mapping[str, Interval] | None = None,
    condition: str | None = None,
    examples: Sequence[str] = (),
    loss: float = 0.0,
) -> Rule:
    """Return a rule made of patterns: ``rule("log-exp", "log(exp(?x)) => ?x", stable, "…")``.

    ``when`` is a guard on the match, which answers no when it does not know. ``build`` makes the
    right side in Python where patterns cannot say it (then ``text`` says it to the reader, and
    ``examples`` to the proofs).
    """
    left = text.partition("=>")[0] if build is not None else text
    pattern = PatternRule(name, left, when=when, build=build)
    return Rule(
        name,
        text,
        kind,
        reason,
        root_ops=pattern.root_ops,
        function=pattern.apply,
        may_match=pattern.may_match,
        domain=domain,
        condition=condition,
        examples=examples,
        loss=loss,
    )


def procedure(
    name: str,
    text: str,
    kind: Kind,
    reason: str,
    *,
    roots: Iterable[str],
    among: Iterable[str] | None = None,
    factors: Iterable[str] | None = None,
    divisors: Iterable[str] | None = None,
    direct: Iterable[str] | None = None,
    examples: Sequence[str] = (),
    domain: Mapping[str, Interval] | None = None,
    condition: str | None = None,
    loss: float = 0.0,
) -> Callable[[Procedure], Rule]:
    """Return a decorator that makes a rule of a Python function from a value to its replacement.

    ``among``: ops of which at least one operand is made, seen through rearrangements, so that the
    function need not be asked about every product or sum. ``direct``: the same, not seen through
    any. ``factors``: ops of which at least one factor of the product, or of a term of the sum, is
    made; ``divisors``: ops of which one below a fraction line there is, none for any.
    """
    may_match = None if among is None else _meets(frozenset(among))

    def decorate(function: Procedure) -> Rule:
        return Rule(
            name,
            text,
            kind,
            reason,
            root_ops=frozenset(roots),
            function=function,
            may_match=may_match,
            factors=factors,
            divisors=divisors,
            direct=direct,
            domain=domain,
            condition=condition,
            examples=examples,
            loss=loss,
        )

    return decorate


def _meets(wanted: frozenset[str]) -> Callable[[tuple[str, ...]], bool]:
    return lambda heads: not wanted.isdisjoint(heads)


def check_names(rules: Iterable[Rule]) -> None:
    """Raise RuleError when two rules have one name."""
    seen: dict[str, Rule] = {}
    for one in rules:
        if one.name in seen:
            raise RuleError(
                f"two rules are called {one.name}",
                found=[str(seen[one.name]), str(one)],
                help="name one of them otherwise",
            )
        seen[one.name] = one


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


def apply_rules(pass_name: str, function: Function, rules: Sequence[Rule]) -> Function:
    """Return the function with rules applied until none fires; the watcher is told."""
    watcher = _watcher.get()
    if watcher is not None:
        told = watcher
        return Rewriter(rules, lambda fired: told(pass_name, fired)).function(function)
    return Rewriter(rules).function(function)
