"""Stable rules that end in softplus: log(1 + exp(x)) without overflow."""

from __future__ import annotations

from gradc.rules.algebra.forms import are_negated, opposite_terms
from gradc.rules.engine import procedure, rule, stable
from gradc_ir.core.graph import Value


@procedure(
    "softplus-difference",
    "sub(mul(?a, softplus(?x)), mul(?a, softplus(neg(?x)))) => mul(?a, ?x)",
    stable,
    "the difference cancels near zero",
    on="sub: softplus",
    examples=[
        "sub(softplus(?x), softplus(neg(?x))) => ?x",
        "sub(mul(?a, softplus(?x)), mul(?a, softplus(neg(?x)))) => mul(?a, ?x)",
    ],
)
def softplus_difference(value: Value) -> Value | None:
    """Join two terms that differ by the sign within a softplus."""
    found = opposite_terms(value, "softplus")
    return None if found is None else found[0] * found[1]


RULES = [
    softplus_difference,
    rule("log1p-exp", "log1p(exp(?x)) => softplus(?x)", stable,
         "exp overflows at 710 although the result is about x"),
    rule("logaddexp-zero", "logaddexp(?c:const, ?x) => softplus(?x)", stable,
         "the same function, with one operand less; for c = 0", when=lambda m: m.number("c") == 0,
         examples=["logaddexp(0, ?x) => softplus(?x)", "logaddexp(-0.0, ?x) => softplus(?x)"]),
    rule("log-sigmoid", "log(sigmoid(?x)) => neg(softplus(neg(?x)))", stable,
         "sigmoid underflows to 0 on the left and rounds to 1 on the right"),
    rule("log1p-neg-sigmoid", "log1p(neg(sigmoid(?x))) => neg(softplus(?x))", stable,
         "sigmoid rounds to 1 from x = 37, where log1p then finds 0"),
    rule("softplus-minus-x", "sub(softplus(?x), ?x) => softplus(neg(?x))", stable,
         "the difference cancels for large x"),
    rule("x-minus-softplus", "sub(?x, softplus(?x)) => neg(softplus(neg(?x)))", stable,
         "the difference cancels for large x"),
    rule("x-plus-softplus-neg", "add(?x, softplus(?y)) => softplus(?x)", stable,
         "the sum cancels for negative x; for y = -x", when=are_negated,
         examples=["add(?x, softplus(neg(?x))) => softplus(?x)"]),
]  # fmt: skip
