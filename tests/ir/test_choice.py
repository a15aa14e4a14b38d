"""Rules are tried where their op, their operands' ops and the factors allow them to fire."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from gradc_ir.core.builder import Builder
from gradc_ir.core.graph import Value
from gradc_ir.matching.choice import choice
from gradc_ir.matching.rewrite import FunctionRule, PatternRule
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
    """A rule for products and sums that says what their factors and divisors must be."""

    def __init__(
        self, factors: Iterable[str] | None = None, divisors: Iterable[str] | None = None
    ) -> None:
        super().__init__("asking", {"add", "div", "mul", "neg"}, lambda value: None)
        self.factors = None if factors is None else frozenset(factors)
        self.divisors = None if divisors is None else frozenset(divisors)


def is_tried(rule: FunctionRule | PatternRule, value: Value) -> bool:
    with Builder.beyond(FUNCTION.nodes):
        return choice((rule,)).rules(value) == (rule,)


@pytest.mark.parametrize("place", ["div0", "mul0", "neg0", "add0"])
def test_factors_and_divisors_are_those_of_the_whole_product(place: str) -> None:
    value = NODES[place].results[0]
    assert is_tried(Asking(factors=["sin"]), value)
    assert is_tried(Asking(factors=["exp", "log"]), value)
    assert not is_tried(Asking(factors=["tan"]), value)
    assert is_tried(Asking(divisors=["exp"]), value)
    assert is_tried(Asking(["sin"], []), value)
    assert not is_tried(Asking(["tan"], []), value)
    assert not is_tried(Asking(divisors=["sin"]), value)


def test_a_product_of_a_sum_has_the_sum_as_a_factor() -> None:
    value = NODES["mul1"].results[0]
    assert is_tried(Asking(factors=["add"]), value)
    assert not is_tried(Asking(factors=["sin"]), value)
    assert not is_tried(Asking(divisors=[]), value)


def test_operands_are_seen_through_rearrangements_or_not() -> None:
    value = NODES["mul1"].results[0]
    assert is_tried(PatternRule("through", "mul(add(?x, ?y), tan(?z)) => ?z"), value)
    assert not is_tried(PatternRule("other", "mul(sub(?x, ?y), ?z) => ?z"), value)
    for ops, expected in ({"broadcast"}, True), ({"add"}, False), ({"sin", "tan"}, True):
        rule = FunctionRule("direct", {"mul"}, lambda value: None, direct=ops)
        assert is_tried(rule, value) is expected
