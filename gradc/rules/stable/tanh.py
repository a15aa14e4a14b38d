"""Stable rules that end in tanh or are about it: quotients of exponentials."""

from __future__ import annotations

from gradc.rules.engine import procedure, rule, stable
from gradc.rules.forms import are_negated, opposite_terms
from gradc_ir import build
from gradc_ir.graph import Value


@procedure(
    "scaled-sigmoid-difference",
    "sub(mul(?a, sigmoid(?x)), mul(?a, sigmoid(neg(?x)))) => mul(?a, tanh(mul(0.5, ?x)))",
    stable,
    "the difference cancels near zero",
    roots=("sub",),
    examples=[
        "sub(mul(?a, sigmoid(?x)), mul(?a, sigmoid(neg(?x)))) => mul(?a, tanh(mul(0.5, ?x)))",
        "sub(mul(mul(?a, sigmoid(?x)), ?b), mul(mul(?a, sigmoid(neg(?x))), ?b)) => "
        "mul(mul(?a, ?b), tanh(mul(0.5, ?x)))",
    ],
)
def scaled_sigmoid_difference(value: Value) -> Value | None:
    """Join two products that differ by the sign within a sigmoid."""
    found = opposite_terms(value, "sigmoid")
    return None if found is None else found[0] * build.tanh(0.5 * found[1])


RULES = [
    rule("sinh-over-cosh", "div(sub(exp(?x), exp(?y)), add(exp(?x), exp(?y))) => tanh(?x)", stable,
         "inf / inf from x = 710, and the difference cancels near zero", when=are_negated,
         examples=["div(sub(exp(?x), exp(neg(?x))), add(exp(?x), exp(neg(?x)))) => tanh(?x)"]),
    rule("cosh-over-sinh", "div(add(exp(?x), exp(?y)), sub(exp(?x), exp(?y))) => div(1, tanh(?x))",
         stable, "inf / inf from x = 710, and the difference cancels near zero", when=are_negated,
         examples=["div(add(exp(?x), exp(neg(?x))), sub(exp(?x), exp(neg(?x)))) => "
                   "div(1, tanh(?x))"]),
    rule("expm1-over-one-plus-exp", "div(expm1(?x), add(1, exp(?x))) => tanh(mul(0.5, ?x))", stable,
         "inf / inf from x = 710"),
    rule("two-sigmoids-minus-one", "add(mul(2, sigmoid(?x)), -1) => tanh(mul(0.5, ?x))", stable,
         "the difference cancels near zero"),
    rule("two-sigmoids-minus-one-written",
         "sub(mul(2, sigmoid(?x)), 1) => tanh(mul(0.5, ?x))", stable,
         "the difference cancels near zero"),
    rule("one-minus-two-sigmoids", "sub(1, mul(2, sigmoid(?x))) => neg(tanh(mul(0.5, ?x)))", stable,
         "the difference cancels near zero"),
    rule("sigmoid-difference", "sub(sigmoid(?x), sigmoid(?y)) => tanh(mul(0.5, ?x))", stable,
         "the difference cancels near zero; for y = -x", when=are_negated,
         examples=["sub(sigmoid(?x), sigmoid(neg(?x))) => tanh(mul(0.5, ?x))"]),
    scaled_sigmoid_difference,
]  # fmt: skip
