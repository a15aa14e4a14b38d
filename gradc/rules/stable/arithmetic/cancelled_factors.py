"""Stable rules for factors that stand above and below a fraction line, as derivatives have them."""

from __future__ import annotations

from itertools import permutations

from gradc.rules.algebra.factors import Product, product, whole
from gradc.rules.algebra.parts import is_size, parts
from gradc.rules.algebra.signs import without_sign
from gradc.rules.engine import POSITIVE, procedure, stable
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.graphs.rearrange import scalar_constant
from gradc_ir.ranges.knowledge import is_nonnegative


@procedure(
    "cancel-repeated-divisor",
    "mul(?y, div(div(?z, ?y), ?y)) => div(?z, ?y)",
    stable,
    "a divisor that stands twice, as in the derivative of a quotient, over- or underflows on the "
    "way; one of the two cancels against the factor",
    on="mul div: /",
    domain={"y": POSITIVE},
    examples=[
        "mul(?y, div(div(?z, ?y), ?y)) => div(?z, ?y)",
        "mul(div(?z, mul(?y, ?y)), ?y) => div(?z, ?y)",
        "mul(?y, div(div(?z, sub(0, ?y)), sub(0, ?y))) => div(?z, ?y)",
    ],
)
def cancel_repeated_divisor(value: Value) -> Product | None:
    """Cancel a factor above the line against one of several below it, whatever their signs."""
    entire = product(value)
    divisors = entire.below
    once = dict.fromkeys(divisors)
    if len(once) == len(divisors):
        return None
    repeated = [below for below in once if divisors.count(below) >= 2]
    for factor in dict.fromkeys(entire.above):
        if is_size(factor):
            continue
        for below in repeated:
            if without_sign(factor) is without_sign(below):
                # the square has no sign, and what is left of it that of the factor
                rest = entire.without(whole(factor, below=(below, below)))
                return rest * whole(below=(factor,))
    return None


@procedure(
    "divisor-times-sum-with-quotient",
    "div(div(?z, ?y), add(div(?x, ?y), 1)) => div(?z, add(?x, ?y))",
    stable,
    "x / y over- or underflows; the derivative of log1p(x / y) is made so",
    on="div mul: / add",
    domain={"x": POSITIVE, "y": POSITIVE},
)
def divisor_times_sum_with_quotient(value: Value) -> Product | None:
    """Multiply a divisor into another one that has a quotient by it as a term."""
    entire = product(value)
    for total in dict.fromkeys(entire.below):
        name, operands = parts(total)
        if name != "add":
            continue
        for quotient, one in permutations(operands):
            above, below = parts(quotient)
            if above != "div" or scalar_constant(one) != 1 or below[1] not in entire.below:
                continue
            if is_size(below[1]):
                continue
            joined = _at_pole(below[0] + below[1], below[1])
            rest = entire.without(whole(below=(total, below[1])))
            return rest * whole(below=(joined,))
    return None


def _at_pole(total: Value, divisor: Value) -> Value:
    """Return a sum with the sign of a divisor where it is zero, as the quotient by it has there."""
    if is_nonnegative(divisor):
        return total
    is_pole = build.logical_and(build.eq(total, 0.0), build.ne(divisor, 0.0))
    return build.sloped(build.select(is_pole, 0.0 * divisor, total), total)


RULES = [cancel_repeated_divisor, divisor_times_sum_with_quotient]
