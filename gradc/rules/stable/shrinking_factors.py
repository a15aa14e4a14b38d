"""The stable rule that multiplies what may be 0 first, before squares that may overflow."""

from __future__ import annotations

from fractions import Fraction

from gradc.rules.engine import procedure, stable
from gradc.rules.factors import Product, product
from gradc.rules.forms import operand_of
from gradc.rules.stable.quotient_of_exponentials import (
    chosen_exponent,
    equal_factors,
    is_folded,
    product_of,
)
from gradc_ir import build
from gradc_ir.graph import Value


@procedure(
    "shrinking-factor-first",
    "mul(mul(?x, ?x), exp(?y)) => mul(mul(exp(?y), ?x), ?x)",
    stable,
    "a square overflows where the exponential is 0; for exponents that a growth was folded to, in "
    "each term of a sum and each choice of a select",
    roots=("mul",),
    loss=2.0,
    examples=[
        "mul(mul(?x, ?x), exp(select(lt(0, ?x), neg(?x), ?x))) => "
        "mul(mul(exp(select(lt(0, ?x), neg(?x), ?x)), ?x), ?x)",
    ],
)
def shrinking_factor_first(value: Value) -> Value | None:
    """Multiply what may be 0 by single factors, before these are multiplied to squares."""
    if not value.type.dtype.is_float or not any(map(_may_shrink, value.operands)):
        return None
    whole = product(value)
    shrinking = tuple(factor for factor in whole.above if _is_shrinking(factor))
    if not shrinking:
        return None
    rest = whole.without(Product(Fraction(1), shrinking)).times(whole.coefficient)
    for i, factor in enumerate(rest.above):
        made = _distributed(product_of(list(shrinking)), factor)
        if made is not None:
            others = (*rest.above[:i], *rest.above[i + 1 :])
            return Product(rest.coefficient, (made, *others), rest.below).value(value)
    if not _squares_before(value, shrinking):
        return None
    leaves = tuple(leaf for factor in rest.above for leaf in equal_factors(factor))
    return Product(rest.coefficient, (*shrinking, *leaves), rest.below).value(value)


def _may_shrink(operand: Value) -> bool:
    return _is_shrinking(operand) or operand.op.name in ("mul", "div", "neg")


def _is_shrinking(factor: Value) -> bool:
    """Whether a factor is exp(m), or that where x is large and 1 elsewhere."""
    exponent = operand_of(factor, "exp")
    if exponent is not None:
        return is_folded(exponent)
    return chosen_exponent(factor) is not None


def _distributed(shrinking: Value, factor: Value) -> Value | None:
    """Return a sum or a choice of products with squares, each times the shrinking factor."""
    name = factor.op.name
    if name not in ("add", "sub", "select"):
        return None
    parts = factor.operands[1:] if name == "select" else factor.operands
    if not any(_has_square(part) for part in parts):
        return None
    made = [shrinking * part for part in parts]
    return build.apply(name, *factor.operands[: len(factor.operands) - 2], *made)


def _has_square(value: Value) -> bool:
    if value.op.name == "select":
        return any(_has_square(part) for part in value.operands[1:])
    leaves = [leaf for factor in product(value).above for leaf in equal_factors(factor)]
    return len(set(leaves)) < len(leaves) or any(
        leaf.op.name in ("select", "add", "sub") and _has_square(leaf)
        for leaf in leaves
        if leaf is not value
    )


def _squares_before(value: Value, shrinking: tuple[Value, ...]) -> bool:
    """Whether equal factors of a product are multiplied before all shrinking ones are."""
    if value.op.name not in ("mul", "div", "neg"):
        return value.op.name == "power" and len(equal_factors(value)) > 1
    above = product(value).above
    if not all(factor in above for factor in shrinking):
        leaves = [leaf for factor in above for leaf in equal_factors(factor)]
        if len(set(leaves)) < len(leaves):
            return True
    operands = value.operands[:1] if value.op.name == "div" else value.operands
    return any(_squares_before(operand, shrinking) for operand in operands)


RULES = [shrinking_factor_first]
