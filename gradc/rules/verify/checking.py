"""What a user's rule is checked for when it is made: numbers in many digits, bits, and its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gradc.rules.engine import Guard, Kind, Rule, watch_firings
from gradc.rules.in_force import entries
from gradc.rules.verify.accuracy import graph_of, measure, sample, special_points, values_of
from gradc.rules.verify.meaning import bool_variables, evaluate, graph_functions, sides, variables
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.types import Array, DType
from gradc_ir.errors import RuleError, VerifyError
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.matching.pattern import Call, match, parse_pattern, parse_rule_text
from gradc_ir.meaning.ulp_distance import same_bits

Points = Mapping[str, Array]

# Two sides are equal when they agree to this at every sampled point.
_AGREEMENT = 1e-25
# Bits of precision: the second is for points at which the first was not enough, such as cosh(x) - 1
# close to 0.
_PRECISIONS = (1400, 4700)
# How many points of each sort.
_COUNT = 20
# Special points of a rule, and how many differences are looked into. Bits that usual numbers may
# lose there: their error is measured in the mean, at other points.
_SPECIAL, _SPECIAL_GUARDED, _LOOKED_INTO, _LOST = 400, 120, 12, 8.0
_DOMAIN = "domain={'x': (0, inf)}"
_GUARD = 'when="x > 0"'
_CURE = f"correct a side, or say where they are equal: {_GUARD}"


def check(rule: Rule, equation: str) -> None:
    """Raise RuleError unless a rule keeps the promise of its kind at sampled points.

    Points are those of the domain for which the guard says yes when the variables are these
    numbers. Outside of the domain the sides must be equal, too, wherever the guard says yes.
    """
    unknown = set(rule.domain) - set(variables(equation))
    if unknown:
        raise RuleError(f"{rule.name}: the domain names {', '.join(sorted(unknown))}, no variable")
    points = points_of(rule, equation)
    if not _check_equal(rule, equation, points, "the sides differ", _CURE):
        raise RuleError(
            f"{rule.name}: the left side has no value at any point that was tried",
            help=f"give the domain on which the sides are equal: {_DOMAIN}",
        )
    if rule.domain:
        everywhere = _guarded(equation, sample(equation, {}, count=_COUNT), rule.guard)
        wrong = "nothing keeps the rule to its domain, and outside of it the sides differ"
        if rule.guard is not None:
            wrong = "the guard lets the rule out of its domain, where the sides differ"
        _check_equal(rule, equation, everywhere, wrong, f"give a guard, such as {_GUARD}")
    if rule.kind is Kind.EXACT:
        check_bits(rule, equation)
    elif rule.kind is Kind.STABLE:
        _check_accuracy(rule, equation, points)
        _check_special_values(rule, equation)
    _check_use(rule, equation)


def check_form(equation: str) -> None:
    """Raise RuleError unless an equation says what a number of some variables is."""
    parse_rule_text(equation)  # or what it does not understand is underlined
    conditions = bool_variables(equation)
    if conditions:
        raise RuleError(
            f"?{min(conditions)} stands for a condition, not for a number",
            found=equation,
            help="variables of users' rules are numbers; write a comparison in its place",
        )
    names = variables(equation.partition("=>")[0])
    if not names:
        raise RuleError("the left side has no variable", found=equation)
    graph = graph_of(sides(equation)[0], equation, {name: np.zeros(1) for name in names})
    if not graph.result_types[0].dtype.is_float:
        raise RuleError(
            "the sides of a rule are numbers, not conditions",
            found=equation,
            help="write the rule for what is compared, or for the select that asks",
        )


# -- points ----------------------------------------------------------------------------------------


def points_of(rule: Rule, equation: str) -> Points:
    """Return points of the domain where the guard says yes; all, when it never does."""
    points = sample(equation, rule.domain, rule.condition, count=_COUNT)
    kept = _guarded(equation, points, rule.guard)
    return kept if _count(kept) else points


def _count(points: Points) -> int:
    return len(next(iter(points.values()), ()))


def _guarded(equation: str, points: Points, guard: Guard | None) -> Points:
    """Return the points for which the guard says yes when the variables are these numbers."""
    if guard is None:
        return points
    pattern = parse_pattern(equation.partition("=>")[0])
    assert isinstance(pattern, Call)
    table = graph_functions(DType.F64, 1)
    kept = []
    for i in range(_count(points)):
        with Builder():
            names = {
                name: build.full((), float(values[i]), DType.F64) for name, values in points.items()
            }
            found = match(pattern, evaluate(sides(equation)[0], {**table, **names}))
            try:
                kept.append(found is not None and bool(guard(found)))
            except (LookupError, TypeError, ValueError, AttributeError) as error:
                raise RuleError(
                    f"the guard failed: {type(error).__name__}: {error}",
                    found=f"the variables are {', '.join(points)}",
                    help='write lambda m: m.is_positive("x"), or a condition such as "x > 0"',
                ) from error
    return {name: values[np.array(kept, bool)] for name, values in points.items()}


def _at(points: Points, i: int) -> str:
    return ", ".join(f"{name} = {float(values[i])!r}" for name, values in points.items())


def _bits(number: float) -> str:
    return f"0x{int(np.float64(number).view(np.uint64)):016x}"


def _bits_at(points: Points, i: int) -> str:
    shown = (f"{name} = {_bits(values[i])}" for name, values in points.items())
    return f"bits:  {', '.join(shown)}"


# -- promises --------------------------------------------------------------------------------------


def check_equal(rule: Rule, equation: str) -> int:
    """Return at how many points of its domain the sides of an equation of scalars are equal.

    Raises RuleError for the first at which they are not.
    """
    return _check_equal(rule, equation, points_of(rule, equation), "the sides differ", _CURE)


def _check_equal(rule: Rule, equation: str, points: Points, wrong: str, cure: str) -> int:
    """Return at how many points the left side is defined; the right one is equal there."""

    def both(chosen: Points, precision: int) -> list[tuple[Any, Any]]:
        left, right = (values_of(text, equation, chosen, precision) for text in sides(equation))
        return list(zip(left, right, strict=True))

    compared = 0
    for i, (left, right) in enumerate(both(points, _PRECISIONS[0])):
        if left is None:
            continue
        compared += 1
        if not _equal(left, right):
            here = {name: values[i : i + 1] for name, values in points.items()}
            ((left, right),) = both(here, _PRECISIONS[1])
        if not _equal(left, right):
            raise RuleError(
                f"{rule.name}: {wrong} at {_at(points, i)}",
                found=[
                    f"left:  {_shown(left)}",
                    f"right: {_shown(right)}",
                    _bits_at(points, i),
                    f"rule:  {rule.text}",
                ],
                help=cure,
            )
    return compared


def _equal(left: Any, right: Any) -> bool:
    if left is None or right is None:
        return left is right
    return bool(abs(left - right) <= _AGREEMENT * max(abs(left), abs(right)))


def _shown(number: Any) -> str:
    import mpmath

    if number is None:
        return "undefined"
    return f"{mpmath.nstr(number, 17)}  {_bits(float(number))}"


def _check_accuracy(rule: Rule, equation: str, points: Points) -> None:
    for errors in measure(equation, rule.domain, points=points):
        # a rounding more or less is no difference between spellings
        if errors.mean_right > errors.mean_left + 0.5:
            lost, point = errors.worst
            raise RuleError(
                f"{rule.name}: the right side is less accurate ({errors.what})",
                found=[
                    f"mean error: {errors.mean_left:.1f} bits on the left, "
                    f"{errors.mean_right:.1f} on the right",
                    f"worst at {', '.join(repr(float(x)) for x in point)}: {lost:.1f} bits more",
                    f"bits:  {', '.join(_bits(x) for x in point)}",
                ],
                help='turn the rule around, or register it with kind="fast"',
            )


def _check_special_values(rule: Rule, equation: str) -> None:
    """Raise RuleError unless the right side passes the gate where the guard says yes to numbers."""
    from gradc.derivatives import vjp
    from gradc.rules.verify.gate.equations import Left

    left = Left(equation, DType.F64)
    drawn = left.points(_SPECIAL if rule.guard is None else _SPECIAL_GUARDED)
    kept = _guarded(equation, dict(zip(left.names, drawn, strict=True)), rule.guard)
    columns = np.array(list(kept.values()))
    if not columns.size:
        return

    right = vjp(left.right, left.wrt)
    failures = left.pulled(columns).judge(right, _LOST, _LOOKED_INTO).failures
    if failures:
        worst = failures[0]
        at = ", ".join(f"{name} = {number!r}" for name, number in worst.point.items())
        truth = "no real number, and no limit"
        if worst.truth is not None:
            truth = f"{worst.truth!r}  {_bits(worst.truth)}"
        raise RuleError(
            f"{rule.name}: the right side is wrong at {at} ({worst.what})",
            found=[
                f"left:  {worst.naive!r}  {_bits(worst.naive)}",
                f"right: {worst.new!r}  {_bits(worst.new)}",
                f"truth: {truth}",
                f"bits:  {', '.join(f'{name} = {_bits(x)}' for name, x in worst.point.items())}",
            ],
            help=f'{_CURE}, or register it with kind="fast"',
        )


def check_bits(rule: Rule, equation: str) -> None:
    """Raise RuleError unless both sides of an equation have the same bits at special points."""

    points = special_points(equation)
    arrays = list(points.values())
    with np.errstate(all="ignore"):
        left, right = (
            interpret(graph_of(text, equation, points), arrays)[0] for text in sides(equation)
        )
    same = same_bits(left, right)
    if not same.all():
        i = int(np.argmin(same))
        raise RuleError(
            f"{rule.name}: the sides have different bits at {_at(points, i)}",
            found=[
                f"left:  {left[i]!r}  {_bits(left[i])}",
                f"right: {right[i]!r}  {_bits(right[i])}",
                _bits_at(points, i),
            ],
            help='register it with kind="stable" or kind="fast"',
        )


def _check_use(rule: Rule, equation: str) -> None:
    """Raise RuleError unless a rule fires on its left side, and comes to an end with the others."""
    from gradc.rules.simplify import Simplify
    from gradc_ir.passes import Canonicalize

    kinds = (Kind.STABLE, Kind.EXACT, *((Kind.FAST,) if rule.kind is Kind.FAST else ()))
    rules = entries(*kinds, more=[rule])
    points = {name: np.zeros(2) for name in variables(equation)}
    fired: list[str] = []
    for side in sides(equation):
        graph = Canonicalize()(graph_of(side, equation, points))
        try:
            with watch_firings(lambda _, firing: fired.append(firing.rule)):
                Simplify(rules)(graph)
        except VerifyError as error:
            raise RuleError(
                f"{rule.name}: the rules in force do not come to an end with this one",
                found=str(error.what),
                help="turn the rule around, or leave another out: gradc.rules(without=[…])",
            ) from error
    if rule.guard is None and rule.name not in fired:
        raise RuleError(
            f"{rule.name}: code for the left side becomes another form, which it does not match",
            help="gradc dump shows what rules see; write the left side so",
        )
