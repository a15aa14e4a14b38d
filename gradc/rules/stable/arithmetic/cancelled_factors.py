"""Stable rules for factors that stand above and below a fraction line, as derivatives have them."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

from gradc.rules.algebra.factors import Product, product, whole
from gradc.rules.algebra.parts import exact_number, is_size, parts
from gradc.rules.algebra.signs import without_sign
from gradc.rules.engine import POSITIVE, procedure, stable
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
    "cancel-power-of-divisor",
    "mul(power(?x, 3), div(div(?z, power(?x, 4)), power(?x, 4))) => div(div(?z, power(?x, 4)), ?x)",
    stable,
    "the derivative of a quotient by a power is 0 * inf at 0 and at infinity, and over- or "
    "underflows long before; all but one factor of the power cancels",
    on="mul div: /",
    domain={"x": POSITIVE},
    examples=[
        "mul(power(?x, 3), div(div(?z, power(?x, 4)), power(?x, 4))) => "
        "div(div(?z, power(?x, 4)), ?x)",
        "mul(div(div(?z, power(?x, 3)), power(?x, 3)), mul(?x, ?x)) => "
        "div(div(?z, power(?x, 3)), ?x)",
        "mul(div(div(?z, power(exp(?x), 2.5)), power(exp(?x), 2.5)), power(exp(?x), 1.5)) => "
        "div(div(?z, power(exp(?x), 2.5)), exp(?x))",
    ],
)
def cancel_power_of_divisor(value: Value) -> Product | None:
    """Cancel a power above the line against one that stands twice below it and is one higher."""
    entire = product(value)
    for power in dict.fromkeys(entire.below):
        name, operands = parts(power)
        exponent = exact_number(operands[1]) if name == "power" else None
        if exponent is None or exponent < 2 or entire.below.count(power) < 2:
            continue
        base = operands[0]
        if exponent.denominator != 1 and not is_nonnegative(base):
            continue  # of negative numbers it is none, but at their ends
        lower = _power_in(entire.above, base, exponent - 1)
        if lower is not None:
            return entire.without(whole(*lower, below=(power, power))) * whole(below=(power, base))
    return None


def _power_in(factors: tuple[Value, ...], base: Value, exponent: Fraction) -> list[Value] | None:
    """Return the factors that are a power of a base: itself, or the base so many times."""
    if factors.count(base) >= exponent and exponent.denominator == 1:
        return [base] * int(exponent)
    for factor in factors:
        name, operands = parts(factor)
        if name == "power" and operands[0] is base and exact_number(operands[1]) == exponent:
            return [factor]
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
            rest = entire.without(whole(below=(total, below[1])))
            return rest * whole(below=(below[0] + below[1],))
    return None


RULES = [cancel_repeated_divisor, cancel_power_of_divisor, divisor_times_sum_with_quotient]
