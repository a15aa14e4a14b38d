"""Stable rules for norms along axes: roots of sums of squares of an array's elements."""

from __future__ import annotations

from gradc.rules.algebra.parts import operands_of
from gradc.rules.engine import procedure, stable
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.ops.linalg import parse_spec


@procedure(
    "root-of-sum-of-squares",
    "sqrt(reduce_sum(mul(?x, ?x))) => norm(?x)",
    stable,
    "the squares over- and underflow although the root does not",
    on="sqrt: reduce_sum contract",
)
def root_of_sum_of_squares(value: Value) -> Value | None:
    """Turn the root of a sum of squares along axes into a norm."""
    total = value.operands[0]
    attributes = total.node.attributes
    if total.op.name == "reduce_sum":
        factors = operands_of(total.operands[0], "mul")
        if factors is None or factors[0] is not factors[1]:
            return None
        return build.norm(factors[0], attributes["axes"])
    if total.op.name != "contract" or total.operands[0] is not total.operands[1]:
        return None
    left, right, result = parse_spec(attributes["spec"])
    kept = tuple(label for label in left if label in result)
    if "|" in attributes["spec"] or left != right or "".join(kept) != result:
        return None
    return build.norm(total.operands[0], [i for i, x in enumerate(left) if x not in result])


@procedure(
    "square-of-norm",
    "mul(norm(?x), norm(?x)) => reduce_sum(mul(?x, ?x))",
    stable,
    "no root is rounded, and the derivative is a product",
    on="mul: norm",
)
def square_of_norm(value: Value) -> Value | None:
    """Turn the square of a norm into the sum of squares that it is the root of."""
    norm, other = value.operands
    if norm is not other or norm.op.name != "norm":
        return None
    x = norm.operands[0]
    return build.reduce_sum(x * x, norm.node.attributes["axes"])


RULES = [root_of_sum_of_squares, square_of_norm]
