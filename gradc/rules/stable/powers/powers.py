"""Stable rules for powers of a base that is rounded before the exponent magnifies the rounding."""

from __future__ import annotations

from itertools import permutations
from typing import NamedTuple

from gradc.rules.algebra.factors import Product, common_factors, either_way, product, whole
from gradc.rules.algebra.parts import exact_number, parts
from gradc.rules.engine import INF, POSITIVE, procedure, stable
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.graphs.rearrange import scalar_constant

# Below this exponent the rounding of the base is of no account.
_LARGE_EXPONENT = 16
# So near to one the logarithm of the base has a smaller error than the base.
_NEAR = 0.125


@procedure(
    "power-of-one-plus",
    "power(add(?x, 1), ?y) => select(lt(abs(?x), 0.125), exp(mul(?y, log1p(?x))), "
    "power(fence(add(?x, 1)), ?y))",
    stable,
    "1 + x rounds x away near zero, and the exponent magnifies that",
    on="power: add sub",
    domain={"x": (-1.0, INF)},
    loss=10.0,
)
def power_of_one_plus(value: Value) -> Value | None:
    """Take a power of a number near one through the logarithm."""
    base, exponent = value.operands
    number = exact_number(exponent)
    if number is not None and abs(number) < _LARGE_EXPONENT:
        return None
    beside = _beside_one(base)
    if beside is None:
        return None
    near = build.lt(build.abs(beside), _NEAR)
    through_logarithm = build.exp(exponent * build.log1p(beside))
    return build.select(near, through_logarithm, build.power(build.fence(base), exponent))


@procedure(
    "power-less-one",
    "sub(power(?x, ?y), 1) => select(lt(abs(mul(?y, log(?x))), 1), expm1(mul(?y, log(?x))), "
    "sub(fence(power(?x, ?y)), 1))",
    stable,
    "a power near one, of a small exponent or of a base near one, rounds away what is left of it",
    on="add sub",
    direct=("power", "neg"),
    domain={"x": POSITIVE},
    loss=10.0,
)
def power_less_one(value: Value) -> Value | None:
    """Take what a power is beside one from the logarithm of its base."""
    name, operands = parts(value)
    if name not in ("add", "sub"):
        return None
    for power, one in permutations(operands):
        inner, of = parts(power)
        if inner != "power" or exact_number(of[1]) is not None:
            continue
        if exact_number(one) != (1 if name == "sub" else -1):
            continue
        base, exponent = of
        through_logarithm = exponent * build.log(base)
        # the logarithm of a number below zero is none
        near = build.lt(build.abs(through_logarithm), 1.0)
        plain = build.fence(power) - 1.0
        made = build.select(near, build.expm1(through_logarithm), plain)
        return made if name == "add" or power is operands[0] else -made
    return None


def _beside_one(base: Value) -> Value | None:
    """Return x when a value is 1 + x, x no constant."""
    name, operands = parts(base)
    if name == "add":
        for one, x in permutations(operands):
            if scalar_constant(one) == 1:
                return x
    if name == "sub" and scalar_constant(operands[0]) == 1:
        return -operands[1]
    return None


@procedure(
    "power-less-one-over-rate",
    "div(sub(power(add(?x, 1), ?y), 1), ?x) => geometric_sum(?x, ?y)",
    stable,
    "the difference cancels near zero, and so does the derivative by x of what is left",
    on="div mul: expm1 select add sub /",
    domain={"x": (1e-6, 1e6), "y": (1.5, 100.0)},
    loss=10.0,
    examples=[
        "div(sub(power(add(?x, 1), ?y), 1), ?x) => geometric_sum(?x, ?y)",
        "div(?x, sub(1, power(add(?x, 1), neg(?y)))) => neg(div(1, geometric_sum(?x, neg(?y))))",
        "div(expm1(mul(?y, log1p(?x))), ?x) => geometric_sum(?x, ?y)",
    ],
)
def power_less_one_over_rate(value: Value) -> Product | None:
    """Take a power of 1 + x, less 1, together with the x that divides it."""
    return either_way(value, lambda entire: _geometric_sum(entire, value))


def _geometric_sum(entire: Product, like: Value) -> Product | None:
    for factor in dict.fromkeys(entire.above):
        found = _power_of_more(factor)
        if found is None:
            continue
        x, y, sign = found
        line = product(x)
        rest = entire.without(whole(factor)).times(sign)
        if not line.coefficient:
            continue
        shared = common_factors(rest, line.reciprocal)
        if (shared.above, shared.below) != (line.below, line.above):
            continue
        made = whole(build.apply("geometric_sum", x, y.value(like)))
        return made * rest.without(line.reciprocal).times(line.coefficient)
    return None


