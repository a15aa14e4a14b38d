"""Which derivative a node has, and the error when it has none."""

from __future__ import annotations

from gradc.derivatives import registry
from gradc.derivatives.registry import Derivative
from gradc_ir.errors import NoGradientError
from gradc_ir.graph import Function, Node


def lookup(node: Node, function: Function) -> Derivative:
    """Return the derivative of a node that tangents pass through.

    Raises NoGradientError, with the user's line, when there is none.
    """
    import gradc.derivatives  # fills the table

    derivative = registry.TABLE[node.op.name]
    if derivative.kind != "none":
        return derivative
    lines = function.locations.get(node, ())
    name = node.op.name
    raise NoGradientError(
        f"{name} has no derivative rule",
        at=lines[0] if lines else None,
        found=f"{name} {derivative.why}",
        help="use gradc.stop_gradient on it for a zero gradient, or register one with "
        "gradc.register_gradient",
    )
