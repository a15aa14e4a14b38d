"""What a function with rules of its own captures, and its rules say nothing about."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gradc_ir.core.graph import Function, Node, Value, topological
from gradc_ir.errors import NoGradientError


def check_constants(function: Function, wrt: Sequence[int], active: Collection[Value]) -> None:
    """Raise NoGradientError for a call through which tangents pass that no rule knows of.

    What a call captures without a derivative may still depend on what is differentiated by, as long
    as it does so through the call's arguments: the rules give the whole derivative by these. So a
    fused backward pass can capture what the forward pass has computed.

    Parameters
    ----------
    function: what is differentiated.
    wrt: the positions of the parameters it is differentiated by.
    active: the values on a path of floats from those to the results that are asked for.
    """
    sources = {function.params[position] for position in wrt}
    for node in function.nodes:
        if node.op.name == "call" and node.attributes["constants"]:
            names = node.attributes["constants"]
            if any(result in active for result in node.results):
                body: Function = node.attributes["body"]
                has_rules = bool(node.attributes["vjp"] or node.attributes["jvp"])
                read = topological((), body.results)
                arguments = {x for x, name in zip(node.operands, names) if not name}
                for operand, param, name in zip(node.operands, body.params, names):
                    # what only a rule reads is nothing that the value depends on, if there is one
                    known = not name or (has_rules and param.node not in read)
                    if not known and _reaches(operand, sources, active, arguments):
                        raise _unknown(function, node, operand, name)


def _reaches(
    value: Value, sources: set[Value], active: Collection[Value], arguments: set[Value]
) -> bool:
    """Whether a value depends on the sources in another way than through the arguments."""
    pending, seen = [value], {value}
    while pending:
        each = pending.pop()
        if each not in active or each in arguments:
            continue
        if each in sources:
            return True
        further = [operand for operand in each.operands if operand not in seen]
        seen.update(further)
        pending += further
    return False


def _unknown(function: Function, node: Node, operand: Value, name: str) -> NoGradientError:
    lines = function.locations.get(node, ())
    called = node.attributes["name"]
    if node.attributes["vjp"] is None and node.attributes["jvp"] is None:
        return NoGradientError(
            f"{called} is called in its own rule, and in that again: a derivative of this order "
            "would go deeper than rules are traced",
            at=lines[0] if lines else None,
            help=f"write the rule of {called} without {called}",
        )
    return NoGradientError(
        f"{called} captures {name}, and its rule has no gradient by what it captures",
        at=lines[0] if lines else None,
        help=f"make it an argument of {called}, or give the rule a parameter `variables` and "
        "have it return (gradients, gradients of the variables)",
    )
