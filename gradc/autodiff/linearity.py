"""Whether results are linear in some parameters together; loops and branches are looked into."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from gradc.autodiff import zeros
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Function, Node, Value, topological
from gradc_ir.graphs.control_flow import Roles, settled


def nonlinear_node(
    function: Function, sources: Sequence[Value], results: Sequence[Value]
) -> Node | None:
    """Return the node at which a function stops being linear in the sources, None if it is linear.

    ``results`` have to be linear: those of floats that do not depend on the sources have to be 0.
    """
    found, depends = _follow(function, sources)
    if found is not None:
        return found
    for result in results:
        if result not in depends and result.type.dtype.is_float and not zeros.is_number(result, 0):
            return result.node
    return None


def _follow(function: Function, sources: Sequence[Value]) -> tuple[Node | None, set[Value]]:
    """Return the first node that is not linear, and the values that depend on the sources."""
    found: Node | None = None
    depends = set(sources)
    for node in function.nodes:
        varying = [operand in depends for operand in node.operands]
        if any(varying):
            roles = Roles.of(node)
            if roles is not None:
                linear, reached = _control(node, roles, varying)
            else:
                linear, reached = _is_linear(node, varying), [True] * len(node.results)
            depends.update(x for x, reaches in zip(node.results, reached) if reaches)
            if not linear and found is None:
                found = node
    return found, depends


def _is_linear(node: Node, varying: Sequence[bool]) -> bool:
    """Whether a node is linear in its varying operands, all together."""
    positions = [i for i, varies in enumerate(varying) if varies]
    name = node.op.name
    if node.op.multilinear:
        return len(positions) == 1
    if name == "div":
        return positions == [0]
    if name == "cast":
        return node.results[0].type.dtype.is_float
    if node.op.joins:
        linear: Sequence[int] = range(len(node.operands))
    else:
        linear = node.op.linear
    return set(positions) <= set(linear) and all(
        varying[i] or zeros.is_number(node.operands[i], 0) for i in linear
    )


def _control(node: Node, roles: Roles, varying: Sequence[bool]) -> tuple[bool, list[bool]]:
    """Whether control flow is linear, and which results depend on the varying operands.

    What depends in one branch, or in one step of a loop, has to depend, or be 0, in all.
    """
    outside, given = varying[: roles.first], varying[roles.first :]
    carries = slice(roles.consts, roles.end)
    sides = [_followed(body, given, roles) for body in roles.bodies]
    reached = [any(flags) for flags in zip(*(side.reached for side in sides))]
    values = itertools.chain(
        zip(node.operands[roles.first :][carries], given[carries], reached),
        *(zip(body.results, side.depend, reached) for body, side in zip(roles.bodies, sides)),
    )
    linear = not any(side.found for side in sides) and all(
        depends or not reaches or zeros.is_number(x, 0) for x, depends, reaches in values
    )
    if node.op.name == "while":
        condition: Function = node.attributes["condition"]
        read = topological((), condition.results)
        decides = zip(condition.params, (*outside, *reached[: roles.carries]))
        counted = any(varies and param.node in read for param, varies in decides)
        return linear and not counted, [*reached, counted]
    decided = node.op.name == "cond" and outside[0]
    return linear and not any(outside), [decided or reaches for reaches in reached]


class _Side(NamedTuple):
    """A body: where it stops being linear, and which results depend, after a step and in some."""

    found: Node | None
    depend: list[bool]
    reached: list[bool]


def _followed(body: Function, given: Sequence[bool], roles: Roles) -> _Side:
    def step(flags: Sequence[bool]) -> tuple[list[bool], Node | None]:
        found, depends = _follow(body, [x for x, varies in zip(body.params, flags) if varies])
        return [x in depends for x in body.results], found

    flags, depend, found = settled(given, range(roles.consts, roles.end), step)
    return _Side(found, depend, [*flags[roles.consts : roles.end], *depend[roles.carries :]])
