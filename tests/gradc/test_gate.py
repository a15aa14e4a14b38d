"""The gate: every rule at special values, alone and as it is used, beside exact real numbers."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest

import gradc
from gradc.derivatives import vjp
from gradc.pipeline import derive
from gradc.requests.request import Request
from gradc.rules import EXACT, Rule, find
from gradc.rules.exact import STRUCTURE
from gradc.rules.verify.balls import Ball, digits, is_nan, power
from gradc.rules.verify.gate.alone import judged_alone
from gradc.rules.verify.gate.equations import Left
from gradc.rules.verify.gate.excuses import EXCUSES, Excuse, Instance, excuse
from gradc.rules.verify.gate.judge import TOLERANCE, Failure, Judged
from gradc.rules.verify.gate.values import grid, special_values
from gradc.rules.verify.meaning import bool_variables
from gradc.rules.verify.verifying import has_formula
from gradc_ir.core.types import DType
from gradc_ir.errors import RuleError
from gradc_ir.interpreter.interpret import interpret
from tools.gate import (
    Pair,
    Side,
    chosen,
    is_of_sides,
    judged_as_used,
    judged_pair,
    judged_rules,
)

USED = judged_rules()
RULES = [
    *USED,
    *(rule for rule in EXACT if rule not in STRUCTURE and ":integer" not in rule.text),
]
# Pairs chosen by hash, in parts that share what they load; `make gate` judges all of them.
PAIRS, SIZE = 75, 15
# Points and differing points of the tests that always run; the slow ones take far more.
FEW, LOOKED_INTO = 400, 6
MANY = 4000


def failures(found: Judged) -> list[str]:
    return [str(failure) for failure in found.failures]


# -- the judge -------------------------------------------------------------------------------------


def judge(left: str, right: str, points: int = 6000) -> Judged:
    """Judge the value of a right side beside that of a left side."""
    case = Left(f"{left} => {right}", DType.F64)
    return case.value(case.points(points)).judge(case.right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("div(exp(?x), add(1, exp(?x)))", "sigmoid(?x)"),  # the limit at inf is 1
        ("sub(softplus(?x), ?x)", "softplus(neg(?x))"),
        ("div(sin(?x), ?x)", "select(eq(?x, 0), 1, div(sin(?x), ?x))"),
        ("log1p(expm1(?x))", "add(?x, -0.0)"),  # whose digits no ball has far out
        ("log(add(1, ?x))", "log1p(?x)"),  # at -0 from its side
        ("log1p(neg(ndtr(?x)))", "log_ndtr(neg(?x))"),  # whose digits none has at 700
        (
            "div(expm1(mul(?y, ?x)), ?x)",
            "select(eq(mul(?y, ?x), 0), ?y, div(expm1(mul(?y, ?x)), ?x))",
        ),
        ("sub(lgamma(add(?x, 1)), lgamma(?x))", "log(abs(?x))"),  # as slowly as a logarithm
        # a power of what is no one passes nan on, also where rounding makes one of it
        (
            "power(add(1, mul(1e-20, ?y)), ?x)",
            "select(logical_and(ne(?x, ?x), ne(?y, 0)), ?x, power(add(1, mul(1e-20, ?y)), ?x))",
        ),
        # at nan the condition does not hold, and there is a real value
        (
            "log(mul(select(lt(0, ?x), 1, 1e-200), 1e-200))",
            "add(log(select(lt(0, ?x), 1, 1e-200)), log(1e-200))",
        ),
    ],
)
def test_what_is_nearer_to_the_truth_passes(left: str, right: str) -> None:
    found = judge(left, right)
    assert found.differing
    assert not found.failures, failures(found)


@pytest.mark.parametrize(
    ("left", "right", "at", "naive", "new"),
    [
        ("log(mul(?x, ?y))", "add(log(?x), log(?y))", (0.0, -1.0), -math.inf, math.nan),
        # any power of one is one, and so is that of nan by 0: nan is no other truth of them
        ("power(1, ?x)", "mul(?x, 0.0)", (math.nan,), 1.0, math.nan),
        ("power(?x, 0)", "mul(?x, 0.0)", (math.nan,), 1.0, math.nan),
        # where a naive form rounds a nan away, what is new is nan, or what it is of any number
        ("power(add(1, mul(1e-20, ?y)), ?x)",
         "select(eq(?x, ?x), power(add(1, mul(1e-20, ?y)), ?x), 2.0)",
         (0.5, math.nan), 1.0, 2.0),
        ("sqrt(mul(?x, ?x))", "abs(mul(?x, 1.001))", (1.0,), 1.0, 1.001),
        ("div(1, ?x)", "div(1, abs(?x))", (-0.0,), -math.inf, math.inf),
        ("div(?x, ?y)", "div(?x, add(?y, 0.0))", (1.0, -0.0), -math.inf, math.inf),
        ("mul(?x, ?x)", "select(eq(?x, ?x), mul(?x, ?x), 0)", (math.nan,), math.nan, 0.0),
        ("sub(?x, ?x)", "mul(?x, 0.0)", (-1.0,), 0.0, -0.0),
        ("sub(?x, ?y)", "select(eq(?x, ?y), 0, sub(?x, ?y))", (math.inf, math.inf), math.nan, 0.0),
        # no chance: at the next floats the naive one is right as well
        ("mul(?x, 1.5)", "select(eq(?x, 1), 2, mul(?x, 1.5))", (1.0,), 1.5, 2.0),
        # even and odd exponents have different limits
        ("div(power(?x, ?y), power(abs(?x), ?y))",
         "select(lt(800, ?y), 1, div(power(?x, ?y), power(abs(?x), ?y)))",
         (-1.5, math.inf), math.nan, 1.0),
    ],
)  # fmt: skip
def test_what_is_wrong_is_found(
    left: str, right: str, at: tuple[float, ...], naive: float, new: float
) -> None:
    found = {
        tuple(failure.point.values()): (failure.naive, failure.new)
        for failure in judge(left, right).failures
    }
    texts = {tuple(map(repr, point)): tuple(map(repr, pair)) for point, pair in found.items()}
    assert texts[tuple(map(repr, at))] == (repr(naive), repr(new))


def test_slopes_are_as_exact_as_their_partials() -> None:
    """Those of exp(x) * exp(-x) are 1 and -1, and cancel without a rounding."""

    def wrong(size: str) -> set[str]:
        left = Left("mul(exp(?x), exp(neg(?x))) => 0", DType.F64)
        near = Left(f"add(1, mul({size}, sin(?x))) => 0", DType.F64)
        found = left.pulled(left.points()).judge(near.pulled_graph)
        return {failure.what for failure in found.failures if abs(failure.point["x"]) < 40}

    assert wrong("1e-16") == set()
    assert wrong("4e-15") == {"value", "d/dx"}


def test_powers_of_negative_numbers_have_limits_through_whole_exponents() -> None:
    left = "div(sub(power(?x, ?y), 1), power(?x, ?y))"
    case = Left(f"{left} => sub(1, power(?x, neg(?y)))", DType.F64)
    found = case.value(np.array([[-1.5, -2.5], [math.inf] * 2])).judge(case.right)
    assert found.differing == 2
    assert not found.failures, failures(found)


def never() -> bool:
    return False


def judge_slopes(
    left: str, right: str, *points: tuple[float, ...]
) -> dict[tuple[str, ...], tuple[float, float]]:
    """Return the derivatives of a right side that fail, by what they are of and the point.

    Where no points are given they are judged at all special ones.
    """
    case = Left(f"{left} => {right}", DType.F64)
    where = np.array(points).T if points else case.points(6000)
    found = case.pulled(where).judge(vjp(case.right, case.wrt), most=None)
    return {
        (each.what, *map(repr, each.point.values())): (each.naive, each.new)
        for each in found.failures
        if each.what != "value"
    }


def test_a_derivative_may_round_as_the_naive_one_may() -> None:
    """cos(x + y) is right next to its zeros only where x + y happens to be exact."""
    apart = "add(mul(sin(?x), cos(?y)), mul(cos(?x), sin(?y)))"
    zero, other = (0.0, np.pi / 2), (0.0, 3.0)
    assert not judge_slopes("sin(add(?x, ?y))", apart, zero, other)
    wrong = f"mul({apart}, 1.0000000001)"
    assert ("d/dy", *map(repr, other)) in judge_slopes("sin(add(?x, ?y))", wrong, zero, other)


def test_a_derivative_that_cancels_is_found_where_the_naive_one_does_not() -> None:
    """2 (x + 1) is right to a rounding next to its zero, x + (x + 2) is not."""
    found = judge_slopes("sub(mul(add(?x, 1), add(?x, 1)), 1)", "mul(?x, add(?x, 2))")
    assert ("d/dx", "-0.9999999999999999") in found


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_no_number_is_no_underflow(sign: float) -> None:
    new = math.copysign(math.nan, sign)
    for naive in (0.0, -0.0):
        one = Instance("value", {}, naive, new, 0.0, (naive, new), 1e-300, False, *[never] * 5)
        assert excuse(one) is None


def test_sides_are_asked_only_at_zeros() -> None:
    """1/arccos(cos(x)) is inf on both sides of 0: no zero excuses -inf."""
    found = judge("div(1, arccos(cos(?x)))", "div(1, neg(arccos(cos(?x))))")
    assert any(failure.point["x"] == 0 for failure in found.failures)


@pytest.mark.parametrize(
    ("was_lost", "new", "excused"),
    [(True, math.nan, True), (True, math.inf, True), (True, 1.5, False), (False, math.nan, False)],
)
def test_only_lost_slopes_may_stay_lost(was_lost: bool, new: float, excused: bool) -> None:
    """A number in place of a lost slope has to be right, and what was right has to stay."""
    at, values = {"x": 2.0}, (0.5, 0.5)
    one = Instance("d/dx", at, math.inf, new, 1.0, values, 1e-308, was_lost, *[never] * 5)
    assert (excuse(one) is not None) is excused


def test_what_the_passes_do_without_a_rule_is_not_judged() -> None:
    """The rule that adds 0 does nothing; the same pass in both forms takes nan for 0."""
    case = Left("div(?x, ?x) => 0", DType.F64)
    at = case.value(case.points())
    right = [
        Left(f"{text} => 0", DType.F64)
        for text in ("select(eq(?x, ?x), 0, ?x)", "add(0, select(eq(?x, ?x), 0, ?x))")
    ]
    alone = at.judge(right[1].graph)
    assert any(failure.new == 0 for failure in alone.failures)
    assert not at.judge(right[1].graph, without=lambda: right[0].graph).failures


def test_special_values_are_all_there() -> None:
    for dtype in (DType.F64, DType.F32):
        info = np.finfo(dtype.numpy.name)
        values = special_values(dtype)
        wanted = [0.0, info.smallest_subnormal, info.tiny, 1.0, 1 + info.eps, 1 - info.epsneg, 0.5]
        wanted += [1.5, dtype.numpy.type(np.pi / 2), info.max, np.inf]  # type: ignore[operator]
        for number in wanted:
            assert np.sum(abs(values) == number) == 2, number
        assert np.isnan(values).sum() == 1
    pairs = zip(*grid([values, values]), strict=True)
    assert len({(str(x), str(y)) for x, y in pairs}) == len(values) ** 2


def test_points_of_many_variables_are_bounded_and_hold_every_value() -> None:
    values = special_values(DType.F64)
    drawn = grid([values] * 4, "seed", 1000)
    assert all(1000 - len(values) <= len(axis) <= 1000 for axis in drawn)
    for axis in drawn:
        assert set(map(str, axis)) == set(map(str, values))


# -- every rule ------------------------------------------------------------------------------------

# What is known to fail, a row a rule and a way to judge it: to be mended, not to be added to. With
# GRADC_GATE=note what fails is written there instead; empty the file before.
TABLE = Path(__file__).parent / "gate_known.txt"
KNOWN = {
    (way, rule): failure
    for line in TABLE.read_text().splitlines()
    for way, rule, failure in [line.split("\t")]
}
NOTING = os.environ.get("GRADC_GATE") == "note"


def told(way: str, name: str, failures: list[str]) -> str:
    """Return what is wrong about failures, beside what is known of them; note it, if wanted."""
    if NOTING and failures:
        with TABLE.open("a") as file:
            file.write(f"{way}\t{name}\t{failures[0]}\n")
    elif bool(failures) != ((way, name) in KNOWN):
        return "\n".join(failures[:10]) or f"{name} passes now: take {way!r} out of {TABLE.name}"
    return ""


FAILING = {rule for way, rule in KNOWN if way in ("alone", "used f64")}


def expect(rule: Rule, way: str, judged: Iterable[tuple[str, Judged]]) -> None:
    """Fail where a rule does not pass the gate, and where a row of what is known has passed."""
    failures = []
    for equation, found in judged:
        failures += [f"{equation}: {failure}" for failure in found.failures]
    wrong = told(way, rule.name, failures)
    assert not wrong, wrong


def used(rule: Rule, dtype: DType, points: int, most: int) -> Iterator[tuple[str, Judged]]:
    for equation in rule.equations:
        if not bool_variables(equation):
            yield equation, judged_as_used(equation, dtype, points, most, TOLERANCE + rule.loss)


# Rules at whose special values the judge looks for many limits, which takes ten seconds and more.
LONG = {"log-of-product", "power-mean", "square-of-norm"}


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param(rule, id=rule.name, marks=[pytest.mark.slow] * (rule.name in LONG))
        for rule in RULES
    ],
)
def test_rule_passes_alone(rule: Rule) -> None:
    expect(rule, "alone", judged_alone(rule, DType.F64, FEW, LOOKED_INTO))


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_rule_passes_alone_in_single_precision(rule: Rule) -> None:
    expect(rule, "alone f32", judged_alone(rule, DType.F32, FEW, LOOKED_INTO))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [DType.F64, DType.F32], ids=str)
@pytest.mark.parametrize("rule", USED, ids=lambda rule: rule.name)
def test_rule_passes_as_it_is_used(rule: Rule, dtype: DType) -> None:
    expect(rule, f"used {dtype}", used(rule, dtype, FEW, LOOKED_INTO))


def test_every_rule_is_judged() -> None:
    """Rules about shapes have no formula: their bits are compared in a test of their own."""
    without = [rule for rule in EXACT if ":integer" in rule.text]
    assert {*RULES, *STRUCTURE, *without} == {*EXACT, *judged_rules()}
    assert all(map(has_formula, RULES))


def test_known_rows_name_rules() -> None:
    ways = ("alone", "alone f32", "used f64", "used f32", "pair")
    names = {rule.name for rule in RULES}
    for way, rule in KNOWN:
        assert way in ways
        assert way == "pair" or rule in names


NEEDED = {
    "side of a zero": "log-one-plus",
    "slope of nan": "softplus-difference",
    "zero slope": "exp-times-sigmoid",
    "rounded partials": "exp-times-sigmoid",
    "chance": "scaled-logaddexp",
    "underflow": "over-growing-sum",
    "outside of the domain": "log1p-neg-exp",
    "lost slope": "log1p-times-correction",
    "kink": "angle-from-direction-cosine",
}


@pytest.mark.parametrize("row", EXCUSES, ids=lambda row: row.name)
def test_every_excuse_is_needed(row: Excuse) -> None:
    """A row that excuses nothing has no place in the table."""
    found = judged_alone(find(NEEDED[row.name]), DType.F64, MANY)
    assert any(row.name in judged.excused for _, judged in found)


# -- rules that meet -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "start",
    [pytest.param(i, marks=[pytest.mark.slow] * (i > 0)) for i in range(0, PAIRS, SIZE)],
)
def test_pairs_pass_as_they_are_used(start: int) -> None:
    """Of rules that pass by themselves: the others are known."""
    wrong = []
    for pair in chosen(USED, PAIRS)[start : start + SIZE]:
        if any(name in FAILING for name in pair.rules):
            continue
        found = failures(judged_pair(pair, DType.F64))
        wrong.append(told("pair", pair.key, [f"{pair.equation}: {each}" for each in found]))
    assert not any(wrong), "\n".join(filter(None, wrong))


def pair_of(first: str, second: str, place: str, rules: tuple[str, str]) -> Pair:
    return Pair(f"{first} => 0", f"{second} => 0", place, rules)


ANGLE = pair_of("div(1, ?x)", "arccos(sub(1, ?x))", "x", ("exp-of-product", "angle-from-versine"))


def point_of(what: str, point: dict[str, float], new: float) -> Failure:
    return Failure(what, point, math.nan, new, None, math.nan)


@pytest.mark.parametrize(
    ("new", "is_right"), [(math.inf, True), (-math.inf, False), (math.nan, False), (1.0, False)]
)
def test_a_pair_may_be_what_its_sides_make(new: float, is_right: bool) -> None:
    """At -0 the angle is 0 and its inverse infinite, whatever an exact number says of it."""
    failure = point_of("value", {"x_2": -0.0}, new)
    assert is_of_sides(ANGLE, DType.F64, failure) is is_right


def test_a_pair_is_not_right_where_a_side_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    failure = point_of("value", {"x_2": -0.0}, math.inf)
    monkeypatch.setattr(Side, "passes", lambda side, point: "arccos" not in side.side)
    assert not is_of_sides(ANGLE, DType.F64, failure)


@pytest.mark.parametrize(
    ("equation", "point", "wanted"),
    [
        ("div(1, arcsin(sub(1, ?x))) => 0", [1.0], [math.inf, math.inf]),
        ("div(?x, arccos(sub(1, ?y))) => 0", [40.0, 0.0], [math.inf, math.inf, -math.inf]),
        ("sub(hypot(?x, ?y), ?x) => 0", [1.7976931348623157e308, 10.0],
         [0.0, 0.0, 5.562684646268004e-308]),
    ],
)  # fmt: skip
def test_slopes_at_the_ends_of_the_range(
    equation: str, point: list[float], wanted: list[float]
) -> None:
    left = Left(equation, DType.F64)
    final = derive(left.graph, Request(of="vjp", wrt=left.wrt))
    with np.errstate(all="ignore"):
        made = interpret(final, [np.array([x]) for x in (*point, 1.0)])
    assert [float(x[0]) for x in made] == wanted


def test_a_logarithm_that_divides_twice_cancels() -> None:
    """It is looked for below signs and zeros that are added, of which it has none."""
    left = Left("mul(log(?x), div(div(?y, log(?x)), log(?x))) => 0", DType.F64)
    final = derive(left.graph, Request(of="vjp", wrt=left.wrt))
    made = interpret(final, [np.array([x]) for x in (math.e, 3.0, 1.0)])
    assert made[0] == pytest.approx(3.0)


def test_balls_have_powers_of_negative_numbers_by_large_whole_ones() -> None:
    with digits(100):
        assert power(Ball(-2.0), Ball(2.0**60)) > 0
        assert power(Ball(-2.0), Ball(2.0**21 + 1)) < 0
        assert is_nan(power(Ball(-2.0), Ball(2.5) + Ball(1).exp() * 1e-9))


# -- rules of users --------------------------------------------------------------------------------


def test_a_rule_of_users_passes_the_gate() -> None:
    gradc.rule("cosh(x) - 1", "2 * sinh(x / 2)**2", name="users-half", register=False)
    with pytest.raises(RuleError) as caught:
        gradc.rule("sqrt(x * x) => x", when="x >= 0", register=False)
    text = str(caught.value)
    assert "the right side is wrong at x = -0.0 (value)" in text
    for line in ("left:  0.0  0x0000000000000000", "right: -0.0  0x8000000000000000",
                 "truth: 0.0", "bits:  x = 0x8000000000000000"):  # fmt: skip
        assert line in text
    with pytest.raises(RuleError, match="the right side is wrong at x = nan"):
        gradc.rule("x / (x * y) => 1 / y", register=False)
