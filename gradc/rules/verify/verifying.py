"""Checks of a rule on demand: proved by SymPy, and measured or compared bit for bit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gradc.rules.engine import Kind, Rule
from gradc.rules.verify.meaning import array_variables, bool_variables, sides
from gradc_ir.core.types import DType
from gradc_ir.errors import RuleError

# What a single point, and a mean, may lose: a rounding more is no difference between spellings.
_AT_A_POINT, _IN_THE_MEAN = 2.0, 0.5


@dataclass(frozen=True)
class Bits:
    """The mean bits of error of both sides of an equation, of the value or a derivative."""

    equation: str
    dtype: DType
    what: str
    left: float
    right: float
    lost: float
    at: tuple[float, ...]


@dataclass(frozen=True)
class Verified:
    """A rule that holds: how that is known, and the bits of its sides."""

    rule: Rule
    how: str
    bits: tuple[Bits, ...]


def measured(rule: Rule, dtype: DType = DType.F64, count: int = 12) -> Iterator[Bits]:
    """Yield the bits of both sides of each equation of a rule: value first, then derivatives.

    Equations with conditions for variables are left out: they have no derivatives by them.
    """
    from gradc.rules.verify.accuracy import measure
    from gradc.rules.verify.checking import points_of

    for equation in rule.equations:
        if bool_variables(equation):
            continue
        points = points_of(rule, equation) if rule.guard else None
        for errors in measure(
            equation, rule.domain, rule.condition, dtype, count=count, points=points
        ):
            means = errors.mean_left, errors.mean_right
            lost, at = errors.worst
            yield Bits(equation, dtype, errors.what, *means, lost, tuple(map(float, at)))


def verify(rule: Rule) -> Verified:
    """Return how a rule holds; raises RuleError with a counter-example when it does not.

    SymPy proves that the sides are equal over the reals; where it cannot, they are compared in many
    digits at sampled points. A stable rule is then measured in both precisions, an exact one
    compared bit for bit. Rules about shapes have no formula, and are compared by gradc's tests.
    """
    from gradc.rules.verify.checking import check_bits

    if not has_formula(rule):
        return Verified(rule, "about shapes", ())
    hows = [_proved(rule, equation) for equation in rule.equations]
    how = next((how for how in hows if how != "proved"), "proved")
    if rule.kind is Kind.EXACT:
        for equation in rule.equations:
            if ":integer" not in equation:
                check_bits(rule, equation)
        return Verified(rule, f"{how}, the same bits", ())
    if rule.kind is not Kind.STABLE:
        return Verified(rule, how, ())
    found = [each for dtype in (DType.F64, DType.F32) for each in measured(rule, dtype)]
    for each in found:
        if each.lost > _AT_A_POINT + rule.loss or each.right > each.left + _IN_THE_MEAN:
            raise RuleError(
                f"{rule.name}: the right side is less accurate ({each.what}, {each.dtype})",
                found=[
                    f"mean error: {each.left:.2f} bits on the left, {each.right:.2f} on the right",
                    f"worst at {', '.join(map(repr, each.at))}: {each.lost:.1f} bits more",
                    f"rule:  {each.equation}",
                ],
                help="turn the rule around, or make it a fast one",
            )
    return Verified(rule, f"{how}, measured", tuple(found))


def has_formula(rule: Rule) -> bool:
    """Whether the sides of a rule are formulas, and not words about shapes."""
    from gradc.rules.verify.accuracy import graph_of, sample

    try:
        for equation in rule.equations:
            points = sample(equation, rule.domain, None, 1)
            for side in sides(equation):
                graph_of(side, equation, points)
    except (RuleError, NameError, TypeError, SyntaxError, ValueError, LookupError):
        return False
    return True


def _proved(rule: Rule, equation: str) -> str:
    """Return how it is known that the sides of an equation are equal over the reals."""
    from gradc.rules.verify.checking import check_equal
    from gradc.rules.verify.proof import difference

    remainder = difference(equation, rule.domain, rule.condition)
    if remainder is None:
        return "proved"
    if not array_variables(equation) and rule.condition is None:
        compared = check_equal(rule, equation)  # or there is a counter-example
        return f"not proved, but equal at {compared} points"
    raise RuleError(
        f"{rule.name}: SymPy does not find the sides equal",
        found=[f"left - right: {remainder}", f"rule:  {equation}"],
        help="give the domain on which they are equal, or another form of a side",
    )
