"""Opening calls: replacing functions that carry their own derivatives by their bodies."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gradc_ir import build
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.builder import rebuilt
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.walk import changed_bodies

# What is its first operand, but for differentiation.
_FOR_DERIVATIVES = ("stop_gradient", "sloped")


@dataclass(frozen=True)
class OpenCalls:
    """After the outermost differentiation no rule is needed any more: calls become their bodies.

    ``stop_gradient`` and ``sloped``, which say something to differentiation alone, go as well. All
    of it also inside the bodies of control flow.
    """

    name: str = "open-calls"
    summary: str = "replace calls that carry derivatives by their bodies, and drop stop_gradient"

    def __call__(self, function: Function) -> Function:
        """Return the function without calls, and without what is for differentiation alone."""
        bodies = changed_bodies(function, self)

        def is_opened(node: Node) -> bool:
            return node in bodies or node.op.name in ("call", *_FOR_DERIVATIVES)

        def make(node: Node, operands: Sequence[Value]) -> Sequence[Value]:
            if node in bodies:
                return build.active().apply(node.op, tuple(operands), bodies[node]).results
            return _inlined(node, operands, self) if node.op.name == "call" else operands[:1]

        if not any(map(is_opened, function.nodes)):
            return function
        return rebuilt(function, is_opened, make)


def open_ruleless(function: Function) -> Function:
    """Return the function with those calls opened that carry no derivative, and owe none."""
    if not any(map(_is_ruleless, function.nodes)):
        return function
    return rebuilt(
        function, _is_ruleless, lambda node, operands: _inlined(node, operands, open_ruleless)
    )


def _is_ruleless(node: Node) -> bool:
    attributes = node.attributes
    if node.op.name != "call" or attributes["constants"]:
        return False
    return attributes["vjp"] is None and attributes["jvp"] is None


def _inlined(
    node: Node, operands: Sequence[Value], opened: Callable[[Function], Function]
) -> Sequence[Value]:
    """Build the body of a call; it has lines of its own, the call's serves where there is none."""
    return build.active().inline(opened(node.attributes["body"]), operands)
