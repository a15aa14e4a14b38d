"""Stable rules that end in exp: powers of e, and exponentials below the line."""

from __future__ import annotations

import math

from gradc.rules.engine import procedure, rule, stable
from gradc.rules.forms import operand_of, replace_factor
from gradc_ir import build
from gradc_ir.graph import Value
from gradc_ir.pattern import Match


def _is_e(m: Match) -> bool:
    """Whether the base is the number of the dtype that is nearest to e."""
    return bool(m["c"] == m.value.type.dtype.numpy.type(math.e)) if _is_float(m) else False


def _is_float(m: Match) -> bool:
    return m.value.type.dtype.is_float


@procedure(
    "over-exp-times-exp",
    "mul(div(?a, exp(?x)), exp(?x)) => ?a",
    stable,
    "exp over- or underflows; differentiation makes such products",
    roots=("mul",),
    examples=[
        "mul(div(?a, exp(?x)), exp(?x)) => ?a",
        "mul(mul(div(?a, exp(?x)), ?b), exp(?x)) => mul(?a, ?b)",
    ],
)
def over_exp_times_exp(value: Value) -> Value | None:
    """Cancel an exponential against the same one below the line of another factor."""
    for one, other in (value.operands, value.operands[::-1]):
        exponent = operand_of(one, "exp")
        if exponent is None:
            continue

        def cancelled(factor: Value, exponent: Value = exponent) -> Value | None:
            if factor.op.name != "div" or operand_of(factor.operands[1], "exp") is not exponent:
                return None
            return factor.operands[0]

        made = replace_factor(other, cancelled)
        if made is not None:
            return made
    return None


RULES = [
    rule("power-e", "power(?c:const, ?x) => exp(?x)", stable,
         "a base that is the number nearest to e, such as np.e, is meant to be e", when=_is_e,
         build=lambda m: build.exp(m["x"]), examples=["power(E, ?x) => exp(?x)"]),
    rule("reciprocal-exp", "div(1, exp(?x)) => exp(neg(?x))", stable,
         "exp overflows in the value, and its square in the derivative"),
    over_exp_times_exp,
]  # fmt: skip
