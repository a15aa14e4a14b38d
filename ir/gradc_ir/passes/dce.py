"""Removes what no result needs, in the bodies of loops and branches too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from gradc_ir.build import Builder
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.graphs.control_flow import Roles
from gradc_ir.pipeline import PlainPass


class RemoveDeadNodes(PlainPass):
    """Keeps the parameters, and of the rest what a result needs.

    A loop loses the carries, rows and consts that matter to none of its results in use, a branch
    the operands and results that do not. A ``call`` keeps its operands, which its derivatives
    expect. It takes time in proportion to the graph with the bodies written out at each place.
    """

    name = "dce"
    summary = "remove what no result needs"

    def __call__(self, function: Function) -> Function:
        """Return the function without dead nodes; every result keeps its bits."""
        if not any(node.op.name in _BODIES for node in function.nodes):
            # the nodes of a function are those that its results need
            return function
        uses = _Uses(function)
        _follow((uses, result) for result in function.results)
        return uses.rebuilt(range(len(function.params)), range(len(function.results)))


# A `call` keeps what it has.
_BODIES = frozenset({"checkpoint", "cond", "scan", "while"})


class _Uses:
    """The values in use of a function; of a body at one node, since equal bodies are shared."""

    def __init__(self, function: Function, site: tuple[_Uses, Node, str] | None = None) -> None:
        self.function = function
        self.site = site
        self.live: set[Value] = set()
        self._bodies: dict[Node, dict[str, _Uses]] = {}

    def bodies(self, node: Node) -> dict[str, _Uses]:
        """Return the uses of the bodies of a node."""
        found = self._bodies.get(node)
        if found is None:
            found = self._bodies[node] = {
                name: _Uses(item, (self, node, name))
                for name, item in node.attributes.items()
                if isinstance(item, Function)
            }
        return found

    def needs(self, value: Value) -> Iterator[Use]:
        """Yield what must be in use because a value is."""
        node = value.node
        if node.op.name in _BODIES:
            yield from _for_result(self, node, value.index)
        elif node.op.name != "param":
            for operand in node.operands:
                yield self, operand
        elif self.site is not None:
            outer, user, name = self.site
            yield from _for_param(outer, user, name, node.attributes["index"])

    def params(self) -> list[int]:
        """Return the positions of the parameters in use."""
        return [i for i, param in enumerate(self.function.params) if param in self.live]

    def rebuilt(self, params: Sequence[int], results: Sequence[int]) -> Function:
        """Return the function with these parameters and results, and what is in use between."""
        function = self.function
        with Builder() as builder:
            given = [builder.param(i, function.params[old].type) for i, old in enumerate(params)]
            mapping = {function.params[old]: param for old, param in zip(params, given)}
            for node in function.body:
                wanted = [i for i, result in enumerate(node.results) if result in self.live]
                lines = function.locations.get(node, ())
                if not wanted:
                    continue
                if node.op.name not in _BODIES:
                    builder.copy(node, mapping, lines)
                    continue
                kept = _kept(node, self.bodies(node), wanted)
                with builder.at(lines):
                    operands = tuple(mapping[node.operands[i]] for i in kept.operands)
                    made = builder.apply(node.op, operands, kept.attributes)
                builder.note(made, lines)
                for position, value in zip(kept.results, made.results, strict=True):
                    mapping[node.results[position]] = value
            return builder.function(
                function.name,
                given,
                [mapping[function.results[i]] for i in results],
                [function.names[old] for old in params],
                function.location,
            )


Use: TypeAlias = tuple[_Uses, Value]


class _Kept(NamedTuple):
    """What is left of a control op: positions of operands and results, and its attributes."""

    operands: list[int]
    results: list[int]
    attributes: dict[str, Any]


def _follow(uses: Iterable[Use]) -> None:
    """Mark what is in use, and all that must be for it; each value at each place once."""
    waiting = list(uses)
    while waiting:
        where, value = waiting.pop()
        if value not in where.live:
            where.live.add(value)
            waiting += where.needs(value)


# -- what a node needs for a result, and for a parameter of a body; what is left of it -------------


def _roles(node: Node) -> Roles:
    roles = Roles.of(node)
    assert roles is not None, "asked of control flow only"
    return roles


def _for_result(outer: _Uses, node: Node, index: int) -> Iterator[Use]:
    roles, bodies = _roles(node), outer.bodies(node)
    if node.op.name == "while":
        condition = bodies["condition"]
        yield condition, condition.function.results[0]
        if index == len(node.results) - 1:
            return  # the number of steps is no result of the body
    else:
        for operand in node.operands[: roles.first]:
            yield outer, operand
    for name, body in bodies.items():
        if name != "condition":
            yield body, body.function.results[index]
            if index < roles.carries:
                # even if only its last value matters
                yield body, body.function.params[roles.consts + index]


def _for_param(outer: _Uses, node: Node, name: str, index: int) -> Iterator[Use]:
    roles = _roles(node)
    if name == "condition":
        if index < roles.first:
            yield outer, node.operands[index]
            return
        # a carry, by its place in the body
        index += roles.consts - roles.first
    yield outer, node.operands[roles.first + index]
    if roles.consts <= index < roles.end:
        # what is read in the next turn must be computed in this one
        yield from _for_result(outer, node, index - roles.consts)


def _kept(node: Node, bodies: Mapping[str, _Uses], wanted: list[int]) -> _Kept:
    roles, attributes = _roles(node), dict(node.attributes)
    inner = {name: body for name, body in bodies.items() if name != "condition"}
    params = sorted({i for body in inner.values() for i in body.params()})
    consts = sum(i < roles.consts for i in params)
    carries = [i - roles.consts for i in params if roles.consts <= i < roles.end]
    results = [*carries, *(i for i in wanted if i >= roles.carries)]
    first, made = list(range(roles.first)), results
    if node.op.name == "scan":
        attributes |= {"consts": consts, "carries": len(carries)}
    elif node.op.name == "while":
        condition, count = bodies["condition"], len(node.results) - 1
        made = [i for i in results if i < count]
        results = [*made, count]
        first = [i for i in condition.params() if i < roles.first]
        asked = [*first, *(roles.first + i for i in carries)]
        attributes |= {"condition": condition.rebuilt(asked, [0])}
        attributes |= {"condition_consts": len(first), "body_consts": consts}
    attributes |= {name: body.rebuilt(params, made) for name, body in inner.items()}
    return _Kept([*first, *(roles.first + i for i in params)], results, attributes)
