"""Takes out of branches and loops what is decided already, and puts into them what is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from gradc_ir import build
from gradc_ir.core.builder import rebuilt
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.types import DType
from gradc_ir.graphs.rearrange import scalar_constant
from gradc_ir.passes.bodies import Operands, outside, param_place, same_known, specialise
from gradc_ir.passes.contained import join_contained
from gradc_ir.passes.trips import Scan, While
from gradc_ir.pipeline import PlainPass

Simplifier: TypeAlias = Callable[[Node, Sequence[Value]], Sequence[Value]]


class SimplifyControl(PlainPass):
    """Changes no bit of any result; what is left out because nobody needs it cannot fail.

    A branch whose condition is known, or whose two sides are equal, and a loop of no step or one,
    give way to what they hold. Constants among the operands stand in the bodies instead, where
    rules and folding see them; operands, carries and results that are equal are one; a row that is
    the same at every step is no row. What another loop or branch does along with more it does
    alone.
    """

    name = "control"
    summary = "decide branches and loops that constants decide, put constants into bodies"

    def __call__(self, function: Function) -> Function:
        """Return the function with simpler control flow."""
        if not any(node.op.name in _SIMPLIFIERS for node in function.nodes):
            return function
        made = rebuilt(
            function,
            lambda node: node.op.name in _SIMPLIFIERS,
            lambda node, operands: _SIMPLIFIERS[node.op.name](node, operands),
        )
        return join_contained(made)


def _cond(node: Node, operands: Sequence[Value]) -> Sequence[Value]:
    pred, *given = operands
    then, otherwise = node.attributes["then"], node.attributes["otherwise"]
    if pred.op.name == "logical_not":
        pred, then, otherwise = pred.operands[0], otherwise, then
    known = scalar_constant(pred)
    if known is not None:
        return build.active().inline(_simplify(then if known else otherwise), given)
    taken = Operands()
    # a branch knows its condition
    places = [None if operand is pred else taken.take(operand) for operand in given]
    branches = []
    for branch, truth in ((then, True), (otherwise, False)):
        told = build.constant(truth, DType.BOOL)
        inner = [told if place is None else place for place in places]
        branches.append(_simplify(specialise(branch, inner, len(taken.values))))
    then, otherwise = branches
    if then == otherwise:
        return build.active().inline(then, taken.values)
    made = build.cond(pred, then, otherwise, taken.values)
    first: dict[tuple[Value, Value], Value] = {}
    results = []
    for left, right, result in zip(then.results, otherwise.results, made):
        one = outside(left, taken.values) if _same(left, right) else None
        results.append(first.setdefault((left, right), result) if one is None else one)
    return results


def _same(left: Value, right: Value) -> bool:
    """Whether results of two branches are the same operand, or the same constant."""
    place = param_place(left)
    return same_known(left, right) if place is None else place == param_place(right)


def _checkpoint(node: Node, operands: Sequence[Value]) -> Sequence[Value]:
    taken = Operands()
    places = [taken.take(operand) for operand in operands]
    body = _simplify(specialise(node.attributes["body"], places, len(taken.values)))
    made = build.checkpoint(body, taken.values)
    found = [outside(end, taken.values) for end in body.results]
    return [result if one is None else one for one, result in zip(found, made)]


_simplify = SimplifyControl()
_SIMPLIFIERS: dict[str, Simplifier] = {
    "checkpoint": _checkpoint,
    "cond": _cond,
    "scan": lambda node, operands: Scan.of(node, operands).simplified(_simplify),
    "while": lambda node, operands: While.of(node, operands).simplified(_simplify),
}
