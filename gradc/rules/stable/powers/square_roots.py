"""Stable rules for square roots of products that have squares among their factors."""

from __future__ import annotations

from gradc.rules.algebra.factors import Product, product, whole
from gradc.rules.engine import POSITIVE, procedure, rule, stable
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.matching.pattern import Match
from gradc_ir.ranges import knowledge


@procedure(
    "sqrt-of-square",
    "sqrt(mul(?x, ?x)) => abs(?x)",
    stable,
    "the square over- and underflows although its root does not, which has no slope at zero; "
    "other factors must be known not to be negative",
    on="sqrt: mul div neg",
    domain={"z": POSITIVE},
    examples=[
        "sqrt(mul(?x, ?x)) => abs(?x)",
        "sqrt(mul(3, mul(?x, ?x))) => mul(abs(?x), sqrt(3))",
        "sqrt(mul(mul(?x, ?x), exp(?t))) => mul(abs(?x), sqrt(exp(?t)))",
        "sqrt(div(exp(?t), mul(?x, ?x))) => div(sqrt(exp(?t)), abs(?x))",
        "sqrt(div(mul(?x, ?x), mul(?z, ?z))) => div(abs(?x), abs(?z))",
    ],
    loss=0.5,
)
def sqrt_of_square(value: Value) -> Product | None:
    """Take the factors that stand twice out of the root, above the line and below it."""
    entire = product(value.operands[0])
    above, below = _repeated(entire.above), _repeated(entire.below)
    if not (above or below) or entire.coefficient <= 0:
        return None
    rest = entire.without(whole(*above, *above, below=below + below))
    inside = rest.value(value)
    # of a negative number there is no root, but there is of its product that is -0
    if not knowledge.is_nonnegative(inside):
        return None
    outside = [*map(build.abs, above)]
    if rest != whole():
        outside.append(build.sqrt(inside))
    return whole(*outside, below=tuple(map(build.abs, below)))


def _repeated(factors: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return each factor as often as two of it stand there."""
    return tuple(
        factor for factor in dict.fromkeys(factors) for _ in range(factors.count(factor) // 2)
    )


def _is_even(m: Match) -> bool:
    exponent = m.number("c")
    return exponent is not None and exponent != 0 and exponent % 2 == 0


def _is_nonnegative(m: Match) -> bool:
    return m.is_nonnegative("x")


RULES = [
    sqrt_of_square,
    rule("square-of-sqrt", "mul(sqrt(?x), sqrt(?x)) => ?x", stable,
         "two roundings, and no second derivative at zero; for what is known not to be negative",
         when=_is_nonnegative, examples=["mul(sqrt(exp(?t)), sqrt(exp(?t))) => exp(?t)"]),
    rule("square-of-guarded-sqrt",
         "mul(select(eq(?x, 0), ?x, sqrt(?x)), select(eq(?x, 0), ?x, sqrt(?x))) => ?x", stable,
         "the square of a norm: two roundings, and no second derivative at zero",
         when=_is_nonnegative,
         examples=["mul(select(eq(exp(?t), 0), exp(?t), sqrt(exp(?t))), "
                   "select(eq(exp(?t), 0), exp(?t), sqrt(exp(?t)))) => exp(?t)"]),
    rule("sqrt-of-even-power", "sqrt(power(?x, ?c:const)) => power(abs(?x), ?c / 2)", stable,
         "the power over- and underflows although its root does not", when=_is_even,
         examples=["sqrt(power(?x, 6)) => power(abs(?x), 3.0)"], loss=1.0),
]  # fmt: skip
