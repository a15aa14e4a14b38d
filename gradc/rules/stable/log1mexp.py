"""Stable rules that end in log1mexp: log(1 - exp(x)) for negative x, accurate at both ends."""

from __future__ import annotations

from gradc.rules.engine import rule, stable

INF = float("inf")

RULES = [
    rule("log-neg-expm1", "log(neg(expm1(?x))) => log1mexp(?x)", stable,
         "expm1 rounds to -1 for x below -37", domain={"x": (-INF, 0)}),
    rule("log1p-neg-exp", "log1p(neg(exp(?x))) => log1mexp(?x)", stable,
         "exp rounds to 1 near zero", domain={"x": (-INF, 0)}),
    rule("log-expm1", "log(expm1(?x)) => add(?x, log1mexp(neg(?x)))", stable,
         "expm1 overflows at 710 although the result is about x", domain={"x": (0, INF)}, loss=2.0),
    rule("log-exp-minus-exp",
         "log(sub(exp(?x), exp(?y))) => add(?x, log1mexp(sub(?y, ?x)))", stable,
         "the exponentials overflow, and their difference cancels",
         condition="y < x", loss=10.0),
]  # fmt: skip
