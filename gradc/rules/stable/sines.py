"""The stable rule for the other side of a triangle, sqrt(1 - x * x), as derivatives write it."""

from __future__ import annotations

from fractions import Fraction

from gradc.rules.engine import procedure, stable
from gradc.rules.exact_difference import as_product
from gradc.rules.factors import Product
from gradc.rules.polynomial import ONE, Polynomial, number, parts, polynomial
from gradc_ir import build
from gradc_ir.graph import Value
from gradc_ir.rearrange import scalar_constant


@procedure(
    "other-side",
    "mul(sub(1, sub(1, ?x)), add(sub(1, ?x), 1)) => mul(?x, sub(2, ?x))",
    stable,
    "what differentiation makes of arcsines loses what is next to 1: of a sum, a root, a quotient",
    roots=("mul",),
    direct=("sub",),
    examples=[
        "mul(sub(1, sub(1, ?x)), add(sub(1, ?x), 1)) => mul(?x, sub(2, ?x))",
        "mul(sub(1, div(sub(1, ?y), add(?y, 1))), add(div(sub(1, ?y), add(?y, 1)), 1)) => "
        "mul(div(mul(?y, 2), add(?y, 1)), div(2, add(?y, 1)))",
        "mul(sub(1, sqrt(div(sub(1, ?y), add(?y, 1)))), "
        "add(sqrt(div(sub(1, ?y), add(?y, 1))), 1)) => div(mul(?y, 2), add(?y, 1))",
    ],
    domain={"x": (0.0, 2.0), "y": (0.0, 1.0)},
    loss=2.0,
)
def other_side(value: Value) -> Value | None:
    """Write (1 - x) * (1 + x) without rounding x, where terms of it cancel."""
    sine = _sine(*value.operands) or _sine(*value.operands[::-1])
    if sine is None:
        return None
    name, operands = parts(sine)
    if name == "sqrt":
        # of a sum the two roots of the sides are as good
        return _less(operands[0], value) if parts(operands[0])[0] == "div" else None
    less, more = _less(sine, value), _less(build.neg(sine), value)
    if less is None and more is None:
        return None
    return build.mul(
        build.sub(1.0, sine) if less is None else less,
        build.add(1.0, sine) if more is None else more,
    )


def _sine(less: Value, more: Value) -> Value | None:
    """Return x of 1 - x and 1 + x."""
    if less.op.name != "sub" or more.op.name != "add" or scalar_constant(less.operands[0]) != 1:
        return None
    sine = less.operands[1]
    for one, other in (more.operands, more.operands[::-1]):
        if one is sine and scalar_constant(other) == 1:
            return sine
    return None


def _less(sine: Value, like: Value) -> Value | None:
    """Return 1 - x of a quotient or a sum, when terms cancel."""
    name, operands = parts(sine)
    factor = ONE
    if name == "neg":
        factor = -ONE
        name, operands = parts(operands[0])
        sine = sine.operands[0] if sine.op.name == "neg" else sine
    if name == "div":
        above, below = polynomial(operands[0]).times(factor), polynomial(operands[1])
        rest = _cancelled(below, above)
        if rest is None:
            return None
        return (rest * Product(Fraction(1), (), (operands[1],))).value(like)
    rest = _cancelled(number(1), polynomial(sine).times(factor))
    return None if rest is None else rest.value(like)


def _cancelled(left: Polynomial, right: Polynomial) -> Product | None:
    """Return the difference as a product, when there are terms that only differ by a number."""
    if left.terms.keys().isdisjoint(right.terms):
        return None
    return as_product(left - right)


RULES = [other_side]