class _Power(NamedTuple):
    """``base ** exponent``."""

    base: Value
    exponent: Value

    @property
    def inverse(self) -> Value:
        """One over it."""
        return build.power(self.base, -self.exponent)


def _power_of(value: Value) -> _Power | None:
    """Return what a value is a power of, with a number that stands nearby taken through a log."""
    name, operands = parts(value)
    if name == "select":
        # as power_of_one_plus leaves it
        name, inner = parts(operands[1])
        if name != "exp":
            return None
        name, operands = parts(operands[2])
    if name != "power" or exact_number(operands[1]) is not None:
        return None
    base, exponent = operands
    name, inner = parts(base)
    return _Power(inner[0] if name == "fence" else base, exponent)


def _power_beside_one(value: Value) -> tuple[_Power, int] | None:
    """Return a power and a sign where a value is ``sign * (power - 1)``, or the rules' choice."""
    name, operands = parts(value)
    if name == "select" and parts(operands[1])[0] == "expm1":
        # what is far from one
        name, operands = parts(operands[2])
    if name not in ("add", "sub"):
        return None
    for one, other in permutations(operands):
        number = exact_number(other)
        if number is None or abs(number) != 1:
            continue
        inner, of = parts(one)
        power = _power_of(of[0] if inner == "fence" else one)
        sign = -1 if name == "sub" and one is operands[1] else 1
        beside = number if name == "add" or one is operands[1] else -number
        return None if power is None or sign * beside != -1 else (power, sign)
    return None


@procedure(
    "power-over-itself-less-one",
    "div(power(?x, ?y), sub(power(?x, ?y), 1)) => div(-1, sub(power(?x, neg(?y)), 1))",
    stable,
    "both sides of the quotient overflow; its derivative by the exponent cancels for large ones",
    on="div mul: power select / power select add sub",
    domain={"x": (1.01, 3.0), "y": (1e-3, 100.0)},
    loss=10.0,
    examples=[
        "div(power(?x, ?y), sub(power(?x, ?y), 1)) => div(-1, sub(power(?x, neg(?y)), 1))",
        "div(sub(power(?x, ?y), 1), power(?x, ?y)) => neg(sub(power(?x, neg(?y)), 1))",
    ],
)
def power_over_itself_less_one(value: Value) -> Product | None:
    """Divide both sides by the power."""
    return either_way(value, _divided_by_power)


def _divided_by_power(entire: Product) -> Product | None:
    for less in entire.below:
        found = _power_beside_one(less)
        if found is None:
            continue
        power, sign = found
        for factor in entire.above:
            if _power_of(factor) == power:
                rest = entire.without(whole(factor, below=(less,)))
                return rest.times(-sign) * whole(below=(power.inverse - 1.0,))
    return None


@procedure(
    "one-less-inverse-power",
    "sub(1, div(1, power(?x, ?y))) => sub(1, power(?x, neg(?y)))",
    stable,
    "as a power the inverse has a difference that does not cancel",
    on="add sub: / power select",
    domain={"x": (0.0, 3.0), "y": (-100.0, 100.0)},
    loss=2.0,
)
def one_less_inverse_power(value: Value) -> Product | None:
    """Take the inverse of a power into its exponent, beside one."""
    name, operands = value.op.name, value.operands
    for one, other in permutations(operands):
        number = exact_number(one)
        inverse = None if number is None else product(other)
        if not number or inverse is None or inverse.above or len(inverse.below) != 1:
            continue
        power = _power_of(inverse.below[0])
        ratio = inverse.coefficient / number
        if power is None or ratio != (-1 if name == "add" else 1):
            return None
        less = power.inverse - 1.0
        factor = inverse.coefficient if name == "add" or other is operands[0] else -number
        return whole(less).times(factor)
    return None


def _power_of_more(value: Value) -> tuple[Value, Product, int] | None:
    """Return x, y and a sign where a value is ``sign * ((1 + x)**y - 1)``, in any form."""
    name, operands = parts(value)
    if name in ("add", "sub"):
        found = _power_beside_one(value)
        x = None if found is None else _beside_one(found[0].base)
        return None if found is None or x is None else (x, product(found[0].exponent), found[1])
    if name == "select":
        name, operands = parts(operands[1])
    if name != "expm1":
        return None
    exponent = product(operands[0])
    for factor in exponent.above:
        inner, of = parts(factor)
        if inner == "log1p":
            return of[0], exponent.without(whole(factor)), 1
    return None


RULES = [
    one_less_inverse_power,
    power_less_one,
    power_of_one_plus,
    power_over_itself_less_one,
    power_less_one_over_rate,
]
