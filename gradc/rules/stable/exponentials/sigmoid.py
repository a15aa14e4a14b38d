"""Stable rules that end in sigmoid: 1 / (1 + exp(-x)), accurate on both sides."""

from __future__ import annotations

from functools import partial
from itertools import permutations

from gradc.rules.algebra.forms import (
    are_negated,
    join_factors,
    negated,
    opposite_factors,
    replace_factor,
    split_factor,
)
from gradc.rules.algebra.parts import operand_of, operands_of
from gradc.rules.engine import procedure, rule, stable
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.graphs.rearrange import scalar_constant
from gradc_ir.matching.pattern import Match


def _is_negative_constant(m: Match) -> bool:
    number = m.number("c")
    return number is not None and number < 0


@procedure(
    "exp-times-sigmoid",
    "mul(exp(?x), sigmoid(neg(?x))) => sigmoid(?x)",
    stable,
    "exp overflows where the product is about 1",
    on="mul: sigmoid",
    examples=[
        "mul(exp(?x), sigmoid(neg(?x))) => sigmoid(?x)",
        "mul(mul(?a, exp(?x)), sigmoid(neg(?x))) => mul(?a, sigmoid(?x))",
        "mul(exp(?x), mul(sigmoid(neg(?x)), ?a)) => mul(sigmoid(?x), ?a)",
    ],
)
def exp_times_sigmoid(value: Value) -> Value | None:
    """Join the factors exp(x) and sigmoid(-x) of a product, however it is grouped."""
    return opposite_factors(value, "exp", "sigmoid", build.sigmoid)


@procedure(
    "sigmoid-times-mirrored",
    "mul(sigmoid(?x), sigmoid(neg(?x))) => sigmoid_derivative(?x)",
    stable,
    "one exponential and one division; its own derivative cancels nowhere",
    on="mul: sigmoid",
    examples=[
        "mul(sigmoid(?x), sigmoid(neg(?x))) => sigmoid_derivative(?x)",
        "mul(mul(?a, sigmoid(?x)), sigmoid(neg(?x))) => mul(?a, sigmoid_derivative(?x))",
    ],
)
def sigmoid_times_mirrored(value: Value) -> Value | None:
    """Join the factors sigmoid(x) and sigmoid(-x) of a product, however it is grouped."""
    for one, other in permutations(value.operands):
        split = split_factor(one, "sigmoid")
        if split is not None:
            argument, rest = split
            made = replace_factor(other, partial(_mirrored, argument))
            if made is not None:
                return made if scalar_constant(rest) == 1 else made * rest
    return None


def _mirrored(argument: Value, factor: Value) -> Value | None:
    opposite = operand_of(factor, "sigmoid")
    if opposite is None or not negated(opposite, argument):
        return None
    return build.sigmoid_derivative(argument)


@procedure(
    "exp-times-over-two-exps",
    "mul(div(?a, add(exp(?x), exp(?y))), exp(?x)) => mul(?a, sigmoid(sub(?x, ?y)))",
    stable,
    "exp overflows; differentiation makes such products; far below, the difference of the "
    "exponents rounds",
    on="mul: exp",
    loss=10.0,
    examples=[
        "mul(div(?a, add(exp(?x), exp(?y))), exp(?x)) => mul(?a, sigmoid(sub(?x, ?y)))",
        "mul(div(?a, add(exp(?x), exp(neg(?x)))), exp(?x)) => mul(?a, sigmoid(mul(2, ?x)))",
    ],
)
def exp_times_over_two_exps(value: Value) -> Value | None:
    """Join a factor exp(x) with one divided by exp(x) + exp(y)."""
    return join_factors(value, "exp", _joined)


def _joined(exponent: Value, factor: Value) -> Value | None:
    if factor.op.name != "div":
        return None
    exponents = [operand_of(part, "exp") for part in operands_of(factor.operands[1], "add") or ()]
    if exponent not in exponents:
        return None
    partner = exponents[1 - exponents.index(exponent)]
    if partner is None:
        return None
    twice = negated(exponent, partner)
    return factor.operands[0] * build.sigmoid(2 * exponent if twice else exponent - partner)


RULES = [
    rule("over-one-plus-exp", "div(?a, add(1, exp(?x))) => mul(?a, sigmoid(neg(?x)))", stable,
         "exp overflows in the value, and its square in the derivative; one rounding more",
         loss=1.0),
    rule("over-product-one-plus-exp",
         "div(?a, mul(add(1, exp(?x)), ?b)) => mul(div(?a, ?b), sigmoid(neg(?x)))", stable,
         "exp overflows, its square from x = 355", loss=1.0),
    rule("power-one-plus-exp", "power(add(1, exp(?x)), ?c:const) => power(sigmoid(neg(?x)), -?c)",
         stable, "exp overflows; the power magnifies one rounding of the sigmoid", loss=2.0,
         when=_is_negative_constant,
         examples=["power(add(1, exp(?x)), -1.5) => power(sigmoid(neg(?x)), 1.5)"]),
    rule("one-minus-sigmoid", "sub(1, sigmoid(?x)) => sigmoid(neg(?x))", stable,
         "the difference cancels from x = 1 and is 0 from x = 37"),
    rule("sigmoid-minus-one", "add(sigmoid(?x), -1) => neg(sigmoid(neg(?x)))", stable,
         "the difference cancels from x = 1 and is 0 from x = 37"),
    exp_times_sigmoid,
    sigmoid_times_mirrored,
    exp_times_over_two_exps,
    rule("odds", "div(sigmoid(?x), sigmoid(?y)) => exp(?x)", stable,
         "both underflow, each on its side; for y = -x", when=are_negated,
         examples=["div(sigmoid(?x), sigmoid(neg(?x))) => exp(?x)"]),
    rule("exp-over-two-exps", "div(exp(?x), add(exp(?x), exp(?y))) => sigmoid(sub(?x, ?y))", stable,
         "inf / inf from 710; far below, the difference of the exponents rounds", loss=10.0),
    rule("exp-neg-softplus", "exp(neg(softplus(?x))) => sigmoid(neg(?x))", stable,
         "exp magnifies the rounding of a large softplus"),
]  # fmt: skip
