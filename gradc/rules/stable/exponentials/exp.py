"""Stable rules that end in exp: powers of e, and exponentials below the line."""

from __future__ import annotations

import math
from functools import partial

from gradc.rules.algebra.forms import operand_of, replace_factor
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
    "mul(div(?a, exp(?x)), exp(?x)) => ?a",
    stable,
    "exp over- or underflows; differentiation makes such products",
    on="mul: exp",
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
    for one, other in (value.operands, value.operands[::-1]):
        inner = operand_of(one, "exp")
        if inner is not None:
            made = replace_factor(other, partial(_joined, inner))
            if made is not None:
                return made
        outer = operand_of(one, "exp")
        if outer is not None:
            made = replace_factor(other, partial(_joined_with, outer))
            if made is not None:
                return made
    return None


def _joined(inner: Value, factor: Value) -> Value | None:
    """Return exp(x) times a factor exp(y), where y has a term with exp(x)."""
    exponent = operand_of(factor, "exp")
    if exponent is None or not _has_exp(exponent, inner):
        return None
    return _product(inner, exponent)


def _joined_with(outer: Value, factor: Value) -> Value | None:
    inner = operand_of(factor, "exp")
    if inner is None or not _has_exp(outer, inner):
        return None
    return _product(inner, outer)


def _product(inner: Value, outer: Value) -> Value:
    """Return exp(inner) exp(outer), as one where the first may overflow."""
    positive = build.lt(build.zeros_like(inner), inner)
    grown = build.exp(build.select(positive, inner + outer, outer))
    return grown * build.select(positive, build.ones_like(inner), build.exp(inner))


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
         build=lambda m: build.exp(m["x"]), examples=["power(E, ?x) => exp(?x)"]),
    rule("reciprocal-exp", "div(1, exp(?x)) => exp(neg(?x))", stable,
         "exp overflows in the value, and its square in the derivative"),
    over_exp_times_exp,
    exp_times_exp_of_exp,
]  # fmt: skip
