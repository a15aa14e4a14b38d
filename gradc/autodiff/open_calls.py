"""Opening calls: replacing functions that carry their own derivatives by their bodies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gradc_ir.build import Builder
from gradc_ir.core.graph import Function, Node, Value


@dataclass(frozen=True)
class OpenCalls:
    """After the outermost differentiation no rule is needed any more: calls become their bodies.

    ``stop_gradient``, which only differentiation reads, goes as well. Both also inside the bodies
    of control flow.
    """

    name: str = "open-calls"
    summary: str = "replace calls that carry derivatives by their bodies, and drop stop_gradient"

    def __call__(self, function: Function) -> Function:
        """Return the function without calls and without stop_gradient."""
        if not _holds(function, _opened_at_last):
            return function
        return _rebuild(function, _opened_at_last)


def open_ruleless(function: Function) -> Function:
    """Return the function with those calls opened that carry no derivative, and owe none."""
    if not any(_is_ruleless(node) for node in function.nodes):
        return function
    return _rebuild(function, _is_ruleless)


def _opened_at_last(node: Node) -> bool:
    return node.op.name in ("call", "stop_gradient")


def _is_ruleless(node: Node) -> bool:
    attributes = node.attributes
    if node.op.name != "call" or attributes["constants"]:
        return False
    return attributes["vjp"] is None and attributes["jvp"] is None


def _bodies(node: Node) -> list[str]:
    return [key for key, value in node.attributes.items() if isinstance(value, Function)]


def _holds(function: Function, opened: Callable[[Node], bool]) -> bool:
    return any(
        opened(node) or any(_holds(node.attributes[key], opened) for key in _bodies(node))
        for node in function.nodes
    )


def _rebuild(function: Function, opened: Callable[[Node], bool]) -> Function:
    builder = Builder()
    with builder:
        params = [builder.param(i, type_) for i, type_ in enumerate(function.param_types)]
        new = dict(zip(function.params, params))
        _inline(function, new, builder, opened, {})
        return builder.function(
            function.name,
            params,
            [new[result] for result in function.results],
            function.names,
            function.location,
        )


def _inline(
    function: Function,
    new: dict[Value, Value],
    builder: Builder,
    opened: Callable[[Node], bool],
    rebuilt: dict[int, Function],
) -> None:
    """Build the function's nodes here; recursion only follows the nesting of bodies.

    ``rebuilt`` has the bodies by identity, since equal ones may come from different lines.
    """
    outer = builder.here
    for node in function.body:
        locations = function.locations.get(node, ()) or outer
        if not opened(node):
            attributes = dict(node.attributes)
            for key in _bodies(node):
                body: Function = attributes[key]
                if id(body) not in rebuilt:
                    rebuilt[id(body)] = _rebuild(body, opened) if _holds(body, opened) else body
                attributes[key] = rebuilt[id(body)]
            builder.here = locations
            operands = tuple([new[operand] for operand in node.operands])
            made = builder.apply(node.op, operands, attributes)
            new.update(zip(node.results, made.results))
        elif node.op.name == "stop_gradient":
            new[node.results[0]] = new[node.operands[0]]
        else:
            # the body has lines of its own; the call's line serves where there is none
            builder.here = locations
            body = node.attributes["body"]
            inner = dict(zip(body.params, [new[operand] for operand in node.operands]))
            _inline(body, inner, builder, opened, rebuilt)
            new.update(zip(node.results, [inner[result] for result in body.results]))
    builder.here = outer
