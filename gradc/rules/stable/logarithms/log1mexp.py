"""Stable rules that end in log1mexp: log(1 - exp(x)) for negative x, accurate at both ends."""

from __future__ import annotations

from gradc.rules.engine import INF, rule, stable
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.matching.pattern import Match
from gradc_ir.ranges.knowledge import is_within


def _log_of_survival(m: Match) -> Value:
    """Return log(1 - exp(-exp(x))), which far to the left is x."""
    x = m["x"]
    left = build.lt(x, -40)
    return build.select(left, x, build.log1mexp(-build.exp(build.select(left, 0, x))))


def _is_not_chosen(m: Match) -> bool:
    return bool(m["x"].op.name != "select")


RULES = [
    rule("log1mexp-neg-exp", "log1mexp(neg(exp(?x))) => log(neg(expm1(neg(exp(?x)))))", stable,
         "exp underflows on the left, where the result is x", when=_is_not_chosen,
         domain={"x": (-INF, 1e3)}, build=_log_of_survival,
         examples=["log1mexp(neg(exp(?x))) => select(lt(?x, 0), log(neg(expm1(neg(exp(?x))))), "
                   "log1mexp(neg(exp(?x))))"]),
    rule("log-neg-expm1", "log(neg(expm1(?x))) => log1mexp(?x)", stable,
         "expm1 rounds to -1 for x below -37", domain={"x": (-INF, 0)}),
    rule("log1p-neg-exp", "log1p(neg(exp(?x))) => log1mexp(?x)", stable,
         "exp rounds to 1 near zero", domain={"x": (-INF, 0)}),
    rule("log-exp-minus-exp",
         "log(sub(exp(?x), exp(?y))) => add(?x, log1mexp(neg(sub(?x, ?y))))", stable,
         "the exponentials overflow, and their difference cancels; where it is 0, minus 0 has the "
         "slope from below",
         condition="y < x", loss=10.0),
    rule("log1mexp-twice", "log1mexp(log1mexp(?x)) => ?x", stable,
         "it undoes itself, but is 0 from x = -745, and rounds near zero; above 0 there is none",
         when=lambda m: is_within(m["x"], -INF, 0), domain={"x": (-INF, 0)},
         examples=["log1mexp(log1mexp(neg(softplus(?x)))) => neg(softplus(?x))"]),
]  # fmt: skip
