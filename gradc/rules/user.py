"""Rules that users register: ``gradc.rule``, checked against multiple precision on the spot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from gradc.rules.engine import REALS, Guard, Interval, Kind, Rule, apply_rules
from gradc.rules.expression import Side, pattern_text, text_of
from gradc.rules.meaning import evaluate, graph_functions, sides, variables
from gradc_ir.build import Builder
from gradc_ir.errors import RuleError
from gradc_ir.graph import Function, Value
from gradc_ir.rewrite import PatternRule
from gradc_ir.types import DType, Type

# Two sides are equal when they agree to this at every sampled point; both have 400 digits.
_AGREEMENT = 1e-25


class Registered:
    """A rule in force. ``remove()`` ends it, and so does leaving it as a context manager."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule

    @property
    def name(self) -> str:
        """How the rule is called."""
        return self.rule.name

    def remove(self) -> None:
        """Take the rule out of force, for functions that are compiled from now on."""
        rules = _list_of(self.rule.kind)
        if self.rule in rules:
            rules.remove(self.rule)

    def __enter__(self) -> Registered:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()

    def __repr__(self) -> str:
        return repr(self.rule)


def rule(
    *names_and_sides: Side,
    name: str | None = None,
    when: Guard | None = None,
    kind: str = "stable",
    domain: Mapping[str, Interval] | None = None,
    reason: str = "registered by the user",
) -> Registered:
    """Add a rewrite rule: ``gradc.rule("log(1 + exp(x))", "softplus(x)")``.

    Functions that are compiled from now on use it, before the rules that gradc brings along. It
    matches every spelling that the exact and stable rules bring to the same form, arrays as well as
    scalars.

    Parameters
    ----------
    names_and_sides: the left and the right side, each a text or a Python function such as
        ``lambda x: np.log(x**3)``; a name may stand before them. Names in a text, and parameters of
        a function, are the rule's variables.
    name: how ``gradc explain`` calls the rule; the text of the rule when it is not given.
    when: the guard, a function of the match: ``lambda m: m.is_positive("x")``. It must say no when
        it does not know.
    kind: ``"stable"``, equal over the reals and not less accurate; ``"exact"``, the same bits for
        every input; or ``"fast"``, equal over the reals, used with ``compile(fast=True)``.
    domain: per variable, the open interval on which the sides are equal: ``{"x": (0, np.inf)}``.
        Unless the left side is nan elsewhere, ``when`` has to see to it that the rule is used
        there only.
    reason: one line that ``gradc explain`` shows.

    Returns the registered rule, which is a context manager: ``with gradc.rule(…): …``. Raises
    RuleError, with the point and both values, when the sides differ, in the domain or, without a
    guard, outside of it, when a stable rule is less accurate, or an exact one has other bits.
    """
    if len(names_and_sides) == 3 and name is None:
        first, *both = names_and_sides
        if not isinstance(first, str):
            raise RuleError("the name of a rule is a text", found=repr(first))
        name = first
    else:
        both = list(names_and_sides)
    if len(both) != 2:
        raise RuleError(
            f"a rule has two sides, not {len(both)}",
            help='gradc.rule("log(1 + exp(x))", "softplus(x)")',
        )
    left, right = (pattern_text(side) for side in both)
    equation = f"{left} => {right}"
    made = _make(name or equation, equation, _kind(kind), reason, when, domain or {})
    from gradc.rules import all_rules

    if any(one.name == made.name for one in all_rules()):
        raise RuleError(f"a rule called {made.name} exists", help="give another name=")
    _check(made, equation, guarded=when is not None)
    _list_of(made.kind).insert(0, made)
    return Registered(made)


def _kind(kind: str) -> Kind:
    try:
        return Kind(kind)
    except ValueError:
        raise RuleError(
            f"no kind of rule is called {kind!r}", help="write exact, stable or fast"
        ) from None


def _list_of(kind: Kind) -> list[Rule]:
    from gradc import rules

    return {Kind.EXACT: rules.EXACT, Kind.STABLE: rules.STABLE, Kind.FAST: rules.FAST}[kind]


def _make(
    name: str,
    equation: str,
    kind: Kind,
    reason: str,
    when: Guard | None,
    domain: Mapping[str, Interval],
) -> Rule:
    patterns = [PatternRule(name, f"{left} => {equation.partition('=>')[2]}", when=when)
                for left in _spellings(equation)]  # fmt: skip

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
        root_ops=frozenset().union(*(pattern.root_ops for pattern in patterns)),
        function=apply,
        domain=domain,
    )


