"""Rules are tried where their op, their operands' ops and the factors allow them to fire."""

from __future__ import annotations

import pytest

from gradc_ir.core.builder import Builder
from gradc_ir.core.graph import Value
from gradc_ir.matching.choice import Family, choice, parse_looks
from gradc_ir.matching.rewrite import Fired, FunctionRule, PatternRule, rewrite
from gradc_ir.text.parser import parse_function

FUNCTION = parse_function("""
func @f(%x: f64, %y: f64[3]) -> f64[3] {
  %0: f64 = sin %x
  %1: f64 = exp %x
  %2: f64 = div %0, %1
  %3: f64 = mul %2, 3.0
  %4: f64 = neg %3
  %5: f64 = add %4, %x
  %6: f64[3] = broadcast %5 {axes = []}
  %7: f64[3] = tan %y
  %8: f64[3] = mul %6, %7
  return %8
}
""")
NODES = {node.op.name + str(node.results[0].type.rank): node for node in FUNCTION.nodes}


class Asking(FunctionRule):
    """A rule for products and sums that says what must stand below."""

    def __init__(self, below: str) -> None:
        super().__init__("asking", {"add", "div", "mul", "neg"}, lambda value: None)
        self.looks = parse_looks(f"add div mul neg: {below}")


def is_tried(rule: FunctionRule | PatternRule, value: Value) -> bool:
    with Builder.beyond(FUNCTION.nodes):
        return choice((rule,)).rules(value) == (rule,)


@pytest.mark.parametrize("place", ["div0", "mul0", "neg0", "add0"])
def test_factors_and_divisors_are_those_of_the_whole_product(place: str) -> None:
    value = NODES[place].results[0]
    assert is_tried(Asking("sin"), value)
    assert is_tried(Asking("exp log"), value)
    assert not is_tried(Asking("tan"), value)
    assert is_tried(Asking("/ exp"), value)
    assert is_tried(Asking("sin /"), value)
    assert not is_tried(Asking("tan /"), value)
    assert not is_tried(Asking("/ sin"), value)


def test_a_product_of_a_sum_has_the_sum_as_a_factor() -> None:
    value = NODES["mul1"].results[0]
    assert is_tried(Asking("add"), value)
    assert not is_tried(Asking("sin"), value)
    assert not is_tried(Asking("/"), value)


def test_an_operand_is_a_factor_and_looks_of_one_op_are_alternatives() -> None:
    value = NODES["add0"].results[0]
    assert is_tried(Asking("neg"), value)
    assert not is_tried(Asking("mul"), value)
    assert is_tried(Asking("mul; add: tan; add: sin"), value)


def test_a_family_is_loaded_for_the_first_value_its_rules_may_fire_on() -> None:
    loads = []

    def load() -> list[PatternRule]:
        loads.append("trigonometric")
        return [PatternRule("even", "sin(neg(?x)) => neg(sin(?x))")]

    family = Family("trigonometric", "sin: neg", load)
    first = PatternRule("twice", "neg(neg(?x)) => ?x")
    fired: list[Fired] = []
    plain = parse_function("func @f(%x: f64) -> f64 {\n %0: f64 = sin %x\n return %0\n}")
    assert rewrite(plain, [first, family], log=fired.append) is plain
    assert not loads
    turned = parse_function(
        "func @f(%x: f64) -> f64 {\n %0: f64 = neg %x\n %1: f64 = sin %0\n return %1\n}"
    )
    for _ in range(2):
        rewrite(turned, [first, family], log=fired.append)
    assert [one.rule for one in fired] == ["even", "even"]
    assert loads == ["trigonometric"]


def test_operands_are_seen_through_rearrangements_or_not() -> None:
    value = NODES["mul1"].results[0]
    assert is_tried(PatternRule("through", "mul(add(?x, ?y), tan(?z)) => ?z"), value)
    assert not is_tried(PatternRule("other", "mul(sub(?x, ?y), ?z) => ?z"), value)
    for ops, expected in ({"broadcast"}, True), ({"add"}, False), ({"sin", "tan"}, True):
        rule = FunctionRule("direct", {"mul"}, lambda value: None, direct=ops)
        assert is_tried(rule, value) is expected
