"""The engine reaches a fixed point, in linear time, and says when there is none."""

from __future__ import annotations

from collections import Counter

import pytest

from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import RuleError, VerifyError
from gradc_ir.location import Location
from gradc_ir.matching.rewrite import Fired, FunctionRule, PatternRule, rewrite
from gradc_ir.text.parser import parse_function
from gradc_ir.text.printer import describe, print_function
from gradc_ir.verify import verify

EXP_LOG = PatternRule("log-exp", "log(exp(?x)) => ?x")
SOFTPLUS = PatternRule("log1p-exp", "log1p(exp(?x)) => softplus(?x)")
LOG1P = PatternRule("log-add-one", "log(add(1, ?x)) => log1p(?x)")


def parse(body: str) -> Function:
    return parse_function(f"func @f(%x: f64, %y: f64) -> f64 {{\n{body}\n}}")


NAIVE = parse("""
  %0: f64 = exp %x        # model.py:1
  %1: f64 = add 1.0, %0   # model.py:2
  %2: f64 = log %1        # model.py:3
  return %2
""")


def test_what_a_rule_makes_is_rewritten_again() -> None:
    made = rewrite(NAIVE, [SOFTPLUS, LOG1P])
    assert describe(made.results[0]) == "softplus(%0)"
    verify(made)


def test_lines_of_all_that_is_replaced_are_kept() -> None:
    made = rewrite(NAIVE, [SOFTPLUS, LOG1P])
    lines = [where.line for where in made.locations[made.results[0].node]]
    assert sorted(lines) == [1, 2, 3]


def test_the_log_tells_what_fired_where() -> None:
    log: list[Fired] = []
    rewrite(NAIVE, [SOFTPLUS, LOG1P], log=log.append)
    assert [(fired.rule, describe(fired.before), describe(fired.after)) for fired in log] == [
        ("log-add-one", "log(add(1.0, exp(%0)))", "log1p(exp(%0))"),
        ("log1p-exp", "log1p(exp(%0))", "softplus(%0)"),
    ]
    assert log[0].locations == (Location("model.py", 3),)


def test_what_a_rule_makes_inside_is_rewritten_too() -> None:
    rule = PatternRule("test", "sin(?x) => add(log(exp(?x)), sqrt(log(exp(?x))))")
    made = rewrite(parse("%0: f64 = sin %x return %0"), [rule, EXP_LOG])
    assert describe(made.results[0]) == "add(%0, sqrt(%0))"


def test_the_first_rule_wins() -> None:
    first = PatternRule("first", "sin(?x) => cos(?x)")
    second = PatternRule("second", "sin(?x) => tan(?x)")
    made = rewrite(parse("%0: f64 = sin %x return %0"), [first, second])
    assert made.results[0].op.name == "cos"


def test_guards_and_functions() -> None:
    program = parse("%0: f64 = power %x, 2.0 %1: f64 = power %0, 3.5 return %1")
    rule = PatternRule(
        "square",
        "power(?x, ?c:const)",
        when=lambda m: m["c"] == 2,
        build=lambda m: m["x"] * m["x"],
    )
    assert describe(rewrite(program, [rule]).results[0]) == "power(mul(%0, %0), 3.5)"


def test_a_function_that_answers_none_changes_nothing() -> None:
    rule = PatternRule("never", "log(?x)", build=lambda m: None)
    assert rewrite(NAIVE, [rule]) == NAIVE
    assert rewrite(NAIVE, []) == NAIVE


def test_results_that_are_parameters_or_constants() -> None:
    program = parse("%0: f64 = exp %x %1: f64 = log %0 return %1")
    made = rewrite(program, [EXP_LOG])
    assert made.results[0] is made.params[0]
    zero = PatternRule("zero", "sub(?x, ?x) => 0")
    made = rewrite(parse("%0: f64 = sub %x, %x return %0"), [zero])
    assert describe(made.results[0]) == "0.0"


def test_names_and_locations_of_the_function_stay() -> None:
    made = rewrite(NAIVE, [SOFTPLUS, LOG1P])
    assert (made.name, made.names) == ("f", ("x", "y"))


