"""Rules that users register: ``gradc.rule``, checked against multiple precision on the spot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from gradc.rules import in_force
from gradc.rules.engine import Guard, Interval, Kind, Rule
from gradc.rules.user import conditions
from gradc.rules.user.expression import Side, pattern_text
from gradc.rules.user.spellings import spellings
from gradc.rules.verify.checking import check, check_form
from gradc.traceback import boundary
from gradc.tracing import current
from gradc.tracing.core import source
from gradc_ir.core.graph import Value
from gradc_ir.errors import RuleError
from gradc_ir.matching.rewrite import PatternRule

_EXAMPLE = 'gradc.rule("log(1 + exp(x))", "softplus(x)")'


class UserRule:
    """A rule that holds. ``remove()`` takes it out of force.

    As a context manager it is in force within the block only, in this thread.
    """

    def __init__(self, rule: Rule) -> None:
        self.rule = rule

    @property
    def name(self) -> str:
        """How the rule is called."""
        return self.rule.name

    def remove(self) -> None:
        """Take the rule out of force; removing it twice is harmless."""
        in_force.remove(self.rule)

    def __enter__(self) -> UserRule:
        refuse_in_traced_code()
        in_force.remove(self.rule)
        in_force.enter(self.rule)
        return self

    def __exit__(self, *exception: object) -> None:
        in_force.leave(self.rule)

    def __repr__(self) -> str:
        return repr(self.rule)


@boundary
def rule(
    *names_and_sides: Side,
    name: str | None = None,
    when: Guard | str | None = None,
    kind: str = "stable",
    domain: Mapping[str, Interval] | None = None,
    reason: str = "registered by the user",
    register: bool = True,
) -> UserRule:
    """Add a rewrite rule: ``gradc.rule("log(1 + exp(x))", "softplus(x)")``.

    From now on it is in force, before the rules that gradc brings along, and functions that have
    been compiled are compiled again when they are next called. It meets every spelling of its left
    side that has the same canonical form: operands in any order, minus signs, numbers in either
    precision, arrays as well as scalars.

    Parameters
    ----------
    names_and_sides: the left and the right side, each a text or a Python function such as
        ``lambda x: np.log(x**3)``, or both in one text, ``"log(x**3) => 3 * log(x)"``; a name may
        stand before them. Names in a text, and parameters of a function, are the rule's variables.
    name: how ``gradc explain`` calls the rule; the text of the rule when it is not given.
    when: where the sides are equal, as a condition of each variable by itself, ``"0 < x < 1"``;
        the rule then fires where that is surely so: for numbers, and for values whose sign is known
        (``exp(y)`` is not negative). Or a function of the match, ``lambda m: m.is_positive("x")``,
        which must say no when it does not know.
    kind: ``"stable"``, equal over the reals and not less accurate; ``"exact"``, the same bits for
        every input; or ``"fast"``, equal over the reals, used with ``compile(fast=True)``.
    domain: per variable, the open interval on which the sides are equal: ``{"x": (0, np.inf)}``.
        Unless the left side is nan elsewhere, ``when`` has to see to it that the rule is used
        there only; as a condition it gives the domain, too.
    reason: one line that ``gradc explain`` shows.
    register: whether to put the rule in force everywhere; otherwise it is only made, for
        ``with gradc.rules(made):`` and ``gradc.compile(f, rules=[made])``.

    Returns the rule, which is a context manager: ``with gradc.rule(…): …``. Raises RuleError, with
    the point, both values and their bits, when the sides differ, in the domain or where the guard
    says yes, when a stable rule is less accurate, or an exact one has other bits; also when the
    rule runs in a circle with others.
    """
    refuse_in_traced_code()
    at = source.location()
    try:
        made = _rule(names_and_sides, name, when, kind, domain, reason)
        _check_name(made, register)
    except RuleError as error:
        raise error.located(at) from error.__cause__
    if register:
        in_force.register(made)
    return UserRule(made)


def refuse_in_traced_code() -> None:
    """Raise RuleError in a function that is being traced, all of which has the same rules."""
    if current() is not None:
        raise RuleError(
            "rules are in force for whole functions, not for a part of one",
            at=source.location(),
            help="write the block around the call, or gradc.compile(f, rules=[…])",
        )


def as_rules(given: Iterable[object]) -> tuple[Rule, ...]:
    """Return rules from what users give for them: made rules, or texts with ``=>``."""
    if isinstance(given, (str, UserRule, Rule)):
        given = [given]
    return tuple(_as_rule(one) for one in given)


def _as_rule(given: object) -> Rule:
    if isinstance(given, Rule):
        return given
    if isinstance(given, UserRule):
        return given.rule
    if isinstance(given, str):
        return _of_text(given)
    raise RuleError(
        f"a rule is made by gradc.rule, or is a text, not {type(given).__name__}",
        help='write "log(1 + exp(x)) => softplus(x)", or gradc.rule(…, register=False)',
    )


# The same text is the same rule, so that a block that is entered again finds what was compiled.
@lru_cache(maxsize=256)
def _of_text(text: str) -> Rule:
    return rule(text, register=False).rule


def _rule(
    names_and_sides: tuple[Side, ...],
    name: str | None,
    when: Guard | str | None,
    kind: str,
    domain: Mapping[str, Interval] | None,
    reason: str,
) -> Rule:
    given = list(names_and_sides)
    if isinstance(given[-1] if given else None, str) and "=>" in str(given[-1]):
        given[-1:] = str(given[-1]).split("=>", 1)
    if len(given) == 3 and name is None:
        first = given.pop(0)
        if not isinstance(first, str):
            raise RuleError("the name of a rule is a text", found=repr(first))
        name = first
    if len(given) != 2:
        raise RuleError(f"a rule has two sides, not {len(given)}", help=_EXAMPLE)
    left, right = (pattern_text(side) for side in given)
    equation = f"{left} => {right}"
    check_form(equation)
    intervals = dict(domain or {})
    if isinstance(when, str):
        wanted = conditions.intervals(when)
        when, intervals = conditions.guard(wanted), {**wanted, **intervals}
    made = _make(name or equation, equation, _kind(kind), reason, when, intervals)
    check(made, equation)
    return made


def _check_name(made: Rule, register: bool) -> None:
    for one in in_force.in_force(*Kind):
        # the same text may be given again for a block or for a function
        if one.name == made.name and (register or one.text != made.text):
            raise RuleError(f"a rule called {made.name} exists", help="give another name=")


def _kind(kind: str) -> Kind:
    try:
        return Kind(kind)
    except ValueError:
        raise RuleError(
            f"no kind of rule is called {kind!r}", help="write exact, stable or fast"
        ) from None


def _make(
    name: str,
    equation: str,
    kind: Kind,
    reason: str,
    when: Guard | None,
    domain: Mapping[str, Interval],
) -> Rule:
    right = equation.partition("=>")[2].strip()
    patterns = [
        PatternRule(name, f"{left} => {f'neg({right})' if negated else right}", when=when)
        for left, negated in spellings(equation).items()
    ]

    def apply(value: Value) -> Value | None:
        for pattern in patterns:
            made = pattern.apply(value) if value.op.name in pattern.root_ops else None
            if made is not None:
                return made
        return None

    return Rule(
        name,
        equation,
        kind,
        reason,
        apply,
        frozenset().union(*(pattern.root_ops for pattern in patterns)),
        may_match=lambda heads: any(pattern.may_match(heads) for pattern in patterns),
        domain=domain,
        guard=when,
    )


__all__ = ["UserRule", "as_rules", "rule"]
