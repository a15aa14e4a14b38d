"""Stable rules for corrections of roundings that other rules have made unnecessary."""

from __future__ import annotations

from itertools import permutations

from gradc.rules.algebra.factors import Product, product, whole
from gradc.rules.algebra.parts import parts
from gradc.rules.engine import INF, procedure, stable
from gradc_ir.core.graph import Value
from gradc_ir.graphs.rearrange import scalar_constant


@procedure(
    "log1p-times-correction",
    "div(mul(log1p(?x), ?x), sub(add(1, ?x), 1)) => log1p(?x)",
    stable,
    "x / ((1 + x) - 1) corrects log(1 + x) for the rounding of 1 + x, which log1p does not have; "
    "and it is infinite where 1 + x is 1",
    on="mul div: log1p / add sub select",
    domain={"x": (-1, INF)},
    examples=[
        "div(mul(log1p(?x), ?x), sub(add(1, ?x), 1)) => log1p(?x)",
        "mul(log1p(?x), div(?x, add(add(1, ?x), -1))) => log1p(?x)",
        "mul(div(log1p(?x), sub(add(1, ?x), 1)), ?x) => log1p(?x)",
    ],
)
def log1p_times_correction(value: Value) -> Product | None:
    """Leave out the quotient of x and x as rounded, beside the log1p of it."""
    entire = product(value)
    for below in entire.below:
        x = _of_sum_with_one(below)
        if x not in entire.above or x is None:
            continue
        for factor in entire.above:
            name, operands = parts(factor)
            if name == "log1p" and operands[0] is x:
                return entire.without(whole(x, below=(below,)))
    return None


def _of_sum_with_one(value: Value) -> Value | None:
    """Return x of ``(1 + x) - 1``, which may be guarded against being 0."""
    name, operands = parts(value)
    if name == "select":
        comparison, sides = parts(operands[0])
        if comparison not in ("eq", "ne"):
            return None
        x = _of_sum_with_one(operands[2 if comparison == "eq" else 1])
        guards = permutations(sides)
        guarded = any(_beside(u, 1) is x and scalar_constant(one) == 1 for u, one in guards)
        return x if guarded else None
    if name == "sub" and scalar_constant(operands[1]) == 1:
        return _beside(operands[0], 1)
    return _beside(_beside(value, -1), 1)


def _beside(total: Value | None, number: int) -> Value | None:
    """Return the other term of a sum with a number."""
    if total is None:
        return None
    name, operands = parts(total)
    if name == "add":
        for other, constant in permutations(operands):
            if scalar_constant(constant) == number:
                return other
    return None


RULES = [log1p_times_correction]
