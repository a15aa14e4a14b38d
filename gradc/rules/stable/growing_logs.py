"""Stable rules for logarithms of products in which a sum grows exponentially."""

from __future__ import annotations

from gradc.rules.engine import procedure, stable
from gradc.rules.factors import Product, product
from gradc.rules.stable.quotient_of_exponentials import Folded, Growth, growth
from gradc_ir import build
from gradc_ir.graph import Value
from gradc_ir.types import DType


@procedure(
    "log-of-growing-factor",
    "log(mul(?a, add(?p, mul(?b, exp(?x))))) => "
    "add(?x, log(mul(?a, add(mul(?p, exp(neg(?x))), ?b))))",
    stable,
    "exp overflows although its logarithm is about x; here for large x, while for the others "
    "nothing changes",
    roots=("log",),
    domain={"a": (1.0, 2.0), "p": (1.0, 2.0), "b": (1.0, 2.0), "x": (1.5, 80.0)},
    loss=2.0,
    examples=[
        "log(mul(?a, add(?p, mul(?b, exp(?x))))) => "
        "add(?x, log(mul(?a, add(mul(?p, exp(neg(?x))), ?b))))",
        "log(div(mul(?a, expm1(?x)), ?x)) => add(?x, log(div(mul(?a, neg(expm1(neg(?x)))), ?x)))",
        "log(div(?a, expm1(?x))) => sub(log(div(?a, neg(expm1(neg(?x))))), ?x)",
    ],
)
def log_of_growing_factor(value: Value) -> Value | None:
    """Take the growth of factors out of the logarithm, where it may overflow."""
    if not value.type.dtype.is_float:
        return None
    entire = product(value.operands[0])
    sides = []
    exponent: Value | None = None
    for factors, sign in ((entire.above, 1), (entire.below, -1)):
        scaled = []
        for factor in factors:
            found = growth(factor)
            if found is None or found.both_sides:
                scaled.append(factor)
                continue
            large = build.full_like(factor, 40 if value.type.dtype is DType.F32 else 300)
            folded = Folded(found.folded.x, large)
            scaled.append(Growth(found.terms, folded, False).scaled())
            term = folded.choose(folded.x, build.zeros_like(folded.x))
            term = term if sign > 0 else -term
            exponent = term if exponent is None else exponent + term
        sides.append(tuple(scaled))
    if exponent is None:
        return None
    rest = Product(entire.coefficient, *sides).value(value)
    return exponent + build.log(rest)


RULES = [log_of_growing_factor]
