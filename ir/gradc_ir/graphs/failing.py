"""Which nodes may fail while a program runs, or never end."""

from __future__ import annotations

from gradc_ir.core.graph import Function, Node
from gradc_ir.graphs.affine import reads_of


def may_fail(node: Node) -> bool:
    """Whether running a node may end in an error, or not end: it must not run where it did not.

    An index may lie outside its axis where it is not known to grow by equal steps, a loop may take
    more steps than it is allowed. Windows do not count: whether they fit is a matter of sizes,
    which are checked on entry.
    """
    name = node.op.name
    if name == "gather":
        return reads_of(node) is None
    if node.op.family == "index" or name == "while":
        return True
    if name == "scan" and node.attributes["counted"] and node.attributes["length"] is not None:
        return True
    return any(
        may_fail(inner)
        for body in node.attributes.values()
        if isinstance(body, Function)
        for inner in body.body
    )
