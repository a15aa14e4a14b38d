"""Stable rules for divided differences: of two exponentials, over what lies between them."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

from gradc.rules.algebra.parts import factors_of, operand_of, operands_of, product_of
from gradc.rules.algebra.polynomial import polynomial
from gradc.rules.engine import procedure, stable
from gradc_ir import build
from gradc_ir.core.graph import Value


@procedure(
    "divided-difference-of-exps",
    "div(sub(exp(?x), exp(?y)), sub(?x, ?y)) => mul(exp(?x), div(expm1(sub(?y, ?x)), sub(?y, ?x)))",
    stable,
    "the exponentials cancel where they are close, and both derivatives with them; of the distance "
    "alone there is a series",
    on="div mul: sub",
    condition="y < x",
    domain={"x": (-20.0, 20.0), "y": (-20.0, 20.0)},
    loss=3.0,
    examples=[
        "div(sub(exp(?x), exp(?y)), sub(?x, ?y)) => "
        "mul(exp(?x), div(expm1(sub(?y, ?x)), sub(?y, ?x)))",
        "mul(div(?a, sub(?x, ?y)), sub(exp(?x), exp(?y))) => "
        "mul(mul(exp(?x), div(expm1(sub(?y, ?x)), sub(?y, ?x))), ?a)",
    ],
)
def divided_difference_of_exps(value: Value) -> Value | None:
    """Take a difference of exponentials over that of their exponents through the larger one."""
    factors = list(factors_of(value))
    for above, below in permutations(factors, 2):
        if not above.above or below.above:
            continue
        made = _divided(above.value, below.value)
        if made is None:
            continue
        rest = product_of([each for each in factors if each is not above and each is not below])
        return made if rest is None else made * rest
    return None


def _divided(above: Value, below: Value) -> Value | None:
    sides = operands_of(above, "sub")
    if sides is None or operands_of(below, "sub") is None:
        return None
    x, y = (operand_of(side, "exp") for side in sides)
    if x is None or y is None:
        return None
    sign = (polynomial(x) - polynomial(y)).ratio(polynomial(below))
    if sign is None or abs(sign) != Fraction(1):
        return None
    falls = build.lt(below, 0)
    if sign < 0:
        falls = build.lt(0, below)
    # what is not above 0, whichever of the two is the larger one
    distance = build.select(build.lt(0, below), -below, below)
    made = build.exp(build.select(falls, y, x)) * (build.expm1(distance) / distance)
    return made if sign > 0 else -made


RULES = [divided_difference_of_exps]
