"""The last rule for exponentials of products, which are handed both factors of their exponent."""

from __future__ import annotations

import math

from gradc.rules.engine import procedure, stable
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.graphs.rearrange import peel, rearrange, scalar_constant


@procedure(
    "exp-of-product",
    "exp(mul(?x, ?y)) => exp_product(?x, ?y)",
    stable,
    "exp magnifies the rounding of a large exponent, up to ten bits of the result",
    on="exp: mul neg",
    examples=[
        "exp(mul(?x, ?y)) => exp_product(?x, ?y)",
        "exp(neg(mul(?x, ?x))) => exp_product(neg(?x), ?x)",
        "exp(mul(mul(?x, ?x), -0.5)) => exp_product(mul(?x, -0.5), ?x)",
    ],
)
def exp_of_product(value: Value) -> Value | None:
    """Hand an exponential both factors of its exponent; a power of two goes into one of them.

    A product with nothing but powers of two is not rounded.
    """
    exponent, moves = peel(value.operands[0])
    factor = 1.0
    while exponent.op.name in ("neg", "mul"):
        if exponent.op.name == "neg":
            factor, exponent = -factor, exponent.operands[0]
            continue
        left, right = exponent.operands
        number = scalar_constant(right)
        if number is None or not _is_binary(number):
            scaled = left if factor == 1 else left * factor
            return rearrange(build.exp_product(scaled, right), moves)
        factor, exponent = factor * number, left
    return None


def _is_binary(number: float) -> bool:
    """Whether a number is a power of two of moderate size."""
    return abs(math.frexp(number)[0]) == 0.5 and 2.0**-20 < abs(number) < 2.0**20


RULES = [exp_of_product]
