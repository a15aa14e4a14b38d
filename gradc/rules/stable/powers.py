"""Stable rules for powers of a base that is rounded before the exponent magnifies the rounding."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

from gradc.rules.engine import procedure, stable
from gradc.rules.factors import Product, common_factors, product, whole
from gradc.rules.polynomial import exact_number, parts, polynomial
from gradc_ir import build
from gradc_ir.graph import Value
from gradc_ir.rearrange import scalar_constant

INF = float("inf")

# Below this exponent the rounding of the base is of no account.
_LARGE_EXPONENT = 16
# So near to one the logarithm of the base has a smaller error than the base.
_NEAR = 0.125
# Up to here seven terms of a series are enough for a second derivative.
_START = 2.0**-10


@procedure(
    "power-of-one-plus",
    "power(add(?x, 1), ?y) => select(lt(abs(?x), 0.125), exp(mul(?y, log1p(?x))), "
    "power(fence(add(?x, 1)), ?y))",
    stable,
    "1 + x rounds x away near zero, and the exponent magnifies that",
    roots=("power",),
    domain={"x": (-1.0, INF)},
    loss=10.0,
)
def power_of_one_plus(value: Value) -> Value | None:
    """Take a power of a number near one through the logarithm."""
    base, exponent = value.operands
    number = exact_number(exponent)
    if not value.type.dtype.is_float or (number is not None and abs(number) < _LARGE_EXPONENT):
        return None
    beside = _beside_one(base)
    if beside is None:
        return None
    near = build.lt(build.abs(beside), _NEAR)
    through_logarithm = build.exp(build.mul(exponent, build.log1p(beside)))
    return build.select(near, through_logarithm, build.power(build.fence(base), exponent))


@procedure(
    "power-less-one",
    "sub(power(?x, ?y), 1) => select(lt(abs(mul(?y, log(?x))), 1), expm1(mul(?y, log(?x))), "
    "sub(fence(power(?x, ?y)), 1))",
    stable,
    "a power near one, of a small exponent or of a base near one, rounds away what is left of it",
    roots=("add", "sub"),
    direct=("power", "neg"),
    domain={"x": (0.0, INF)},
    loss=10.0,
)
def power_less_one(value: Value) -> Value | None:
    """Take what a power is beside one from the logarithm of its base."""
    if not value.type.dtype.is_float:
        return None
    name, operands = parts(value)
    if name not in ("add", "sub"):
        return None
    for power, one in (operands, operands[::-1]):
        inner, of = parts(power)
        if inner != "power" or exact_number(of[1]) is not None:
            continue
        if exact_number(one) != (1 if name == "sub" else -1):
            continue
        base, exponent = of
        through_logarithm = build.mul(exponent, build.log(base))
        # the logarithm of a number below zero is none
        near = build.lt(build.abs(through_logarithm), 1.0)
        plain = build.sub(build.fence(power), 1.0)
        made = build.select(near, build.expm1(through_logarithm), plain)
        return made if name == "add" or power is operands[0] else build.neg(made)
    return None


def _beside_one(base: Value) -> Value | None:
    """Return x when a value is 1 + x, x no constant."""
    name, operands = parts(base)
    if name == "add":
        for one, x in (operands, operands[::-1]):
            if scalar_constant(one) == 1:
                return x
    if name == "sub" and scalar_constant(operands[0]) == 1:
        return build.neg(operands[1])
    return None


@procedure(
    "expm1-over-argument",
    "div(expm1(mul(?y, log1p(?x))), ?x) => "
    "mul(mul(div(expm1(mul(?y, log1p(?x))), mul(?y, log1p(?x))), ?y), div(log1p(?x), ?x))",
    stable,
    "the derivative cancels near zero; those of the two quotients, taken where the argument is "
    "small, are functions of one variable, which have series",
    roots=("div", "mul"),
    factors=("expm1", "select"),
    # near zero both sides cancel until the series is there
    domain={"x": (10.0, 1e6), "y": (1e-3, 1.0), "z": (1.0, 100.0)},
    loss=10.0,
    examples=[
        "div(expm1(mul(?y, log1p(?x))), ?x) => "
        "mul(mul(div(expm1(mul(?y, log1p(?x))), mul(?y, log1p(?x))), ?y), div(log1p(?x), ?x))",
        "div(expm1(mul(?y, ?z)), ?z) => mul(div(expm1(mul(?y, ?z)), mul(?y, ?z)), ?y)",
    ],
)
def expm1_over_argument(value: Value) -> Value | None:
    """Take a quotient through the argument of expm1, which has the divisor or its logarithm."""
    if not value.type.dtype.is_float:
        return None
    entire = product(value)
    made = _through_factors(entire, value)
    if made is None and entire.coefficient:
        made = _through_factors(entire.reciprocal, value, inverse=True)
    return made


def _through_factors(entire: Product, value: Value, inverse: bool = False) -> Value | None:
    """Return a product, or its inverse, that is taken through the argument of one factor."""
    for factor in dict.fromkeys(entire.above):
        name, operands = parts(factor)
        rest = entire.without(whole(factor)).times(entire.coefficient)
        # a difference of powers is a choice, with the plain one where the two are far apart
        is_choice = name == "select"
        found = _through_argument(operands[1] if is_choice else factor, rest)
        if found is None:
            continue
        outside = rest.without(found.line).times(rest.coefficient / found.line.coefficient)
        near = build.fence(found.near) if inverse else found.near
        cases = [whole(near) * outside, whole(found.far) * found.line * outside]
        if is_choice:
            cases.append(whole(operands[2]) * found.line * outside)
        built = [(case.reciprocal if inverse else case).value(value) for case in cases]
        made = build.select(found.is_small, built[0], built[1])
        return build.select(operands[0], made, built[2]) if is_choice else made
    return None


def _expm1_over(size: Value) -> Value:
    """Return expm1(size) / size; where the argument has underflowed, its series."""
    return build.select(build.eq(size, 0.0), _start(size), build.div(build.expm1(size), size))


def _start(size: Value) -> Value:
    """Return expm1(size) / size of a small argument, right to its second derivative."""
    series = build.full_like(size, 1 / 5040)
    for inverse in (720, 120, 24, 6, 2, 1):
        series = series * size + 1 / inverse
    return series


class _Quotient(NamedTuple):
    """``expm1(y * x) / x``: where the argument is small, and elsewhere what is over x."""

    is_small: Value
    near: Value
    far: Value
    line: Product


def _through_argument(factor: Value, rest: Product) -> _Quotient | None:
    """Return ``expm1(y * x) / x`` when the first factor is the upper side and 1 / x in the rest.

    In place of x, the exponent may have log1p(x).
    """
    name, operands = parts(factor)
    if name != "expm1":
        return None
    exponent = product(operands[0])
    for share in dict.fromkeys(exponent.above):
        inner, below = parts(share)
        argument = below[0] if inner == "log1p" else share
        x = product(argument)
        others = exponent.without(whole(share)).times(exponent.coefficient)
        if not x.coefficient or not (others.above or others.below):
            continue  # a function of one variable, which has a series
        line = x.reciprocal
        if common_factors(rest, line) != Product(Fraction(1), line.above, line.below):
            continue
        # each quotient has a variable of its own, so that its derivative is told from the rest
        far = build.fence(operands[0])
        size, fenced = build.fence(far), build.fence(argument)
        quotient = _expm1_over(size)
        if inner == "log1p":
            quotient = build.mul(quotient, build.div(build.log1p(fenced), fenced))
        is_small = build.lt(build.abs(operands[0]), 1.0)
        near = (whole(quotient) * others).value(factor)
        return _Quotient(is_small, near, build.expm1(far), line)
    return None


@procedure(
    "expm1-over-expm1",
    "div(expm1(mul(?x, ?z)), expm1(mul(?y, ?z))) => "
    "mul(div(div(expm1(mul(?x, ?z)), mul(?x, ?z)), div(expm1(mul(?y, ?z)), mul(?y, ?z))), "
    "div(?x, ?y))",
    stable,
    "the products may underflow, which leaves 0 / 0; what they share cancels",
    roots=("div", "mul"),
    factors=("expm1",),
    divisors=("expm1",),
    # near zero the form that is built is a series, which a text cannot say
    domain={"x": (1.0, 50.0), "y": (1.0, 50.0), "z": (0.1, 1.0)},
    loss=10.0,
)
def expm1_over_expm1(value: Value) -> Value | None:
    """Cancel what the arguments of two small expm1 share."""
    if not value.type.dtype.is_float:
        return None
    entire = product(value)
    for above in _expm1s(entire.above):
        for below in _expm1s(entire.below):
            upper, lower = (parts(one)[1][0] for one in (above, below))
            p, q = product(upper), product(lower)
            shared = common_factors(p, q)
            if not shared.above or not (p.coefficient and q.coefficient):
                continue
            left, right = p.without(shared).times(p.coefficient), q.without(shared)
            if not (left.above or left.below) or not (right.above or right.below):
                continue  # one is a multiple of the other
            rest = entire.without(Product(Fraction(1), (above,), (below,)))
            x, y = build.fence(upper), build.fence(lower)
            small = build.lt(build.maximum(build.abs(x), build.abs(y)), _START)
            line = left * right.times(q.coefficient).reciprocal
            near = whole(build.div(_start(x), _start(y))) * line
            far = build.div(build.expm1(x), build.expm1(y))
            made = build.select(small, near.value(value), far)
            return (rest.times(entire.coefficient) * whole(made)).value(value)
    return None


@procedure(
    "expm1-of-sum-over-both",
    "div(expm1(add(?x, ?y)), mul(expm1(?x), expm1(?y))) => coth_sum(?x, ?y, 1)",
    stable,
    "in derivatives the quotients of each factor cancel; as a sum of a function of x and one of y "
    "it has derivatives that do not",
    roots=("div", "mul"),
    factors=("expm1",),
    domain={"x": (0.1, 50.0), "y": (0.1, 50.0), "t": (0.1, 10.0)},
    loss=10.0,
    examples=[
        "div(expm1(add(?x, ?y)), mul(expm1(?x), expm1(?y))) => coth_sum(?x, ?y, 1)",
        "div(mul(?t, expm1(mul(add(?x, ?y), ?t))), mul(expm1(mul(?x, ?t)), expm1(mul(?y, ?t)))) "
        "=> coth_sum(?x, ?y, ?t)",
        "div(mul(expm1(?x), expm1(?y)), expm1(add(?x, ?y))) => div(1, coth_sum(?x, ?y, 1))",
    ],
)
def expm1_of_sum_over_both(value: Value) -> Value | None:
    """Take the quotient of expm1 of a sum and of expm1 of both terms as one function."""
    if not value.type.dtype.is_float:
        return None
    entire = product(value)
    made = _coth_sum(entire, value)
    if made is None and entire.coefficient:
        made = _coth_sum(entire.reciprocal, value)
        made = None if made is None else made.reciprocal
    return None if made is None else made.value(value)


def _coth_sum(entire: Product, like: Value) -> Product | None:
    below = _expm1s(entire.below, twice=True)
    for above in _expm1s(entire.above):
        total = polynomial(parts(above)[1][0])
        for first, second in combinations(below, 2):
            p, q = parts(first)[1][0], parts(second)[1][0]
            if (polynomial(p) + polynomial(q) - total).terms:
                continue
            rest = entire.without(Product(Fraction(1), (above,), (first, second)))
            t = common_factors(rest, common_factors(product(p), product(q)))
            x, y = (
                product(one).without(t).times(product(one).coefficient).value(like)
                for one in (p, q)
            )
            made = build.coth_sum(x, y, t.value(like))
            return rest.without(t).times(entire.coefficient) * whole(made)
    return None


def _expm1s(factors: tuple[Value, ...], twice: bool = False) -> list[Value]:
    kept = factors if twice else dict.fromkeys(factors)
    return [factor for factor in kept if parts(factor)[0] == "expm1"]


RULES = [
    power_less_one,
    power_of_one_plus,
    expm1_of_sum_over_both,
    expm1_over_argument,
    expm1_over_expm1,
]
