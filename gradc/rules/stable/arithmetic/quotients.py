"""A stable rule for quotients of squares, and powers written as products."""

from __future__ import annotations

from collections import Counter

from gradc.rules.engine import procedure, stable
from gradc_ir.core.graph import Value
from gradc_ir.core.types import DType
from gradc_ir.graphs.rearrange import scalar_constant
from gradc_ir.ranges.knowledge import is_within

_DEPTH = 4
_HIGHEST = 3


@procedure(
    "quotient-of-squares",
    "div(mul(?x, ?x), mul(?y, ?y)) => mul(div(?x, ?y), div(?x, ?y))",
    stable,
    "each square over- or underflows although their quotient does not",
    on="div: mul neg",
    loss=1.0,
    examples=[
        "div(mul(?x, ?x), mul(?y, ?y)) => mul(div(?x, ?y), div(?x, ?y))",
        "div(mul(3, mul(?x, ?x)), mul(?y, ?y)) => mul(3, mul(div(?x, ?y), div(?x, ?y)))",
        "div(mul(?x, ?x), mul(2, mul(?y, ?y))) => div(mul(div(?x, ?y), div(?x, ?y)), 2)",
    ],
)
def quotient_of_squares(value: Value) -> Value | None:
    """Square the quotient instead of dividing squares."""
    above, below = (power_of(operand) for operand in value.operands)
    if above is None or below is None or above[1] != 2 or below[1] != 2:
        return None
    if _is_moderate(above[0]) and _is_moderate(below[0]):
        return None
    quotient = above[0] / below[0]
    # numbers come first, since the square may leave the range
    made = quotient if above[2] == 1 else quotient * above[2]
    return (made if below[2] == 1 else made / below[2]) * quotient


def power_of(value: Value) -> tuple[Value, int, float] | None:
    """Return x, n and c when a value is ``c * x * x …`` of n equal factors, at least two.

    The factor x may be a product itself.
    """
    if not value.type.dtype.is_float:
        return None
    if value.op.name == "mul" and value.operands[0] is value.operands[1]:
        return value.operands[0], 2, 1.0
    factors: Counter[Value] = Counter()
    number = _gather(value, factors, _DEPTH)
    counts = set(factors.values())
    if number is None or len(counts) != 1 or not 2.0**-60 < abs(number) < 2.0**60:
        return None
    (count,) = counts
    if not 2 <= count <= _HIGHEST:
        return None
    base, *others = factors
    for factor in others:
        base = base * factor
    return base, count, number


def _gather(value: Value, factors: Counter[Value], depth: int) -> float | None:
    """Count the factors of a product that are no numbers; returns the product of those that are."""
    number = scalar_constant(value)
    if number is not None:
        return float(number)
    if value.op.name == "neg":
        inner = _gather(value.operands[0], factors, depth)
        return None if inner is None else -inner
    if value.op.name != "mul" or not depth:
        factors[value] += 1
        return 1.0
    parts = [_gather(operand, factors, depth - 1) for operand in value.operands]
    return None if parts[0] is None or parts[1] is None else parts[0] * parts[1]


def _is_moderate(base: Value) -> bool:
    """Whether powers of a number surely neither over- nor underflow, but at zero."""
    high = 1e70 if base.type.dtype is DType.F64 else 1e9
    return is_within(base, 1 / high, high) or is_within(base, -high, -1 / high)


RULES = [quotient_of_squares]
