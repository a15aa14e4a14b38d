"""Stable rules for powers of a base that is rounded before the exponent magnifies the rounding."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

from gradc.rules.algebra.factors import Product, common_factors, either_way, product, whole
from gradc.rules.algebra.parts import exact_number, parts
from gradc.rules.engine import INF, POSITIVE, procedure, stable
from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Value
from gradc_ir.graphs.rearrange import scalar_constant
from gradc_ir.ranges import knowledge

# Below this exponent the rounding of the base is of no account.
_LARGE_EXPONENT = 16
# So near to one the logarithm of the base has a smaller error than the base.
_NEAR = 0.125


class _Power(NamedTuple):
    """``base ** exponent``."""

    base: Value
    exponent: Value


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
    if not knowledge.is_finite(exponent):
        # where 1 + x is 1, any power is
        near = build.logical_and(near, build.lt(build.abs(exponent), INF))
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
        turned = name == "sub" and power is operands[1]
        return _less_one(_Power(*of), power, turned=turned)
    return None


def _less_one(power: _Power, plain: Value, *, turned: bool) -> Value:
    """Return a power less one, or one less a power, through the logarithm of its base."""
    through_logarithm = power.exponent * build.log(power.base)
    size, plain = build.abs(through_logarithm), build.fence(plain)
    # the logarithm of a number below zero is none; a difference that is zero is never -0
    near = build.logical_and(build.lt(0.0, size), build.lt(size, 1.0))
    made = build.expm1(through_logarithm)
    return build.select(near, -made if turned else made, 1.0 - plain if turned else plain - 1.0)


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
        x, y, sign, through = found
        line = product(x)
        rest = entire.without(whole(factor))
        if not line.coefficient:
            continue
        shared = common_factors(rest, line.reciprocal)
        if (shared.above, shared.below) != (line.below, line.above):
            continue
        made = build.apply("geometric_sum", x, y.value(like))
        if through is not None:
            # of what has no logarithm
            made = build.select(build.eq(through, through), made, through)
        others = rest.without(line.reciprocal).times(line.coefficient * sign)
        if others.coefficient < 0:
            made, others = _negated(made, x), others.negated
        return whole(made) * others
    return None


def _negated(made: Value, x: Value) -> Value:
    """Return minus a quotient by x: where 1 less a power is zero, it is no zero below that."""
    is_zero = build.logical_and(build.eq(made, 0.0), build.ne(x, 0.0))
    return build.sloped(build.select(is_zero, 0.0 / x, -made), -made)


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


def _is_expm1(value: Value) -> bool:
    name, operands = parts(value)
    return name == "expm1" or (name == "neg" and parts(operands[0])[0] == "expm1")


def _power_beside_one(value: Value) -> tuple[_Power, int] | None:
    """Return a power and a sign where a value is ``sign * (power - 1)``, or the rules' choice."""
    name, operands = parts(value)
    if name == "select" and _is_expm1(operands[1]):
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
    entire = product(value)
    if not entire.coefficient:
        return None
    made = _divided_by_power(entire, _over_itself_less_one)
    if made is not None:
        return made
    made = _divided_by_power(entire.reciprocal, _over_less_inverse)
    return None if made is None else made.reciprocal


def _divided_by_power(entire: Product, form: Callable[[_Power], Product]) -> Product | None:
    for less in entire.below:
        found = _power_beside_one(less)
        if found is None:
            continue
        power, sign = found
        for factor in entire.above:
            if _power_of(factor) == power:
                rest = entire.without(whole(factor, below=(less,)))
                # of 1 + x it is a sum of powers, for which it is looked next
                is_sum = _beside_one(power.base) is not None
                return rest.times(sign) * (_over_less_inverse if is_sum else form)(power)
    return None


def _over_less_inverse(power: _Power) -> Product:
    """Return p / (p - 1) of a power p as 1 / (1 - 1 / p)."""
    return whole(below=(_less_inverse(power, turned=True),))


def _over_itself_less_one(power: _Power) -> Product:
    """Return p / (p - 1) of a power p: as it is where p has hardly an inverse."""
    plain = build.fence(build.power(*power))
    made = _over_less_inverse(power).value(plain)
    return whole(build.select(build.lt(build.abs(plain), 0.5), plain / (plain - 1.0), made))


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
        factor = inverse.coefficient if name == "add" or other is operands[0] else -number
        return whole(_less_inverse(power, turned=factor < 0)).times(abs(factor))
    return None


def _less_inverse(power: _Power, *, turned: bool) -> Value:
    inverse = power._replace(exponent=-power.exponent)
    return _less_one(inverse, build.power(*inverse), turned=turned)


def _power_of_more(value: Value) -> tuple[Value, Product, int, Value | None] | None:
    """Return x, y, a sign where a value is ``sign * ((1 + x)**y - 1)``, and y * log(1 + x).

    The latter only if it is all that the value is made of.
    """
    name, operands = parts(value)
    if name in ("add", "sub"):
        found = _power_beside_one(value)
        x = None if found is None else _beside_one(found[0].base)
        if found is None or x is None:
            return None
        return x, product(found[0].exponent), found[1], None
    sign, is_choice = 1, name == "select"
    if is_choice:
        name, operands = parts(operands[1])
        if name == "neg":
            sign, (name, operands) = -1, parts(operands[0])
    if name != "expm1":
        return None
    exponent = product(operands[0])
    for factor in exponent.above:
        inner, of = parts(factor)
        if inner == "log1p":
            through = None if is_choice else operands[0]
            return of[0], exponent.without(whole(factor)), sign, through
    return None


RULES = [
    one_less_inverse_power,
    power_less_one,
    power_of_one_plus,
    power_over_itself_less_one,
    power_less_one_over_rate,
]
