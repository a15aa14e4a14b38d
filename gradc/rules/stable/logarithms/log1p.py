"""Stable rules that end in log1p: the logarithm of a sum with one, accurate near zero."""

from __future__ import annotations

from gradc.rules.engine import INF, rule, stable

RULES = [
    rule("log-one-plus", "log(add(1, ?x)) => log1p(?x)", stable,
         "1 + x rounds x away near zero", domain={"x": (-1, INF)}),
    rule("log-one-minus", "log(sub(1, ?x)) => log1p(neg(?x))", stable,
         "1 - x rounds x away near zero", domain={"x": (-INF, 1)}),
    rule("log1p-expm1", "log1p(expm1(?x)) => ?x", stable,
         "expm1 overflows on the right and rounds to -1 on the left"),
]  # fmt: skip
