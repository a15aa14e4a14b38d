"""Patterns find what they describe in every spelling, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import RuleError
from gradc_ir.matching.pattern import Match, match, parse_pattern, parse_rule_text
from gradc_ir.matching.rewrite import PatternRule, rewrite
from gradc_ir.text.parser import parse_function
from gradc_ir.text.printer import describe


def function(result: str, body: str, params: str = "%x: f64, %y: f64, %v: f64[n]") -> Function:
    return parse_function(f"func @f({params}) -> {result} {{ {body} }}")


def found(pattern: str, of: Function) -> Match | None:
    with Builder():
        return match(parse_pattern(pattern), of.results[0])


SPELLINGS = {
    "constant first": "%0: f64 = exp %x %1: f64 = add 1.0, %0 return %1",
    "constant last": "%0: f64 = exp %x %1: f64 = add %0, 1.0 return %1",
}
SPREAD = {
    "spread before": "%0: f64[n] = broadcast %x {axes = []} %1: f64[n] = exp %0 "
    "%2: f64[n] = add 1.0, %1 return %2",
    "spread between": "%0: f64 = exp %x %1: f64[n] = broadcast %0 {axes = []} "
    "%2: f64[n] = add %1, 1.0 return %2",
    "spread twice": "%0: f64 = exp %x %1: f64[3] = broadcast %0 {axes = []} "
    "%2: f64[n,3] = broadcast %1 {axes = [1]} %3: f64[n,3] = add %2, 1.0 return %3",
    "reshaped": "%0: f64[n] = exp %v %1: f64[1,n] = reshape %0 "
    "%2: f64[1,n] = add %1, 1.0 return %2",
}


@pytest.mark.parametrize("body", SPELLINGS.values(), ids=SPELLINGS)
def test_operands_in_both_orders(body: str) -> None:
    program = function("f64", body)
    bound = found("add(1, exp(?z))", program)
    assert bound is not None
    assert bound["z"] is program.params[0]


@pytest.mark.parametrize("name", SPREAD)
def test_rearrangements_are_looked_through(name: str) -> None:
    result = {"spread twice": "f64[n,3]", "reshaped": "f64[1,n]"}.get(name, "f64[n]")
    program = function(result, SPREAD[name])
    rule = PatternRule("test", "add(1, exp(?z)) => sigmoid(?z)")
    (made,) = rewrite(program, [rule]).results
    assert made.op.name == "sigmoid"
    assert made.type == program.results[0].type


def test_nothing_looks_through_a_fence() -> None:
    body = "%0: f64 = exp %x %1: f64 = exactly %0 %2: f64 = add 1.0, %1 return %2"
    assert found("add(1, exp(?z))", function("f64", body)) is None
    assert found("add(1, exactly(exp(?z)))", function("f64", body)) is not None


@pytest.mark.parametrize("dtype", ["f64", "f32", "i64", "i32"])
def test_numbers_match_constants_of_any_dtype(dtype: str) -> None:
    one = "1.0" if dtype.startswith("f") else "1"
    for size in ("", "[n]"):
        text = f"%0: {dtype}{size} = mul %x, {one} return %0"
        program = function(f"{dtype}{size}", text, f"%x: {dtype}{size}")
        assert found("mul(?x, 1)", program) is not None
        assert found("mul(1.0, ?x)", program) is not None
        assert found("mul(?x, 2)", program) is None


@pytest.mark.parametrize(
    ("literal", "matches"),
    [
        ("0.0", {"0"}),
        ("-0.0", {"-0.0"}),
        ("nan", {"nan"}),
        ("inf", {"inf"}),
        ("-inf", {"-inf"}),
        ("0.1", {"0.1"}),
        ("2.0", {"2"}),
    ],
)
def test_numbers_match_exactly(literal: str, matches: set[str]) -> None:
    program = function("f64", f"%0: f64 = add %x, {literal} return %0")
    patterns = ("0", "-0.0", "nan", "inf", "-inf", "0.1", "2")
    assert {p for p in patterns if found(f"add(?x, {p})", program)} == matches


def test_a_number_that_is_no_f32_matches_no_f32() -> None:
    program = function("f32", "%0: f32 = mul %x, 0.1 return %0", "%x: f32")
    assert found("mul(?x, 0.1)", program) is None
    assert found("mul(?x, ?c:const)", program)["c"] == float(np.float32(0.1))  # type: ignore[index]


def test_booleans_are_no_numbers() -> None:
    program = function("bool", "%0: bool = logical_and %x, true return %0", "%x: bool")
    assert found("logical_and(?x, true)", program) is not None
    assert found("logical_and(?x, 1)", program) is None
    assert found("logical_and(?x, false)", program) is None


def test_a_variable_twice_is_one_value() -> None:
    same = function("f64", "%0: f64 = sub %x, %x return %0")
    other = function("f64", "%0: f64 = sub %x, %y return %0")
    assert found("sub(?a, ?a)", same) is not None
    assert found("sub(?a, ?a)", other) is None


def test_the_other_order_is_tried_when_a_later_part_fails() -> None:
    body = "%0: f64 = exp %x %1: f64 = exp %y %2: f64 = add %1, %0 %3: f64 = mul %2, %0 return %3"
    program = function("f64", body)
    bound = found("mul(add(exp(?a), exp(?b)), exp(?a))", program)
    assert bound is not None
    assert bound["a"] is program.params[0]
    assert bound["b"] is program.params[1]


def test_kinds_of_variables() -> None:
    program = function("f64", "%0: f64 = mul %x, 3.0 return %0")
    assert found("mul(?x, ?c:const)", program)["c"] == 3  # type: ignore[index]
    assert found("mul(?x:const, ?y:const)", program) is None
    assert found("mul(?x:float, ?y)", program) is not None
    assert found("mul(?x:integer, ?y)", program) is None
    assert found("mul(?x:bool, ?y)", program) is None


def test_attributes_are_ignored_or_bound() -> None:
    program = function(
        "f64[4]", "%0: f64[4] = reduce_sum %m {axes = [0, 2]} return %0", "%m: f64[3,4,5]"
    )
    assert found("reduce_sum(?x)", program) is not None
    assert found("reduce_sum(?x, axes=?a)", program)["a"] == (0, 2)  # type: ignore[index]


def test_attributes_are_carried_to_the_right_side() -> None:
    program = function(
        "f64[4]",
        "%0: f64[3,4] = exp %m %1: f64[4] = reduce_sum %0 {axes = [0]} "
        "%2: f64[4] = log %1 return %2",
        "%m: f64[3,4]",
    )
    rule = PatternRule("log-sum-exp", "log(reduce_sum(exp(?x), axes=?a)) => logsumexp(?x, axes=?a)")
    (made,) = rewrite(program, [rule]).results
    assert made.op.name == "logsumexp"
    assert made.node.attributes == {"axes": (0,)}


def test_numbers_on_the_right_take_the_type_beside_them() -> None:
    program = function("bool[n]", "%0: bool[n] = lt %v, 0.0 return %0", "%v: f32[n]")
    rule = PatternRule("test", "lt(?x, 0) => le(add(?x, 1), 2)")
    (made,) = rewrite(program, [rule]).results
    assert describe(made) == "le(add(%0, 1.0), 2.0)"
    assert {x.type for x in made.operands} == {program.params[0].type}


def test_lone_numbers_on_the_right_take_the_type_of_the_left() -> None:
    program = function("f32[n]", "%0: f32[n] = sub %v, %v return %0", "%v: f32[n]")
    for text, want in (
        ("sub(?x, ?x) => 0", "0.0"),
        ("sub(?x, ?x) => select(lt(?x, 1), 2, 3)", "select(lt(%0, 1.0), 2.0, 3.0)"),
    ):
        (made,) = rewrite(program, [PatternRule("test", text)]).results
        assert made.type == program.results[0].type
        assert describe(made) == want


@pytest.mark.parametrize(
    ("right", "want"),
    [
        ("mul(?x, -?c)", "mul(%0, -4.0)"),
        ("mul(?x, 1 / ?c)", "mul(%0, 0.25)"),
        ("mul(?x, ?c / 2)", "mul(%0, 2.0)"),
        ("add(?x, ?c + ?c)", "add(%0, 8.0)"),
        ("mul(exp(?x), ?c * ?c)", "mul(exp(%0), 16.0)"),
        ("div(?x, -log(?c))", "div(%0, neg(log(4.0)))"),
        ("-?x", "neg(%0)"),
    ],
)
def test_constants_on_the_right_are_computed(right: str, want: str) -> None:
    program = function("f32[n]", "%0: f32[n] = mul %v, 4.0 return %0", "%v: f32[n]")
    rule = PatternRule("test", f"mul(?x, ?c:const) => {right}", when=lambda m: m["c"] == 4)
    (made,) = rewrite(program, [rule]).results
    assert describe(made) == want
    assert made.type == program.results[0].type


def test_guards_see_numbers_and_signs() -> None:
    program = function("f64", "%0: f64 = exp %x %1: f64 = mul %0, -2.0 return %1")
    bound = found("mul(?p, ?c)", program)
    assert bound is not None
    if bound.is_constant("p"):
        bound = Match(bound.value, {"p": bound["c"], "c": bound["p"]}, ())
    assert bound.number("c") == -2
    assert bound.is_negative("c")
    assert bound.is_nonnegative("p")
    assert not bound.is_positive("p")  # exp underflows to zero
    assert not bound.is_constant("p")


def value(text: str) -> Value:
    return function("f64[3]", f"{text} return %r", "%x: f64[3], %i: i64[3], %b: bool[3]").results[0]


KNOWN = [
    # text, what is_nonnegative, is_positive and is_negative say
    ("%r: f64[3] = sin %x", False, False, False),
    ("%r: f64[3] = abs %x", True, False, False),
    ("%r: f64[3] = sqrt %x", True, False, False),
    ("%0: f64[3] = abs %x %r: f64[3] = add %0, 1.0", True, True, False),
    ("%0: f64[3] = abs %x %1: f64[3] = neg %0 %r: f64[3] = sub %1, 1.0", False, False, True),
    ("%r: f64[3] = mul %x, %x", True, False, False),
    ("%r: f64[3] = power %x, 2.0", True, False, False),
    ("%r: f64[3] = power %x, 3.0", False, False, False),
    ("%r: f64[3] = maximum %x, 0.5", True, True, False),
    ("%r: f64[3] = minimum %x, -0.5", False, False, True),
    ("%r: f64[3] = cast %b", True, False, False),
    ("%r: f64[3] = cast %i", False, False, False),
    ("%0: bool[3] = lt %x, 0.0 %r: f64[3] = select %0, 1.0, 2.0", True, True, False),
    ("%0: bool[3] = lt %x, 0.0 %r: f64[3] = select %0, 1.0, -2.0", False, False, False),
    ("%0: f64[3] = exactly 1.0 %r: f64[3] = add %0, 1.0", False, False, False),
    ("%0: f64[3] = abs %x %r: f64[3] = div 1.0, %0", True, False, False),
    ("%r: f64[3] = div 1.0, %x", False, False, False),
    ("%0: f64[3] = abs %x %1: f64[3] = add %0, 1.0 %r: f64[3] = div 1.0, %1", True, False, False),
]


@pytest.mark.parametrize(("text", "nonnegative", "positive", "negative"), KNOWN)
def test_what_is_known_of_signs(
    text: str, nonnegative: bool, positive: bool, negative: bool
) -> None:
    bound = Match(value(text), {"v": value(text)}, ())
    assert (bound.is_nonnegative("v"), bound.is_positive("v"), bound.is_negative("v")) == (
        nonnegative,
        positive,
        negative,
    )


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("%r: f64[3] = cast %i", True),
        ("%r: f64[3] = floor %x", False),  # of infinity it is infinite
        ("%r: f64[3] = broadcast 3.0 {axes = []}", True),
        ("%r: f64[3] = broadcast inf {axes = []}", False),
        ("%r: f64[3] = add %x, 1.0", False),
    ],
)
def test_what_is_known_of_whole_numbers(text: str, whole: bool) -> None:
    assert Match(value(text), {"v": value(text)}, ()).is_whole("v") is whole


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "lgo(?x) => ?x",
            "no op is called lgo\n  lgo(?x) => ?x\n  ^^^",
        ),
        (
            "?x => ?x",
            "the left side of a rule must be an op\n  ?x => ?x\n  ^^",
        ),
        (
            "log(?x) => ?y",
            "?y does not stand on the left side\n  log(?x) => ?y\n             ^^",
        ),
        (
            "log(?x, ?y) => ?y",
            "log has 1 operands, not 2\n  log(?x, ?y) => ?y\n  ^^^",
        ),
        (
            "mul(?x:real, 1) => ?x",
            "no kind of variable is called real\n  mul(?x:real, 1) => ?x\n         ^^^^\n"
            "  help: write const, float, integer or bool",
        ),
        (
            "log(?x)",
            "expected =>, found the end of the text\n  log(?x)\n         ^",
        ),
        (
            "log(?x, axes=?a) => ?x",
            "log has no attribute axes\n  log(?x, axes=?a) => ?x\n          ^^^^",
        ),
    ],
)
def test_malformed_rules(text: str, message: str) -> None:
    with pytest.raises(RuleError) as caught:
        parse_rule_text(text)
    assert str(caught.value) == message


def test_patterns_print() -> None:
    text = "mul(reduce_sum(?x, axes=?a), ?c:const)"
    assert str(parse_pattern(text)) == text
    assert str(parse_pattern("select(true, -inf, 2)")) == "select(true, -inf, 2)"


def test_a_constant_array_of_equal_elements_is_a_spread_number() -> None:
    with Builder() as builder:
        x = builder.param(0, Type(DType.F64, (3,)))
        made = builder.function("f", [x], [x * build.constant(np.ones(3))])
    assert found("mul(?x, 1)", made) is not None
