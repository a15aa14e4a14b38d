"""Stable rules for quotients whose two sides are functions of an argument and of its double."""

from __future__ import annotations

from fractions import Fraction

from gradc.rules.algebra.factors import Product, either_way, product, whole
from gradc.rules.algebra.parts import made_by, parts
from gradc.rules.algebra.polynomial import polynomial
from gradc.rules.engine import procedure, rule, stable
from gradc_ir import build
from gradc_ir.core.graph import Value

_MOST_TIMES = 4


def _ratio(one: Value, other: Value) -> Fraction | None:
    """Return how many times the operand of a function is that of another one."""
    (x, *_), (y, *_) = parts(one)[1], parts(other)[1]
    return polynomial(x).ratio(polynomial(y))


@procedure(
    "tangent-of-half",
    "div(mul(sin(?x), sin(?x)), sin(mul(?x, 2))) => mul(tan(?x), 0.5)",
    stable,
    "0 / 0 near zero; 1 - cos(2x) is 2 * sin(x) * sin(x)",
    on="div mul: sin / sin",
    examples=[
        "div(mul(sin(?x), sin(?x)), sin(mul(?x, 2))) => mul(tan(?x), 0.5)",
        "div(sin(mul(?x, 2)), mul(sin(?x), sin(?x))) => div(2, tan(?x))",
    ],
)
def tangent_of_half(value: Value) -> Product | None:
    """Cancel the sine of an angle against the square of the sine of its half."""
    return either_way(value, _without_squares)


def _without_squares(entire: Product) -> Product | None:
    for half in made_by("sin", entire.above):
        for sine in made_by("sin", entire.below):
            angle = parts(half)[1][0]
            if entire.above.count(half) < 2 or _ratio(sine, half) != 2:
                continue
            rest = entire.without(whole(half, half, below=(sine,)))
            return whole(build.tan(angle)) * rest.times(Fraction(1, 2))
    return None


@procedure(
    "expm1-of-multiple",
    "div(expm1(mul(?x, 2)), expm1(?x)) => add(exp(?x), 1)",
    stable,
    "the upper side overflows first, and derivatives of the quotient cancel near zero",
    on="div mul: expm1 / expm1",
    examples=[
        "div(expm1(mul(?x, 2)), expm1(?x)) => add(exp(?x), 1)",
        "div(expm1(?x), expm1(mul(?x, 2))) => div(1, add(exp(?x), 1))",
        "div(expm1(mul(?x, 3)), expm1(?x)) => add(mul(exp(?x), add(exp(?x), 1)), 1)",
    ],
)
def expm1_of_multiple(value: Value) -> Product | None:
    """Divide exp(n*x) - 1 by exp(x) - 1: the geometric series."""
    entire = product(value)
    for one in made_by("expm1", entire.above):
        for other in made_by("expm1", entire.below):
            times = _ratio(one, other)
            if times is None:
                continue
            rest = entire.without(whole(one, below=(other,)))
            if times in range(2, _MOST_TIMES + 1):
                series = _series(parts(other)[1][0], int(times))
                return whole(series) * rest
            if times and 1 / times in range(2, _MOST_TIMES + 1):
                series = _series(parts(one)[1][0], int(1 / times))
                return rest * whole(below=(series,))
    return None


def _series(exponent: Value, count: int) -> Value:
    """Return 1 + e + e*e … , ``count`` terms, e the exponential."""
    base = build.exp(exponent)
    made = base + 1.0
    for _ in range(count - 2):
        made = base * made + 1.0
    return made


RULES = [
    rule("sin-over-one-plus-cos", "div(sin(?x), add(cos(?x), 1)) => tan(mul(?x, 0.5))", stable,
         "0 / 0 where the cosine is -1"),
    tangent_of_half,
    expm1_of_multiple,
]  # fmt: skip
