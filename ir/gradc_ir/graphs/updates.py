"""Elements that are read, added to and written back: an addition where they are."""

from __future__ import annotations

from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.graphs.rearrange import scalar_constant


def add_in_place(value: Value) -> Value | None:
    """Turn ``x`` with ``x[i] + y`` at ``i`` into ``x`` with ``y`` added at ``i``.

    The same bits, and reverse mode hands the cotangent of the array on as it is: it need not take
    out what was overwritten and put back what was read of it. At several indices two may be one
    place, of which the last is to win: these stay, as do integers, and what is at known places, of
    which a loop may need a part alone.
    """
    base, part, *indices = value.node.operands
    if part.op.name not in ("add", "sub") or not value.type.dtype.is_float:
        return None
    if any(index.type.rank or scalar_constant(index) is not None for index in indices):
        return None
    axes = value.node.attributes["axes"]

    def is_read(operand: Value) -> bool:
        node = operand.node
        return (
            node.op.name == "gather"
            and node.operands == (base, *indices)
            and node.attributes["axes"] == axes
        )

    left, right = part.node.operands
    if is_read(left):
        added = right if part.op.name == "add" else -right
    elif part.op.name == "add" and is_read(right):
        added = left
    else:
        return None
    return build.scatter_add(base, added, indices, axes)