@pytest.mark.parametrize(
    "texts",
    [
        ("sin(?x) => cos(?x)", "cos(?x) => sin(?x)"),
        ("sin(?x) => sin(neg(?x))",),
        ("sin(?x) => neg(sin(?x))",),
    ],
)
def test_circles_are_named(texts: tuple[str, ...]) -> None:
    rules = [PatternRule(f"rule-{i}", text) for i, text in enumerate(texts)]
    program = parse("%0: f64 = sin %x %1: f64 = add %0, %y return %1")
    with pytest.raises(VerifyError) as caught:
        rewrite(program, rules)
    assert str(caught.value).startswith("rules do not come to an end: rule-")
    assert all(rule.name in caught.value.what for rule in rules)


def test_a_rule_may_not_change_a_type() -> None:
    rule = FunctionRule("wrong", {"exp"}, lambda x: build.cast(x, DType.F32))
    with pytest.raises(VerifyError, match="rule wrong turns f64 into f32"):
        rewrite(NAIVE, [rule])


def test_a_missing_attribute_is_named() -> None:
    rule = PatternRule("lost", "sqrt(?x) => reduce_sum(?x)")
    with pytest.raises(RuleError, match="reduce_sum needs the attribute axes"):
        rewrite(parse("%0: f64 = sqrt %x return %0"), [rule])
    with pytest.raises(RuleError, match="the left side of a rule must be an op"):
        PatternRule("variable", "?x", build=lambda m: None)


def test_bodies_of_loops_are_rewritten_those_of_calls_are_not() -> None:
    program = parse_function("""
    func @f(%x: f64) -> (f64, f64) {
      %0: f64 = scan %x {body = @body, consts = 0, carries = 1, length = 3, reverse = false,
        counted = false, checkpoint = none}
      %1: f64 = call %x {name = "mine", body = @body, vjp = none, jvp = none, constants = []}
      return %0, %1
    }
    func @body(%x: f64) -> f64 {
      %0: f64 = exp %x
      %1: f64 = log %0
      return %1
    }
    """)
    made = rewrite(program, [EXP_LOG])
    scan, call = (result.node for result in made.results)
    assert len(scan.attributes["body"].nodes) == 1
    assert len(call.attributes["body"].nodes) == 3


def chain(length: int) -> Function:
    """Return a straight line of ops, none of which merge."""
    with Builder() as builder:
        x = builder.param(0, Type(DType.F64))
        value = x
        while len(builder._nodes) < length:
            value = build.log(1.0 + build.exp(build.sin(value * 1.25) + x))
        return builder.function("chain", [x], [value])


def test_work_is_linear_in_the_length() -> None:
    counts = {}
    for length in (1_000, 10_000):
        program = chain(length)
        asked: Counter[str] = Counter()

        def count(value: Value, asked: Counter[str] = asked) -> None:
            asked[value.op.name] += 1

        # many rules that match nothing, one that is asked about everything, and two that fire
        rules = [PatternRule(f"idle-{i}", "mul(exp(?x), tanh(?y)) => ?x") for i in range(50)]
        made = rewrite(program, [*rules, FunctionRule("count", None, count), SOFTPLUS, LOG1P])
        assert all(node.op.name != "log" for node in made.nodes)
        counts[length] = asked.total()
    assert counts[10_000] <= 1.5 * 10_000
    assert counts[10_000] <= 10.5 * counts[1_000]


def test_depth_is_no_problem() -> None:
    program = chain(5_000)
    assert parse_function(print_function(program)) == program


def test_what_is_known_is_read_when_it_is_needed() -> None:
    broken = PatternRule("test", "exp(log(?x)) => nothing(?x)", known=True)
    assert broken.root_ops == frozenset({"exp"})
    with pytest.raises(RuleError, match="no op is called nothing"):
        broken.right  # noqa: B018
    with pytest.raises(RuleError, match="no op is called nothing"):
        PatternRule("test", "exp(log(?x)) => nothing(?x)")
    # an op between is read at once
    assert PatternRule("test", "log(?x) + log(?y) => log(?x * ?y)", known=True).root_ops == {"add"}