def _spellings(equation: str) -> Iterable[str]:
    """Return the left side as written, and in the forms that the rules in force bring it to.

    Rules work from the inside out, so a left side that another rule changes inside would never be
    met.
    """
    from gradc.rules import EXACT, STABLE

    written, _ = sides(equation)
    names = list(variables(equation))
    found = {equation.partition("=>")[0].strip(): None}
    with Builder() as builder:
        params = [builder.param(i, Type(DType.F64)) for i in range(len(names))]
        value = evaluate(written, {**_scalar_functions(), **dict(zip(names, params, strict=True))})
        if not isinstance(value, Value) or value in params:
            return found  # refused where the pattern is made
        for rules in (EXACT, [*STABLE, *EXACT]):
            inside = apply_rules("register", Function("left", params, value.operands), rules)
            operands = tuple(builder.inline(inside, params))
            root = builder.apply(value.op, operands, value.node.attributes).results[0]
            found[text_of(Function("left", params, [root]), names)] = None
    return found


def _scalar_functions() -> dict[str, Any]:
    from gradc_ir import build

    def constructor(name: str) -> Any:
        def construct(*operands: Any) -> Value:
            if not any(isinstance(operand, Value) for operand in operands):
                operands = tuple(build.full((), operand, DType.F64) for operand in operands)
            return build.elementwise(name, *operands)

        return construct

    table = graph_functions(DType.F64, 1)
    return {name: constructor(name) for name in table if callable(table[name])}


# -- checks ----------------------------------------------------------------------------------------


_DOMAIN = "domain={'x': (0, inf)}"
_GUARD = "when=lambda m: m.is_positive('x')"


def _check(rule: Rule, equation: str, guarded: bool) -> None:
    """Raise RuleError unless a rule keeps the promise of its kind at sampled points."""
    unknown = set(rule.domain) - set(variables(equation))
    if unknown:
        raise RuleError(f"{rule.name}: the domain names {', '.join(sorted(unknown))}, no variable")
    cure = f"correct a side, or give the domain on which they are equal: {_DOMAIN}"
    if not _check_equal(rule, equation, rule.domain, "the sides differ", cure):
        raise RuleError(
            f"{rule.name}: the left side has no value at any point that was tried",
            help=f"give the domain on which the sides are equal: {_DOMAIN}",
        )
    if rule.domain and not guarded:
        wrong = "nothing keeps the rule to its domain, and outside of it the sides differ"
        _check_equal(rule, equation, {}, wrong, f"give a guard, such as {_GUARD}")
    if rule.kind is Kind.EXACT:
        _check_bits(rule, equation)
    elif rule.kind is Kind.STABLE:
        _check_accuracy(rule, equation)


def _check_equal(
    rule: Rule, equation: str, domain: Mapping[str, Interval], wrong: str, cure: str
) -> int:
    """Return at how many sampled points the left side is defined; the right one is equal there."""
    from gradc.rules.accuracy import sample, values_of

    points = sample(equation, domain, count=20)
    left_text, right_text = sides(equation)
    lefts, rights = (values_of(text, equation, points) for text in (left_text, right_text))
    compared = 0
    for i, (left, right) in enumerate(zip(lefts, rights, strict=True)):
        if left is None:
            continue
        compared += 1
        if right is None or abs(left - right) > _AGREEMENT * max(abs(left), abs(right)):
            at = ", ".join(f"{name} = {float(values[i])!r}" for name, values in points.items())
            raise RuleError(
                f"{rule.name}: {wrong} at {at}",
                found=[f"left:  {_shown(left)}", f"right: {_shown(right)}", f"rule:  {rule.text}"],
                help=cure,
            )
    return compared


def _shown(number: Any) -> str:
    import mpmath

    return "undefined" if number is None else str(mpmath.nstr(number, 17))


def _check_accuracy(rule: Rule, equation: str) -> None:
    from gradc.rules.accuracy import measure

    for errors in measure(equation, rule.domain, count=20):
        # a rounding more or less is no difference between spellings
        if errors.mean_right > errors.mean_left + 0.5:
            lost, point = errors.worst
            raise RuleError(
                f"{rule.name}: the right side is less accurate ({errors.what})",
                found=[
                    f"mean error: {errors.mean_left:.1f} bits on the left, "
                    f"{errors.mean_right:.1f} on the right",
                    f"worst at {', '.join(repr(float(x)) for x in point)}: {lost:.1f} bits more",
                ],
                help='turn the rule around, or register it with kind="fast"',
            )


def _check_bits(rule: Rule, equation: str) -> None:
    from gradc.rules.accuracy import graph_of, special_points
    from gradc_ir.interpret import interpret

    points = special_points(equation)
    arrays = list(points.values())
    with np.errstate(all="ignore"):
        left, right = (
            interpret(graph_of(text, equation, points), arrays)[0] for text in sides(equation)
        )
    both_nan = (left != left) & (right != right)
    same = (left == right) & (np.signbit(left) == np.signbit(right)) | both_nan
    if not same.all():
        i = int(np.argmin(same))
        at = ", ".join(f"{name} = {float(values[i])!r}" for name, values in points.items())
        raise RuleError(
            f"{rule.name}: the sides have different bits at {at}",
            found=[f"left:  {left[i]!r}", f"right: {right[i]!r}"],
            help='register it with kind="stable" or kind="fast"',
        )


__all__ = ["REALS", "Registered", "rule"]
