"""Stable rules that end in expm1: the difference of an exponential and one, accurate near zero."""

from __future__ import annotations

from gradc.rules.engine import rule, stable

RULES = [
    rule("exp-minus-one", "add(exp(?x), -1) => expm1(?x)", stable,
         "the difference cancels near zero"),
    rule("one-minus-exp", "sub(1, exp(?x)) => neg(expm1(?x))", stable,
         "the difference cancels near zero"),
    rule("expm1-over-exp", "div(expm1(?x), exp(?x)) => neg(expm1(neg(?x)))", stable,
         "both sides of the quotient overflow, or the lower one underflows"),
]  # fmt: skip
