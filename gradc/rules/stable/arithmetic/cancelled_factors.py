"""Stable rules for factors that stand above and below a fraction line, as derivatives have them."""

from __future__ import annotations

from fractions import Fraction

from gradc.rules.algebra.factors import Product, product
from gradc.rules.algebra.parts import parts
from gradc.rules.engine import procedure, stable
from gradc_ir.core.graph import Value
from gradc_ir.graphs.rearrange import scalar_constant

INF = float("inf")


@procedure(
    "cancel-repeated-divisor",
    "mul(?y, div(div(?z, ?y), ?y)) => div(?z, ?y)",
    stable,
    "a divisor that stands twice, as in the derivative of a quotient, over- or underflows on the "
    "way; one of the two cancels against the factor",
    on="mul div: /",
    domain={"y": (0.0, INF)},
    examples=[
        "mul(?y, div(div(?z, ?y), ?y)) => div(?z, ?y)",
        "mul(div(?z, mul(?y, ?y)), ?y) => div(?z, ?y)",
    ],
)
def cancel_repeated_divisor(value: Value) -> Value | None:
    """Cancel a factor above the line against one of several below it."""
    whole = product(value)
    for factor in dict.fromkeys(whole.above):
        if whole.below.count(factor) >= 2:
            rest = whole.without(Product(Fraction(1), (factor,), (factor,)))
            return rest.times(whole.coefficient).value(value)
    return None


@procedure(
    "divisor-times-sum-with-quotient",
    "div(div(?z, ?y), add(div(?x, ?y), 1)) => div(?z, add(?x, ?y))",
    stable,
    "x / y over- or underflows; the derivative of log1p(x / y) is made so",
    on="div mul: / add",
    domain={"x": (0.0, INF), "y": (0.0, INF)},
)
def divisor_times_sum_with_quotient(value: Value) -> Value | None:
    """Multiply a divisor into another one that has a quotient by it as a term."""
    whole = product(value)
    for total in dict.fromkeys(whole.below):
        name, operands = parts(total)
        if name != "add":
            continue
        for quotient, one in (operands, operands[::-1]):
            above, below = parts(quotient)
            if above != "div" or scalar_constant(one) != 1 or below[1] not in whole.below:
                continue
            joined = below[0] + below[1]
            rest = whole.without(Product(Fraction(1), (), (total, below[1])))
            made = rest.times(whole.coefficient) * Product(Fraction(1), (), (joined,))
            return made.value(value)
    return None


RULES = [cancel_repeated_divisor, divisor_times_sum_with_quotient]
