"""Sums whose addends are zero where a mask says so, as the derivative of a minimum is."""

from __future__ import annotations

from gradc_codegen.nest.index_maps import index_maps
from gradc_codegen.nest.loop_nest import Statement, StatementKind
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Value


class Mask(NamedTuple):
    """Where the addends of a sum are any number; elsewhere they are 0.0.

    Parameters
    ----------
    value: what says so.
    dims: for each axis of it the dim of the sum's statement that is its index.
    holds: whether it is where the mask holds, or where it does not.
    """

    value: Value
    dims: tuple[int, ...]
    holds: bool


def mask_of(statement: Statement) -> Mask | None:
    """Return the mask of a sum's addends, None if they have none."""
    node = statement.node
    if statement.kind is not StatementKind.REDUCE or node.op.name != "reduce_sum":
        return None
    addend = node.operands[0]
    if addend.op.name != "select":
        return None
    condition, where, elsewhere = addend.operands
    holds = _is_zero(elsewhere)
    if not holds and not _is_zero(where):
        return None
    dims = index_maps(node)[0]
    while condition.op.name == "broadcast":
        dims = tuple(dims[axis] for axis in condition.node.attributes["axes"])
        condition = condition.operands[0]
    known = tuple(dim for dim in dims if isinstance(dim, int))
    return Mask(condition, known, holds) if len(known) == len(dims) else None


def addend_of(statement: Statement) -> Value:
    """Return what a sum of a mask joins where the mask leaves it."""
    mask = mask_of(statement)
    assert mask is not None
    return statement.node.operands[0].operands[1 if mask.holds else 2]


def _is_zero(value: Value) -> bool:
    """Whether a value is a positive zero everywhere."""
    while value.op.name == "broadcast":
        value = value.operands[0]
    if value.op.name != "constant":
        return False
    array = value.node.attributes["value"].array
    return array.ndim == 0 and not any(array.tobytes())
