"""How much work a loop is, as a polynomial in the sizes: the cheap operations of all iterations.

What runs in lanes does some thirty of them in a nanosecond; anything else is counted several times.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradc_codegen.arrays.whole_array_ops import WHOLE
from gradc_codegen.nest.loop_nest import (
    Item,
    Loop,
    LoopNest,
    Statement,
    StatementKind,
    statements_of,
)
from gradc_codegen.nest.strips import of_all_strips
from gradc_codegen.scalar.lower_scalar import is_function
from gradc_codegen.schedule.formulas import operations_of
from gradc_ir.core.graph import Node
from gradc_ir.core.sizes import TAPE, Size, product

# how many cheap operations a function such as exp is
_FUNCTION = 16
# how much longer an operation takes outside of lanes, where LLVM may still join some
_ALONE = 4


def work_of(nest: LoopNest, body: Sequence[Item]) -> Size:
    """Return about how many cheap operations the items of a nest are."""
    return sum((_operations(nest, statement) for statement in statements_of(body)), start=0)


def work_of_one(loop: Loop) -> Size:
    """Return about how many cheap operations one iteration of a loop is."""
    total: Size = 0
    for statement in statements_of(loop.body):
        own = next(dim for around, dim in statement.loops if around is loop)
        others = (size for dim, size in enumerate(statement.dims) if dim != own)
        total += _weight(statement) * product(others)
    return total


def _operations(nest: LoopNest, statement: Statement) -> Size:
    if statement.kind is not StatementKind.WHOLE:
        return _weight(statement) * product(statement.dims)
    bodies = nest.bodies.get(statement.node)
    if bodies is None:
        return WHOLE[statement.node.op.name].work(statement.node)
    work = sum((work_of(each, each.body) for each in bodies), start=0)
    return _steps(statement.node) * of_all_strips(statement.node, work)


def _steps(node: Node) -> Size:
    """Return how many steps a loop has at most; of one that nobody knows of, one."""
    length: Size | None = node.attributes["length"] if node.op.name == "scan" else None
    return 1 if length is None or length == TAPE else length


def _weight(statement: Statement) -> int:
    """Return how many operations it is at one point of its dims."""
    in_lanes = any(loop.block > 1 for loop, _ in statement.loops)
    return _count(statement) * (1 if in_lanes else _ALONE)


def _count(statement: Statement) -> int:
    node = statement.node
    own = _FUNCTION if is_function(node) else 1
    if node.op.family == "unbounded":
        own = operations_of(node)
    return own + len(statement.inputs) + len(statement.sources)
