"""Stable rules that end in exp: powers of e, and exponentials below the line."""

from __future__ import annotations

import math

from gradc.rules.algebra.factors import product
from gradc.rules.algebra.forms import join_factors
from gradc.rules.algebra.parts import operand_of
from gradc.rules.engine import procedure, rule, stable
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.matching.pattern import Match


def _is_e(m: Match) -> bool:
    """Whether the base is the number of the dtype that is nearest to e."""
    return bool(m["c"] == m.value.type.dtype.numpy.type(math.e)) if _is_float(m) else False


def _is_float(m: Match) -> bool:
    return m.value.type.dtype.is_float


@procedure(
    "over-exp-times-exp",
    "mul(div(div(?a, exp(?x)), exp(?x)), exp(?x)) => div(?a, exp(?x))",
    stable,
    "exp over- or underflows; differentiation makes such products; where it goes, nan has to stay",
    on="mul: exp",
    examples=[
        "mul(div(?a, exp(?x)), exp(?x)) => sub(?a, sub(?x, ?x))",
        "mul(div(div(?a, exp(?x)), exp(?x)), exp(?x)) => div(?a, exp(?x))",
        "mul(mul(div(div(?a, exp(?x)), exp(?x)), ?b), exp(?x)) => mul(div(?a, exp(?x)), ?b)",
    ],
)
def over_exp_times_exp(value: Value) -> Value | None:
    """Cancel an exponential against the same one below the line of another factor."""
    made = join_factors(value, "exp", _cancelled)
    if made is None:
        return None
    sides = (operand_of(side, "exp") for side in value.operands)
    exponent = next(x for x in sides if x is not None)
    left = product(made)
    if any(operand_of(factor, "exp") is exponent for factor in (*left.above, *left.below)):
        return made
    # nan where the exponent is no number, and else 0, which is subtracted to keep -0
    lost = build.stop_gradient(exponent)
    return made - (lost - lost)


def _cancelled(exponent: Value, factor: Value) -> Value | None:
    if factor.op.name != "div" or operand_of(factor.operands[1], "exp") is not exponent:
        return None
    return factor.operands[0]


@procedure(
    "exp-times-exp-of-exp",
    "mul(exp(?x), exp(neg(exp(?x)))) => exp(sub(?x, exp(?x)))",
    stable,
    "inf * 0 from 710; derivatives of exp(-exp(x)) are such products; not of negative x, where "
    "the sum of the exponents rounds",
    on="mul: exp",
    loss=10.0,
    domain={"x": (0, 1e3), "y": (-1e3, 1e3)},
    examples=[
        "mul(exp(?x), exp(neg(exp(?x)))) => exp(sub(?x, exp(?x)))",
        "mul(mul(?a, exp(sub(?y, exp(?x)))), exp(?x)) => mul(?a, exp(add(?x, sub(?y, exp(?x)))))",
        "mul(div(exp(mul(-2.5, exp(?x))), ?a), exp(?x)) => "
        "div(exp(add(?x, mul(-2.5, exp(?x)))), ?a)",
    ],
)
def exp_times_exp_of_exp(value: Value) -> Value | None:
    """Join exponentials of which one stands in the exponent of the other."""

    def joined(inner: Value | None, outer: Value | None) -> Value | None:
        if inner is None or outer is None or not _has_exp(outer, inner):
            return None
        exponents.append(inner)
        return _grown(inner, outer)

    exponents: list[Value] = []
    made = join_factors(value, "exp", lambda x, factor: joined(x, operand_of(factor, "exp")))
    if made is None:
        made = join_factors(value, "exp", lambda x, factor: joined(operand_of(factor, "exp"), x))
    return None if made is None else made * _shrunk(exponents[0])


def _grown(inner: Value, outer: Value) -> Value:
    """Return exp(outer), times exp(inner) where that may overflow."""
    positive = build.lt(build.zeros_like(inner), inner)
    return build.exp(build.select(positive, inner + outer, outer))


def _shrunk(inner: Value) -> Value:
    """Return exp(inner) where that does not overflow, elsewhere 1."""
    positive = build.lt(build.zeros_like(inner), inner)
    return build.select(positive, build.ones_like(inner), build.exp(inner))


def _has_exp(exponent: Value, inner: Value, depth: int = 4) -> bool:
    """Whether exp(inner) is a factor of a term."""
    if exponent.op.name == "exp":
        return exponent.operands[0] is inner
    if not depth or exponent.op.name not in ("add", "sub", "mul", "neg", "div"):
        return False
    return any(_has_exp(operand, inner, depth - 1) for operand in exponent.operands)


RULES = [
    rule("power-e", "power(?c:const, ?x) => exp(?x)", stable,
         "a base that is the number nearest to e, such as np.e, is meant to be e", when=_is_e,
         examples=["power(E, ?x) => exp(?x)"]),
    rule("reciprocal-exp", "div(1, exp(?x)) => exp(neg(?x))", stable,
         "exp overflows in the value, and its square in the derivative"),
    over_exp_times_exp,
    exp_times_exp_of_exp,
]  # fmt: skip
