"""Which sides of a branch both run, to choose from: those that cost less than a jump."""

from __future__ import annotations

from gradc_ir.core.graph import Function
from gradc_ir.graphs.cost import work
from gradc_ir.graphs.failing import may_fail

# A jump, and what it costs that nothing is fused across it, in cheap operations.
_MOST_WORK = 24


def is_cheap(function: Function) -> bool:
    """Whether a side may as well be computed where it is not taken: it is small and cannot fail."""
    total = 0
    for node in function.body:
        if may_fail(node) or not (node.op.is_elementwise or node.op.name in _FREE):
            return False
        total += work(node)
        if total > _MOST_WORK:
            return False
    return True


_FREE = frozenset({"constant", "broadcast", "reshape", "cast", "iota"})
