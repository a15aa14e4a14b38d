"""Stable rules that take logarithms of roots and reciprocals apart."""

from __future__ import annotations

from gradc.rules.engine import POSITIVE, rule, stable

# By a zero of either sign the slope is infinite from above: -0 is added away.
RULES = [
    rule("log-reciprocal", "log(div(1, ?x)) => sub(0, log(?x))", stable,
         "the reciprocal rounds, which near one is all there is", domain={"x": POSITIVE}),
    rule("log-sqrt", "log(sqrt(?x)) => mul(0.5, log(add(?x, 0)))", stable,
         "the root rounds, which near one is all there is", domain={"x": POSITIVE}),
]  # fmt: skip
