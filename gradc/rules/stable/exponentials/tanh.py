"""Stable rules that end in tanh or are about it: quotients of exponentials."""

from __future__ import annotations

from gradc.rules.algebra.forms import opposite_factors, opposite_terms
from gradc.rules.engine import procedure, rule, stable
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.interpreter import composed


@procedure(
    "sigmoid-difference",
    "sub(mul(?a, sigmoid(?x)), mul(?a, sigmoid(neg(?x)))) => mul(?a, tanh(mul(0.5, ?x)))",
    stable,
    "the difference cancels near zero",
    on="sub: sigmoid",
    examples=[
        "sub(sigmoid(?x), sigmoid(neg(?x))) => tanh(mul(0.5, ?x))",
        "sub(mul(?a, sigmoid(?x)), mul(?a, sigmoid(neg(?x)))) => mul(?a, tanh(mul(0.5, ?x)))",
        "sub(mul(mul(?a, sigmoid(?x)), ?b), mul(mul(?a, sigmoid(neg(?x))), ?b)) => "
        "mul(mul(?a, ?b), tanh(mul(0.5, ?x)))",
    ],
)
def sigmoid_difference(value: Value) -> Value | None:
    """Join two terms that differ by the sign within a sigmoid."""
    found = opposite_terms(value, "sigmoid")
    return None if found is None else found[0] * build.tanh(0.5 * found[1])


@procedure(
    "expm1-times-sigmoid",
    "mul(expm1(?x), sigmoid(neg(?x))) => tanh(mul(0.5, ?x))",
    stable,
    "expm1 overflows where the product is about 1",
    on="mul: sigmoid",
    examples=[
        "mul(expm1(?x), sigmoid(neg(?x))) => tanh(mul(0.5, ?x))",
        "mul(mul(?a, sigmoid(neg(?x))), expm1(?x)) => mul(?a, tanh(mul(0.5, ?x)))",
    ],
)
def expm1_times_sigmoid(value: Value) -> Value | None:
    """Join the factors expm1(x) and sigmoid(-x) of a product, however it is grouped."""
    arguments: list[Value] = []

    def tangent(x: Value) -> Value:
        arguments.append(x)
        return build.tanh(0.5 * x)

    made = opposite_factors(value, "expm1", "sigmoid", tangent)
    if made is None or made.op.name == "tanh":
        return made
    # half of a subnormal number is rounded, which another factor may show
    x = arguments[0]
    half = opposite_factors(value, "expm1", "sigmoid", lambda x: x)
    assert half is not None
    return build.select(build.lt(build.abs(x), composed.tiny(x)), half * 0.5, made)


RULES = [
    expm1_times_sigmoid,
    rule("one-minus-tanh", "sub(1, tanh(?x)) => mul(2, sigmoid(mul(-2, ?x)))", stable,
         "the difference cancels from x = 1 and is 0 from x = 20"),
    rule("one-plus-tanh", "add(1, tanh(?x)) => mul(2, sigmoid(mul(2, ?x)))", stable,
         "the sum cancels for negative x and is 0 below -20"),
    rule("tanh-minus-one", "add(tanh(?x), -1) => mul(-2, sigmoid(mul(-2, ?x)))", stable,
         "the difference cancels from x = 1 and is 0 from x = 20"),
    rule("one-minus-tanh-squared",
         "sub(1, mul(tanh(?x), tanh(?x))) => mul(4, sigmoid_derivative(mul(2, ?x)))", stable,
         "the difference cancels and is 0 from |x| = 19"),
    rule("two-sigmoids-minus-one", "add(mul(2, sigmoid(?x)), -1) => tanh(mul(0.5, ?x))", stable,
         "the difference cancels near zero"),
    rule("one-minus-two-sigmoids", "sub(1, mul(2, sigmoid(?x))) => neg(tanh(mul(0.5, ?x)))", stable,
         "the difference cancels near zero"),
    sigmoid_difference,
]  # fmt: skip
