"""Stable rules that end in tanh or are about it: quotients of sums and differences of exponentials."""

from __future__ import annotations

from gradc.rules.engine import rule, stable
from gradc.rules.forms import are_negated

RULES = [
    rule("sinh-over-cosh", "div(sub(exp(?x), exp(?y)), add(exp(?x), exp(?y))) => tanh(?x)", stable,
         "inf / inf from x = 710, and the difference cancels near zero", when=are_negated,
         examples=["div(sub(exp(?x), exp(neg(?x))), add(exp(?x), exp(neg(?x)))) => tanh(?x)"]),
    rule("cosh-over-sinh", "div(add(exp(?x), exp(?y)), sub(exp(?x), exp(?y))) => div(1, tanh(?x))",
         stable, "inf / inf from x = 710, and the difference cancels near zero", when=are_negated,
         examples=["div(add(exp(?x), exp(neg(?x))), sub(exp(?x), exp(neg(?x)))) => div(1, tanh(?x))"]),
    rule("expm1-over-one-plus-exp", "div(expm1(?x), add(1, exp(?x))) => tanh(mul(0.5, ?x))", stable,
         "inf / inf from x = 710"),
    rule("two-sigmoids-minus-one", "add(mul(2, sigmoid(?x)), -1) => tanh(mul(0.5, ?x))", stable,
         "the difference cancels near zero"),
    rule("two-sigmoids-minus-one-written", "sub(mul(2, sigmoid(?x)), 1) => tanh(mul(0.5, ?x))", stable,
         "the difference cancels near zero"),
    rule("one-minus-two-sigmoids", "sub(1, mul(2, sigmoid(?x))) => neg(tanh(mul(0.5, ?x)))", stable,
         "the difference cancels near zero"),
]  # fmt: skip
