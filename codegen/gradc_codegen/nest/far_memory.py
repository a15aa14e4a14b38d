"""Which arrays are far away from the processor, and which rows of them a loop reads in turn."""

from __future__ import annotations

from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.types import Type
from gradc_ir.graphs.control_flow import Roles

LINE = 64  # bytes that come from memory at once
# Smaller arrays are near anyway.
_LEAST_BYTES = 1 << 20
# What follows sooner a processor sees by itself; what follows later is gone again until then.
_SHORTEST_ROW, _LONGEST_ROW = 1 << 12, 1 << 18


def is_far(type_: Type) -> bool:
    """Whether an array may be in no cache near the processor."""
    count = type_.count
    return not isinstance(count, int) or count * type_.dtype.bytes >= _LEAST_BYTES


def has_far_rows(type_: Type, in_strips: bool) -> bool:
    """Whether one row of an array is far from the one before, and near it in time.

    ``in_strips``: whether but a piece of each is read.
    """
    row = type_.with_shape(type_.shape[1:])
    if not is_far(type_) or not isinstance(row.count, int):
        return False
    bytes_ = row.count * row.dtype.bytes
    return bytes_ >= _SHORTEST_ROW and (in_strips or bytes_ <= _LONGEST_ROW)


def numbers_of_steps(loop: Node, body: Function, in_strips: bool) -> dict[Value, int]:
    """Return the parameters of a scan's body that number its steps, and by how much they go up.

    Back through a strip is no way to go: what is read there was read on the way forward.
    """
    roles = Roles.of(loop)
    if loop.op.name != "scan" or roles is None or (loop.attributes["reverse"] and in_strips):
        return {}
    rows = list(zip(body.params, loop.operands[roles.first :]))[roles.end :]
    by = -1 if loop.attributes["reverse"] else 1
    return {param: by for param, row in rows if row.op.name == "iota"}
