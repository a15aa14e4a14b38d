"""Stable and fast rules: proved over the reals; stable ones measured in bits of error."""

from __future__ import annotations

import pytest

from gradc.rules import EXACT, FAST, STABLE, Rule, Simplify
from gradc.rules.engine import watch_firings
from gradc.rules.verify.accuracy import Errors, graph_of, measure, sample
from gradc.rules.verify.meaning import sides
from gradc.rules.verify.proof import difference, prove
from gradc_ir.core.types import DType

# A rounding more at single points, and where the other derivatives gain, is no loss of accuracy.
ONE_ROUNDING, TWO_ROUNDINGS = 0.2, 0.4
TWO_BITS = 2.0

STABLE_EQUATIONS = [
    pytest.param(rule, equation, id=f"{rule.name}-{i}")
    for rule in STABLE
    for i, equation in enumerate(rule.equations)
]
ALL_EQUATIONS = STABLE_EQUATIONS + [
    pytest.param(rule, equation, id=f"{rule.name}-{i}")
    for rule in FAST
    for i, equation in enumerate(rule.equations)
]


@pytest.mark.slow
@pytest.mark.parametrize("rule", [*STABLE, *FAST], ids=str)
def test_sides_are_equal_over_the_reals(rule: Rule) -> None:
    prove(rule)


@pytest.mark.parametrize(
    "wrong",
    [
        "log(exp(?x)) => mul(?x, 1.0000001)",
        "softplus(?x) => maximum(?x, 0)",
        "log(add(exp(?x), exp(?y))) => add(?x, softplus(sub(?x, ?y)))",
        "logical_and(?p, true) => true",
        "abs(?x) => ?x",
    ],
)
def test_wrong_equations_are_not_proved(wrong: str) -> None:
    assert difference(wrong, {}) is not None


@pytest.mark.parametrize(("rule", "equation"), ALL_EQUATIONS)
def test_rule_fires_on_its_left_side(rule: Rule, equation: str) -> None:
    points = sample(equation, rule.domain, rule.condition, count=2)
    fired: list[str] = []
    with watch_firings(lambda name, firing: fired.append(firing.rule)):
        # rules work from the inside out, so a left side may hold what others make
        Simplify([rule, *EXACT])(graph_of(sides(equation)[0], equation, points))
    assert rule.name in fired


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [DType.F64, DType.F32], ids=str)
@pytest.mark.parametrize(("rule", "equation"), STABLE_EQUATIONS)
def test_right_side_is_never_less_accurate(rule: Rule, equation: str, dtype: DType) -> None:
    found: list[Errors] = []
    # of a rule with a condition, or of few variables, there are fewer points among as many samples
    for count in (12, 24, 48):
        if sum(e.left.size for e in found) <= 60:
            found = measure(equation, rule.domain, rule.condition, dtype, count)
    assert sum(e.left.size for e in found) > 60
    # where a point may lose two bits, a mean may lose two roundings
    allowed = TWO_ROUNDINGS if rule.loss >= TWO_BITS else ONE_ROUNDING
    for errors in found:
        lost, point = errors.worst
        assert lost <= TWO_BITS + rule.loss, f"{errors.what} at {point}"
        assert errors.mean_right <= errors.mean_left + allowed, errors.what
    total_left = sum(errors.mean_left for errors in found)
    assert sum(errors.mean_right for errors in found) <= total_left + allowed
