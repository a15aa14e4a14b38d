"""Loops and branches that others do too: one that computes all of another and more is both."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.builder import rebuilt
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.graphs.control_flow import Roles

# What differs between a loop and one of more rows; the limit of a while is what they have to fit.
_APART = {
    "scan": {"body", "consts"},
    "while": {"body", "body_consts", "length"},
    "cond": {"then", "otherwise"},
    "checkpoint": {"body"},
}


def join_contained(function: Function) -> Function:
    """Return a function without the loops and branches whose results others have among theirs.

    A value and its pullback go through the same loop: the second time it keeps what each step needs
    on the way back.
    """
    alike: dict[Hashable, list[Node]] = {}
    for node in function.nodes:
        if node.op.name in _APART:
            alike.setdefault(_key(node), []).append(node)
    found: dict[Node, tuple[Node, Sequence[int]]] = {}
    for nodes in alike.values():
        for node in nodes if len(nodes) > 1 else ():
            for other in nodes:
                places = None if other is node or other in found else _places(node, other)
                if places is not None:
                    found[node] = other, places
                    break
    if not found:
        return function

    def results_of_other(node: Node, operands: Sequence[Value]) -> Sequence[Value]:
        other, places = found[node]
        now = dict(zip(node.operands, operands, strict=True))
        given = tuple([now[operand] for operand in other.operands])
        made = build.active().apply(other.op, given, other.attributes).results
        return [made[place] for place in places]

    return rebuilt(function, lambda node: node in found, results_of_other)


def _key(node: Node) -> Hashable:
    """Return what two nodes have in common of which one may contain the other."""
    roles = Roles.of(node)
    assert roles is not None
    start = roles.first + roles.consts
    attributes = {k: v for k, v in node.attributes.items() if k not in _APART[node.op.name]}
    return (
        node.op.name,
        node.operands[: roles.first],
        node.operands[start : start + roles.carries],
        frozenset(node.operands),
        tuple(sorted(attributes.items())),
    )


def _places(node: Node, other: Node) -> list[int] | None:
    """Return where a node's results are among another one's, None if one of them is not."""
    own, others = Roles.of(node), Roles.of(other)
    assert own is not None
    assert others is not None
    has_rows = len(own.bodies[0].results) > own.carries
    if has_rows and node.attributes.get("length") != other.attributes.get("length"):
        return None
    with Builder() as builder:
        params: dict[Any, Value] = {}

        def ends(node: Node, roles: Roles, body: Function) -> Sequence[Value]:
            """Return the results of a body on what the node's operands are for both."""
            given = node.operands[roles.first :]
            carried = range(roles.consts, roles.end)
            return builder.inline(
                body,
                [
                    # what a loop hands on is not its operand, and a row is none of its array
                    params.setdefault(label, builder.param(len(params), param.type))
                    for i, param in enumerate(body.params)
                    for label in [(i - roles.consts if i in carried else given[i], param.type)]
                ],
            )

        made = list(zip(*(ends(node, own, body) for body in own.bodies), strict=True))
        known = list(zip(*(ends(other, others, body) for body in others.bodies), strict=True))
    if made[: own.carries] != known[: others.carries]:
        return None
    rows = {row: others.carries + i for i, row in enumerate(known[others.carries :])}
    places = [*range(own.carries), *(rows.get(row, -1) for row in made[own.carries :])]
    if node.op.name == "while":  # how often the body ran
        places.append(len(other.results) - 1)
    return None if -1 in places else places
