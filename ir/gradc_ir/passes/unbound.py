"""Gives formulas exponents without bound, where a product on the way may leave the range."""

from __future__ import annotations

from collections.abc import Sequence

from gradc_ir import build
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.walk import changed_bodies
from gradc_ir.graphs.rearrange import scalar_constant
from gradc_ir.passes.formulas import Group, grouped, is_tame, rebuilt
from gradc_ir.pipeline import PlainPass
from gradc_ir.wide_exponents.formulas import ARITHMETIC

# What only looks at the sign or the order of a value: for it alone there is no formula, but where
# there is one it reads that, or a condition would choose by another number than the one it is of.
_INDIFFERENT = frozenset({"lt", "le", "eq", "ne", "sign", "stop_gradient"})
_LARGEST_POWER = 64


class UnboundExponents(PlainPass):
    """Makes one op of the arithmetic that a value is made of, where products meet a quotient.

    Over the reals nothing changes, nor does any bit where no step over- or underflows. It is the
    last pass: no rule looks into a formula.
    """

    name = "unbound"
    summary = "let formulas over- and underflow only in their results"

    def __call__(self, function: Function) -> Function:
        """Return the function with formulas in place of what may leave the range on the way."""
        bodies = changed_bodies(function, self)
        groups = grouped(function, _chosen(function), is_arithmetic, chained=True)
        if not groups and not bodies:
            return function
        return rebuilt(function, groups, bodies, _keeps, _leaves, _made)


def _keeps(node: Node) -> bool:
    return False


def _leaves(group: Group) -> Sequence[Value]:
    return group.leaves


def _made(group: Group, place: int, leaves: list[Value]) -> Value:
    return build.apply("unbounded", *group.starts(leaves), body=group.body, result=place)


def is_arithmetic(node: Node) -> bool:
    """Whether a node may be a step of a formula."""
    if node.op.name not in ARITHMETIC or not node.results[0].type.dtype.is_float:
        return False
    if node.op.name != "power":
        return True
    exponent = scalar_constant(node.operands[1])
    return exponent is not None and exponent in range(2, _LARGEST_POWER + 1)


def _chosen(function: Function) -> list[Value]:
    """Return the values that are read as numbers of their own, and need a formula."""
    if not any([node.op.name in ("div", "sqrt") for node in function.nodes]):
        return []
    depth: dict[Value, int] = {}
    divides: dict[Value, bool] = {}
    needs: dict[Value, bool] = {}
    wanted: dict[Value, None] = {}
    for node in function.nodes:
        if not is_arithmetic(node):
            if node.op.name not in _INDIFFERENT:
                read = len(node.operands) - node.attributes.get("guards", 0)
                wanted.update(dict.fromkeys(node.operands[:read]))
            continue
        value = node.results[0]
        name = node.op.name
        tame = [is_tame(operand) for operand in node.operands]
        deepest = max([depth.get(operand, 0) for operand in node.operands])
        multiplies = name in ("div", "power") or (name == "mul" and not any(tame))
        depth[value] = deepest + (multiplies and not (name == "div" and tame[1]))
        divides[value] = (name == "sqrt" or (name == "div" and not tame[1])) or any(
            [divides.get(operand, False) for operand in node.operands]
        )
        needs[value] = ((multiplies or name == "sqrt") and deepest > 0) or any(
            [needs.get(operand, False) for operand in node.operands]
        )
    wanted.update(dict.fromkeys(function.results))
    return [x for x in wanted if needs.get(x, False) and divides[x]]
