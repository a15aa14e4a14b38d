"""Stable rules for logarithms of differences of sigmoids: probabilities of intervals."""

from __future__ import annotations

import math

from gradc.rules.algebra.cancellation import shared_difference
from gradc.rules.algebra.parts import operand_of, operands_of
from gradc.rules.engine import POSITIVE, procedure, stable
from gradc_ir import build
from gradc_ir.core.graph import Value


@procedure(
    "log-of-difference-of-sigmoids",
    "log(sub(sigmoid(add(?y, ?w)), sigmoid(?y))) => "
    "sub(sub(log1mexp(neg(?w)), softplus(neg(add(?y, ?w)))), softplus(?y))",
    stable,
    "the difference cancels, and underflows although its logarithm is moderate; all terms are "
    "negative",
    on="log: sub",
    domain={"w": POSITIVE},
    loss=2.0,
)
def log_of_difference_of_sigmoids(value: Value) -> Value | None:
    """Take apart the logarithm of a difference of sigmoids whose arguments share a term."""
    sides = operands_of(value.operands[0], "sub")
    if sides is None:
        return None
    x, y = (operand_of(side, "sigmoid") for side in sides)
    if x is None or y is None:
        return None
    shared = shared_difference(x, y)
    if shared is None:
        return None
    width = shared.value(x)
    made = build.log1mexp(-width) - build.softplus(-x) - build.softplus(y)
    # of what is negative, or nothing, which has no slopes
    ends = (
        build.sloped(build.full_like(made, end), made * math.nan) for end in (-math.inf, math.nan)
    )
    return build.select(build.lt(width, 0), build.select(build.eq(*sides), *ends), made)


RULES = [log_of_difference_of_sigmoids]
