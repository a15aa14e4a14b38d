"""The ops, declared by family with all that is a fact about an op; ``ops.NAME`` is the op called
NAME.
"""

from gradc_ir.core.op import TABLE, Op
from gradc_ir.ops import (
    composed,
    control,
    elementwise,
    factor,
    foreign,
    index,
    linalg,
    order,
    reduce,
    shape,
    special,
    unbounded,
)

__all__ = ["FAMILIES", "TABLE"]

FAMILIES = (
    *(elementwise, composed, special, unbounded, reduce, shape, index, order, linalg, factor),
    *(foreign, control),
)  # fmt: skip


def __getattr__(name: str) -> Op:
    """Return the op of a name; ``ops.while_`` is the one whose name is a keyword."""
    found = TABLE.get(name.removesuffix("_"))
    if found is None:
        raise AttributeError(f"there is no op {name}")
    return found
