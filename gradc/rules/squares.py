"""The difference of two squares under a root or a fraction line, as a product of two sums.

One of the last rules: the derivative of the product would be a sum that cancels.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from gradc.rules.apart import terms
from gradc.rules.engine import procedure, stable
from gradc.rules.factors import Product
from gradc_ir import build
from gradc_ir.graph import Value

# Which operand of an op magnifies the error of a difference that is small.
_OPERANDS = {"sqrt": 0, "div": 1, "power": 0}


@procedure(
    "difference-of-squares",
    "sqrt(sub(?y, mul(?x, ?x))) => sqrt(mul(sub(sqrt(?y), ?x), add(sqrt(?y), ?x)))",
    stable,
    "the squares round, which is all there is where they are close; for a number that is a square, "
    "and for other squares",
    roots=_OPERANDS,
    direct=("add", "sub"),
    examples=[
        "div(1, sub(4, mul(?x, ?x))) => div(1, mul(sub(2, ?x), add(?x, 2)))",
        "div(1, sub(mul(?x, ?x), mul(?y, ?y))) => div(1, mul(sub(?x, ?y), add(?x, ?y)))",
    ],
)
def difference_of_squares(value: Value) -> Value | None:
    """Take a difference of squares apart where what is made of it magnifies its rounding."""
    place = _OPERANDS[value.op.name]
    operands = list(value.operands)
    inner = operands[place]
    if inner.op.name not in ("add", "sub") or not value.type.dtype.is_float:
        return None
    first, second = terms(inner)
    if first.coefficient * second.coefficient >= 0:
        return None
    a, b = _root(first, inner), _root(second, inner)
    if a is None or b is None or a is b:
        return None
    if first.coefficient < 0:
        a, b = b, a
    operands[place] = build.mul(build.sub(a, b), build.add(a, b))
    return build.apply(value.op.name, *operands)


def _root(one: Product, like: Value) -> Value | None:
    """Return what a product without its sign is the square of."""
    size = abs(one.coefficient)
    root = Fraction(isqrt(size.numerator), isqrt(size.denominator))
    if one.below or root * root != size or float(root) != root:
        return None
    if not one.above:
        return build.full_like(like, float(root))
    if len(one.above) != 2 or one.above[0] is not one.above[1]:
        return None
    return one.above[0] if root == 1 else build.mul(one.above[0], float(root))
