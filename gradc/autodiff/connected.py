"""Which parameters of a function reach its results, however flat the way there is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.graphs.control_flow import Roles, settled

# What gradc.disconnected records: a call without rules, which goes before differentiation.
DISCONNECTED = "disconnected"


def connected(function: Function, sources: Sequence[int], results: Iterable[int]) -> list[bool]:
    """Return for each of some parameters whether floats lead from it to one of some results.

    A derivative along such a path may be zero, as behind ``stop_gradient``; behind
    ``gradc.disconnected`` there is no path.
    """
    wanted = _needed(function, results)
    return [function.params[position] in wanted for position in sources]


def reached(function: Function, sources: Iterable[int]) -> list[bool]:
    """Return for each result whether floats lead to it from one of some parameters."""
    given = set(sources)
    return [
        any(i in given and param in needed for i, param in enumerate(function.params))
        for result in range(len(function.results))
        for needed in (_needed(function, [result]),)
    ]


def _needed(function: Function, results: Iterable[int]) -> set[Value]:
    """Return the float values from which floats lead to the results."""
    ends = (function.results[position] for position in results)
    needed = {end for end in ends if end.type.dtype.is_float}
    for node in reversed(function.nodes):
        asked = [result in needed for result in node.results]
        if any(asked):
            for operand, is_needed in zip(node.operands, _operands(node, asked)):
                if is_needed and operand.type.dtype.is_float:
                    needed.add(operand)
    return needed


def _operands(node: Node, asked: Sequence[bool]) -> Sequence[bool]:
    """Return which operands of a node its results depend on."""
    if node.op.name == "call":
        given = node.attributes
        if given["vjp"] is None and given["jvp"] is None and given["name"] == DISCONNECTED:
            return [False]
        roles: Roles | None = Roles((given["body"],), 0, len(node.operands))
    else:
        roles = Roles.of(node)
    if roles is None:
        return [True] * len(node.operands)
    sides = [_params(body, asked[: len(body.results)], roles) for body in roles.bodies]
    return [False] * roles.first + [any(side) for side in zip(*sides)]


def _params(body: Function, asked: Sequence[bool], roles: Roles) -> list[bool]:
    """Return which parameters of a body are needed; a carry that is in one step is in all."""

    def step(asked: Sequence[bool]) -> tuple[list[bool], list[bool]]:
        needed = _needed(body, [i for i, is_asked in enumerate(asked) if is_asked])
        params = [param in needed for param in body.params]
        return params[roles.consts : roles.end], params

    asked, _, params = settled(asked, range(roles.carries), step)
    return [*params[: roles.consts], *asked[: roles.carries], *params[roles.end :]]
